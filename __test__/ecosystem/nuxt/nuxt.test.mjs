// Nuxt 4 is on Nitro 2, which imports crossws/adapters/node of crossws 0.3: a plugin of the build puts our adapter in
// its place.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { build, exercise, installOurs, start } from '../helpers/programs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const NUXT = join(HERE, 'node_modules/nuxt/bin/nuxt.mjs');

installOurs(HERE);

test('Nuxt 4: the server that it builds, where nothing else is installed', async (t) => {
  await build(HERE, NUXT, 'build');
  const elsewhere = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  cpSync(join(HERE, '.output'), elsewhere, { recursive: true });
  await exercise(t, await start(t, elsewhere, join(elsewhere, 'server/index.mjs')));
});

test('Nuxt 4: its development server', async (t) => {
  await exercise(t, await start(t, HERE, NUXT, 'dev', '--port', '0', '--host', '127.0.0.1'));
});
