// Nitro 3 imports crossws/adapters/node in its presets: a plugin of the build puts our adapter in its place.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { build, exercise, installOurs, start } from '../helpers/programs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const NITRO = join(HERE, 'node_modules/nitro/dist/cli/index.mjs');

installOurs(HERE);

test('Nitro 3: the server that it builds, where nothing else is installed', async (t) => {
  await build(HERE, NITRO, 'build');
  const elsewhere = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  cpSync(join(HERE, '.output'), elsewhere, { recursive: true });
  await exercise(t, await start(t, elsewhere, join(elsewhere, 'server/index.mjs')));
});

test('Nitro 3: its development server', async (t) => {
  await exercise(t, await start(t, HERE, NITRO, 'dev', '--port', '0', '--host', '127.0.0.1'));
});
