// A Python with a package of PyPI, in an environment of its own in the cache directory of the user.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'reactor-ws');

/** The path of this Python, made on first use; or the reason why there is none. `module`: what a program imports. */
export async function pythonWith(name, version, module) {
  const folder = join(CACHE, `${name}-${version}`);
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
  try {
    if (!existsSync(python)) await run(process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', folder]);
    const install = ['-m', 'pip', 'install', '--quiet', '--timeout', '10', '--retries', '1', `${name}==${version}`];
    if (!(await imports(python, module))) await run(python, install);
    return { python };
  } catch (error) {
    return { why: `no Python with ${name}: ${error.message.split('\n')[0]}` };
  }
}

async function imports(python, module) {
  try {
    await run(python, ['-c', `import ${module}`]);
    return true;
  } catch {
    return false;
  }
}
