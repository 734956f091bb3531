// How connections over TLS pause and end: the same program of a port with tls and of https with ws.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import test from 'ava';

import { WebSocket, frame, wsClient } from '../helpers/clients.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';
import { SERVER, SERVERS, authority, openSecure, startSecure } from '../helpers/secure.mjs';

/** Windows buffers 32 MiB for a reader that is paused. */
const bufferless = process.platform === 'win32' ? test.skip : test;

const CLIENTS = { ws: wsClient, ours: WebSocket };

/** An upgraded connection of a bare client, with the socket below it. */
async function openBare(t, server, maxVersion) {
  const raw = net.connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => raw.destroy());
  await once(raw, 'connect');
  const client = tls.connect({ socket: raw, ca: authority, servername: 'localhost', allowHalfOpen: true, maxVersion });
  client.on('error', () => {});
  await once(client, 'secureConnect');
  const connected = once(server.wss, 'connection');
  client.write(upgradeRequest());
  let text = '';
  client.on('data', (chunk) => (text += chunk.toString('latin1')));
  const [ws, request] = await connected;
  while (!text.includes('\r\n\r\n')) await once(client, 'data');
  return { client, raw, request, ws, text: () => text.slice(text.indexOf('\r\n\r\n') + 4) };
}

for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
  for (const [name, start] of Object.entries(SERVERS)) {
    for (const [which, Client] of Object.entries(CLIENTS)) {
      test(`${name}, ${maxVersion}, client of ${which}: close() of either side, and terminate()`, async (t) => {
        const server = await start(t);
        for (const [act, expected] of [
          [({ client }) => client.close(4000, 'bye'), [[4000, 'bye'], [4000, 'bye']]],
          [({ ws }) => ws.close(4001, 'go'), [[4001, 'go'], [4001, 'go']]],
          [({ client }) => client.terminate(), [[1006, ''], [1006, '']]],
          [({ ws }) => ws.terminate(), [[1006, ''], [1006, '']]],
        ]) {
          const pair = await openSecure(t, server, Client, { maxVersion });
          const ends = Promise.all([pair.ws, pair.client].map((end) => once(end, 'close')));
          act(pair);
          t.deepEqual((await ends).map(([code, reason]) => [code, String(reason)]), expected);
        }
      });
    }

    test(`${name}, ${maxVersion}: a message and a close frame that come with the end`, async (t) => {
      const server = await start(t);
      const { client, ws } = await openBare(t, server, maxVersion);
      const seen = [];
      ws.on('message', (data) => seen.push(String(data)));
      const closed = once(ws, 'close');
      client.end(Buffer.concat([frame(1, 'last'), frame(8, Buffer.from([3, 232]))]));
      t.is((await closed)[0], 1000);
      t.deepEqual(seen, ['last']);
    });

    test(`${name}, ${maxVersion}: close_notify without a close frame is 1006, and messages before it count`, async (t) => {
      const server = await start(t);
      const { client, ws } = await openBare(t, server, maxVersion);
      const seen = [];
      ws.on('message', (data) => seen.push(String(data)));
      const closed = once(ws, 'close');
      client.end(frame(1, 'last'));
      t.is((await closed)[0], 1006);
      t.deepEqual(seen, ['last']);
    });

    test(`${name}, ${maxVersion}: truncation, an end without close_notify, is 1006`, async (t) => {
      const server = await start(t);
      for (const how of ['end', 'destroy', 'resetAndDestroy']) {
        const { raw, ws } = await openBare(t, server, maxVersion);
        const closed = once(ws, 'close');
        raw[how]();
        t.is((await closed)[0], 1006, how);
      }
    });

    test(`${name}, ${maxVersion}: what came before a truncation is answered, also late`, async (t) => {
      const server = await start(t);
      const { client, raw, ws, text } = await openBare(t, server, maxVersion);
      ws.on('message', () => setImmediate(() => ws.send('late')));
      const closed = once(ws, 'close');
      client.write(frame(1, 'last'), () => raw.end());
      t.is((await closed)[0], 1006);
      while (!text().startsWith('\x81\x04late')) await once(client, 'data');
      t.pass();
    });

    test(`${name}, ${maxVersion}: the server sends close_notify at the end`, async (t) => {
      const server = await start(t);
      const { client, ws, text } = await openBare(t, server, maxVersion);
      const ended = once(client, 'end');
      ws.close(1001);
      while (text().length < 4) await once(client, 'data');
      client.write(frame(8, Buffer.from([3, 233])));
      await ended;
      t.is(client.errored, null);
    });

    bufferless(`${name}, ${maxVersion}: pause() holds messages back, and the sender`, async (t) => {
      const server = await start(t);
      const { client, ws } = await openSecure(t, server, wsClient, { maxVersion });
      ws.pause();
      let count = 0;
      ws.on('message', () => count++);
      const chunk = Buffer.alloc(64 * 1024, 'x');
      // More than all buffers in between hold.
      const sent = 512;
      for (let i = 0; i < sent; i++) client.send(chunk);
      for (let i = 0; i < 50; i++) await new Promise(setImmediate);
      t.is(count, 0);
      t.true(client.bufferedAmount > 0);
      client.send('end');
      ws.resume();
      while (count < sent + 1) await once(ws, 'message');
      client.close();
      t.is((await once(ws, 'close'))[0], 1005);
    });

    bufferless(`${name}, ${maxVersion}: a client that does not read`, async (t) => {
      const server = await start(t);
      const { client, ws } = await openSecure(t, server, wsClient, { maxVersion });
      client.pause();
      let called = 0;
      const chunk = Buffer.alloc(256 * 1024, 'y');
      for (let i = 0; i < 64; i++) ws.send(chunk, () => called++);
      while (called === 0) await new Promise(setImmediate);
      t.true(called < 64);
      t.true(ws.bufferedAmount > 0);
      let bytes = 0;
      client.on('message', (data) => (bytes += data.length));
      client.resume();
      while (called < 64 || bytes < 64 * chunk.length) await new Promise(setImmediate);
      t.is(ws.bufferedAmount, 0);
      t.is(bytes, 64 * chunk.length);
    });
  }
}

test('terminate() with much to send', async (t) => {
  const server = await startSecure(t);
  const { client, ws } = await openSecure(t, server, wsClient);
  client.pause();
  const errors = [];
  for (let i = 0; i < 64; i++) ws.send(Buffer.alloc(256 * 1024), (error) => errors.push(error));
  ws.terminate();
  await once(ws, 'close');
  while (errors.length < 64) await new Promise(setImmediate);
  t.true(errors.some(Boolean));
});

test('raw writes and end() of the socket', async (t) => {
  const server = await startSecure(t);
  const { client, text, ws } = await openBare(t, server);
  const written = new Promise((resolve) => ws._socket.write(Buffer.from([0x81, 2, 0x68, 0x69]), resolve));
  await written;
  while (text().length < 4) await once(client, 'data');
  t.is(text(), '\x81\x02hi');
  const ended = once(client, 'end');
  ws._socket.end();
  await ended;
});

test('counters of bytes are those of the messages, not of TLS', async (t) => {
  const server = await startSecure(t);
  const { client, ws } = await openSecure(t, server, wsClient);
  const { bytesRead, bytesWritten } = ws._socket;
  client.send('12345');
  await once(ws, 'message');
  t.is(ws._socket.bytesRead - bytesRead, 11);
  await new Promise((resolve) => ws.send('12345', resolve));
  t.is(ws._socket.bytesWritten - bytesWritten, 7);
});

test('an answer that is no upgrade', async (t) => {
  const server = await startSecure(t, SERVER, { healthCheck: '/healthz' });
  for (const [request, status] of [['GET / HTTP/1.1', '426'], ['GET /healthz HTTP/1.1', '200'], ['nonsense', '400']]) {
    const client = tls.connect({ port: server.port, host: '127.0.0.1', servername: 'localhost', ca: authority });
    t.teardown(() => client.destroy());
    client.write(`${request}\r\nHost: a\r\nConnection: close\r\n\r\n`);
    let text = '';
    client.on('data', (chunk) => (text += chunk));
    await once(client, 'end');
    t.true(text.startsWith(`HTTP/1.1 ${status} `), text);
  }
});
