// The server: listening, connections, hooks, closing. Run with WS_IMPL=ws, the same holds for ws.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { connect, frame, openRaw, urlOf, visitor } from './helpers/clients.mjs';
import { WebSocketServer, isReference, ownOnly, startServer, test, upgradeRequest } from './helpers/index.mjs';

test('clients: in the order in which they opened, whoever looks first and when', async (t) => {
  const server = await startServer(t);
  const [first, second, third] = [await connect(t, server), await connect(t, server), await connect(t, server)];
  const closed = once(second.ws, 'close');
  second.client.close();
  await closed;
  // Where the slots of connections are used again, the fourth is in the place of the second.
  const fourth = await connect(t, server);
  t.deepEqual([...server.clients], [first.ws, third.ws, fourth.ws]);
  const fifth = await connect(t, server);
  t.is([...server.clients].at(-1), fifth.ws);
  t.is(server.clients, server.clients);
  server.clients = new Set();
  const { ws } = await connect(t, server);
  t.deepEqual([...server.clients], [ws]);
});

test('clients: one whose socket is gone stays until its messages have been delivered', async (t) => {
  const { server, ws, raw } = await openRaw(t, { allowSynchronousEvents: false });
  const count = 200;
  const seen = new Promise((resolve) => {
    ws.on('message', (data) => String(data) === String(count) && resolve([...server.clients]));
  });
  const closed = once(ws, 'close');
  await raw.send(Buffer.concat(Array.from({ length: count }, (_, index) => frame(1, String(index + 1)))));
  raw.end();
  t.deepEqual(await seen, [ws]);
  await closed;
  t.is(server.clients.size, 0);
});

test('close: in the turn of its making', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('listening', () => t.fail());
  const closed = once(server, 'close');
  server.close();
  await closed;
  t.pass();
});

/** Runs a script with the implementation under test; resolves with its output and exit status. */
async function run(source) {
  const from = isReference ? 'ws' : fileURLToPath(new URL('../lib/index.js', import.meta.url));
  const child = spawn(process.execPath, ['-e', `const { WebSocketServer } = require(${JSON.stringify(from)});${source}`]);
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  return { code, output: Buffer.concat(output).toString() };
}

// H20.
ownOnly('a line break in a header line is refused, and an uncaught error', async (t) => {
  const { code, output } = await run(`
    process.on('uncaughtException', (error) => console.log(error.name));
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      const socket = require('node:net').connect(server.address().port, '127.0.0.1');
      socket.write(${JSON.stringify(upgradeRequest())});
      socket.on('data', (data) => console.log(String(data).split('\\r\\n')[0], String(data).includes('Injected')));
      socket.on('close', () => server.close());
    });
    server.on('headers', (lines) => lines.push('X-A: b\\r\\nX-Injected: c'));
  `);
  t.deepEqual({ code, output }, { code: 0, output: 'TypeError\nHTTP/1.1 500 Internal Server Error false\n' });
});

ownOnly('a server that has topics and drains can be printed as JSON', async (t) => {
  const server = await startServer(t);
  visitor(t, urlOf(server));
  const [ws] = await once(server, 'connection');
  ws.subscribe('topic');
  server.publish('topic', 'message');
  const over = server.drain({ duration: 20 });
  for (const one of [server, server._server, ws, ws._socket]) t.notThrows(() => JSON.stringify(one));
  await over;
  t.notThrows(() => JSON.stringify(server));
});
