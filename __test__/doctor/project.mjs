// Projects for the doctor to examine, with packages that are as package managers install them.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { mainManifest } from '../../scripts/release/pack.mjs';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
const MAIN = join(LIB, 'doctor/main.js');

/** A folder that is removed at the end of the test. `files`: text, an object for JSON, or `{ link }`. */
export async function project(t, files) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'doctor-')));
  t.teardown(() => rm(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    const isText = typeof content === 'string';
    if (!isText && 'link' in content) await symlink(content.link, join(folder, path), 'junction');
    else await writeFile(join(folder, path), isText ? content : JSON.stringify(content));
  }
  return folder;
}

/** The packed package without any addon, in the node_modules of a project; the path of its doctor. */
export async function withoutAddon(folder) {
  const copy = join(folder, 'node_modules/reactor-ws');
  await cp(LIB, join(copy, 'lib'), { recursive: true, filter: (path) => !path.endsWith('.node') });
  await writeFile(join(copy, 'package.json'), JSON.stringify(mainManifest(true)));
  return join(copy, 'lib/doctor/main.js');
}

/**
 * Runs `reactor-ws doctor --json` in a folder; `under`: a command that runs it.
 *
 * @returns {Promise<{ code: number, report: import('../../lib/doctor/main').Report }>}
 */
export async function doctor(folder, { main = MAIN, env = {}, under = [] } = {}) {
  const { code, stdout } = await runDoctor(folder, ['doctor', '--json'], { main, env, under });
  return { code, report: JSON.parse(stdout) };
}

/** @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
export function runDoctor(folder, args, { main = MAIN, env = {}, under = [] } = {}) {
  const [program, ...rest] = [...under, process.execPath, main, ...args];
  return new Promise((resolve) => {
    execFile(program, rest, { cwd: folder, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}
