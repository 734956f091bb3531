// A Python with the package websockets, in an environment in the user's cache directory.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const VERSION = '15.0.1';
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'reactor-ws', `websockets-${VERSION}`);
const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');

/** The path of this Python, made on first use; or the reason why there is none. */
export async function pythonWithWebsockets() {
  try {
    if (!existsSync(python)) await run(process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', folder]);
    const install = ['-m', 'pip', 'install', '--quiet', '--timeout', '10', '--retries', '1', `websockets==${VERSION}`];
    if (!(await imports())) await run(python, install);
    return { python };
  } catch (error) {
    return { why: `no Python with websockets: ${error.message.split('\n')[0]}` };
  }
}

async function imports() {
  try {
    await run(python, ['-c', 'import websockets.sync.client']);
    return true;
  } catch {
    return false;
  }
}
