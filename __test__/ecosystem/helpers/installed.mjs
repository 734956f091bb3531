// This package and the package of its addon, as they are in a node_modules of users.
import { cpSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { root, run } from '../../../scripts/run.mjs';
import { emptyProject, installTarballs } from '../../packages/installs.mjs';

const { systemName } = createRequire(import.meta.url)('../../../lib/reactor/addon.js');
const ADDON = `reactor-ws-${systemName()}`;

/** Packs the tarballs, and installs them with npm into an empty folder, from which this process and its children take them. */
export async function installPacked() {
  const { code } = await run(process.execPath, ['scripts/release/pack.mjs', '--host']);
  if (code !== 0) process.exit(code);
  const folder = emptyProject({ after: (remove) => process.once('exit', remove) });
  await installTarballs(folder);
  process.env.REACTOR_WS_INSTALLED = join(folder, 'node_modules');
}

/** Puts both into the node_modules of a folder: the packages of the tarballs, or the published files of the repository. */
export function installOurs(folder) {
  const { REACTOR_WS_INSTALLED } = process.env;
  const [ours, addon] = ['reactor-ws', ADDON].map((one) => join(folder, 'node_modules', one));
  for (const place of [ours, addon]) {
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place, { recursive: true });
  }
  if (REACTOR_WS_INSTALLED) {
    cpSync(join(REACTOR_WS_INSTALLED, 'reactor-ws'), ours, { recursive: true });
    cpSync(join(REACTOR_WS_INSTALLED, ADDON), addon, { recursive: true });
    return;
  }
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const parts = new Set(['package.json', ...files.map((file) => file.split('/')[0])]);
  const isNative = (path) => path.startsWith(join(root, 'lib/native'));
  for (const part of parts) cpSync(join(root, part), join(ours, part), { recursive: true, filter: (path) => !isNative(path) });
  const file = `reactor-ws.${systemName()}.node`;
  cpSync(join(root, 'lib/native', file), join(addon, file));
  cpSync(join(root, 'npm', systemName(), 'package.json'), join(addon, 'package.json'));
}

/** Replaces the links to the repository in a node_modules, until this process ends. */
export function replaceLinks(folder) {
  const places = ['reactor-ws', 'ws'].map((name) => join(folder, 'node_modules', name));
  const links = places.filter((place) => lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink());
  if (links.length === 0) return;
  const targets = links.map((link) => readlinkSync(link));
  for (const link of links) rmSync(link);
  installOurs(folder);
  for (const link of links) if (link.endsWith('/ws')) symlinkSync('reactor-ws', link);
  process.once('exit', () => {
    for (const name of ['reactor-ws', ADDON, 'ws']) rmSync(join(folder, 'node_modules', name), { recursive: true, force: true });
    links.forEach((link, index) => symlinkSync(targets[index], link));
  });
}
