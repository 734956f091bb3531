// The systems for which there are packages, from `napi.targets` of package.json.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../run.mjs';

const ARCHS = { aarch64: 'arm64', x86_64: 'x64' };
const PLATFORMS = { darwin: 'darwin', linux: 'linux', windows: 'win32' };

/** package.json of the main package. */
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** `name`: name of the folder in npm/, `linux-x64-musl`; `file`: name of the addon in it. */
export const systems = manifest.napi.targets.map((target) => {
  const [arch, , platform, libc] = target.split('-');
  const name = [PLATFORMS[platform], ARCHS[arch], libc].filter(Boolean).join('-');
  const folder = join(root, 'npm', name);
  return { arch, file: join(folder, `reactor-ws.${name}.node`), folder, name, platform, target };
});
