// The programs of examples/libraries, as their readers run them: in a folder that has the packages.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { io } from 'socket.io-client';

import { ask, open } from './helpers/clients.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../examples/libraries/', import.meta.url));

/** Starts a program, and returns its port. */
async function start(t, name) {
  // The folder is inside of this package, so that its packages are found.
  const folder = mkdtempSync(join(HERE, '.example-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(join(EXAMPLES, name), join(folder, name));
  const child = spawn(process.execPath, [join(folder, name)], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  return Number(/^listening on .*port:? (\d+)/.exec(line)[1]);
}

for (const name of ['express.mjs', 'fastify.mjs']) {
  test(`examples: ${name}`, async (t) => {
    const port = await start(t, name);
    const page = await fetch(`http://127.0.0.1:${port}/hello`);
    assert.deepEqual(await page.json(), { hello: 'world' });
    const client = await open(t, `ws://127.0.0.1:${port}/live`);
    assert.equal(await ask(client, 'hello'), 'hello');
  });
}

test('examples: socket-io.mjs', async (t) => {
  const port = await start(t, 'socket-io.mjs');
  const clients = [1, 2].map(() => io(`http://127.0.0.1:${port}`, { forceNew: true, transports: ['websocket'] }));
  t.after(() => clients.forEach((client) => client.close()));
  for (const client of clients) await client.emitWithAck('join', 'room');
  const said = clients.map((client) => once(client, 'said'));
  clients[0].emit('say', 'room', 'hello');
  for (const [text] of await Promise.all(said)) assert.equal(text, 'hello');
});
