// A custom server of Next.js gives our server the upgrades that it chooses, and next-ws our server. next-ws changes the
// files of Next.js, which must not matter to the others.
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { installOurs } from '../helpers/installed.mjs';
import { build, exercise, start } from '../helpers/programs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));

installOurs(HERE);
await build(HERE, join(HERE, 'node_modules/next-ws/dist/cli.cjs'), 'patch', '--yes');

test('Next.js: a custom server in production', async (t) => {
  await build(HERE, join(HERE, 'node_modules/next/dist/bin/next'), 'build');
  await exercise(t, await start(t, HERE, join(HERE, 'server.mjs')));
});

test('Next.js: a custom server behind a port of the reactor, with TLS', async (t) => {
  await exercise(t, await start(t, HERE, join(HERE, 'server.mjs'), '--tls'));
});

test('Next.js: a custom server in development', async (t) => {
  await exercise(t, await start(t, HERE, join(HERE, 'server.mjs'), '--dev'));
});

test('next-ws: with setWebSocketServer() in a custom server', async (t) => {
  const app = join(HERE, 'with-next-ws');
  await build(app, join(HERE, 'node_modules/next/dist/bin/next'), 'build');
  await exercise(t, await start(t, app, join(app, 'server.mjs')));
});
