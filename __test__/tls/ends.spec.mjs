// How connections over TLS pause and end: the same program of a port with tls and of https with ws.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import test from 'ava';

import { frame, wsClient } from '../helpers/clients.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';
import { SERVER, SERVERS, authority, openSecure, startSecure } from '../helpers/secure.mjs';

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
  }
}

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
