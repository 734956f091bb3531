// The options of the server's constructor. Run with WS_IMPL=ws, the same holds for ws.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, connect, frame, frames, nextEvents, openPair, openRaw, wsClient } from './helpers/clients.mjs';
import { WebSocketServer, isReference, startServer } from './helpers/impl.mjs';
import { RawClient, upgradeRequest } from './helpers/raw-client.mjs';

const ownOnly = isReference ? test.skip : test;

const ONE_OF = {
  instanceOf: TypeError,
  message: 'One and only one of the "port", "server", or "noServer" options must be specified',
};

for (const [title, options] of [
  ['no options', undefined],
  ['none of the three', {}],
  ['port: null', { port: null }],
  ['port and noServer', { port: 0, noServer: true }],
  ['port and server', { port: 0, server: {} }],
  ['server and noServer', { server: {}, noServer: true }],
]) {
  test(`exactly one of port, server and noServer: ${title}`, (t) => {
    t.throws(() => new WebSocketServer(options), ONE_OF);
  });
}

test('a bad port: the error of Node, at once', (t) => {
  for (const port of [-1, 65_536, 1.5, NaN]) {
    t.throws(() => new WebSocketServer({ port }), { instanceOf: RangeError, code: 'ERR_SOCKET_BAD_PORT' });
  }
});

test('a port may be text', async (t) => {
  const server = new WebSocketServer({ port: '0', host: '127.0.0.1' });
  t.teardown(() => server.close());
  await once(server, 'listening');
  t.true(server.address().port > 0);
});

test('options shows the defaults, and undefined overrides one', async (t) => {
  const server = await startServer(t, { maxPayload: undefined, own: 1 });
  const { port, host, ...rest } = server.options;
  t.deepEqual([port, host], [0, '127.0.0.1']);
  t.deepEqual(rest, {
    allowSynchronousEvents: true,
    autoPong: true,
    maxBufferedChunks: 262_144,
    maxFragments: 16_384,
    maxPayload: undefined,
    maxPendingAutoPongs: 60,
    skipUTF8Validation: false,
    perMessageDeflate: false,
    handleProtocols: null,
    clientTracking: true,
    closeTimeout: 30_000,
    verifyClient: null,
    noServer: false,
    backlog: null,
    server: null,
    path: null,
    WebSocket,
    own: 1,
  });
});

test('perMessageDeflate: true becomes an object', async (t) => {
  const server = await startServer(t, { perMessageDeflate: true });
  t.deepEqual(server.options.perMessageDeflate, {});
  const { ws, client } = await connect(t, server);
  const message = once(ws, 'message');
  client.send('a'.repeat(5000));
  t.is(String((await message)[0]), 'a'.repeat(5000));
});

for (const maxPayload of [0, Infinity, undefined, 2 ** 31, 2 ** 32, 1e10]) {
  test(`maxPayload: ${maxPayload} is no limit`, async (t) => {
    const { ws, client } = await openPair(t, { maxPayload });
    const message = once(ws, 'message');
    client.send(Buffer.alloc(200_000));
    t.is((await message)[0].length, 200_000);
  });
}

ownOnly('maxPayload: 0: a message whose length takes more than 32 bits is refused by its header', async (t) => {
  const { ws, raw } = await openRaw(t, { maxPayload: 0 });
  const failed = once(ws, 'error');
  await raw.sendHex('82ff 0000000100000000');
  t.is((await failed)[0].code, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
  t.is(await frames(raw, 4), '880203f1');
});

test('maxFragments: 1008', async (t) => {
  const { ws, raw } = await openRaw(t, { maxFragments: 2 });
  const failed = once(ws, 'error');
  raw.send(Buffer.concat([frame(1, 'a', false), frame(0, 'b', false), frame(0, 'c')]));
  const [error] = await failed;
  t.is(error.code, 'WS_ERR_TOO_MANY_BUFFERED_PARTS');
  t.is(error.message, 'Too many message fragments');
});

test('skipUTF8Validation', async (t) => {
  const { ws, raw } = await openRaw(t, { skipUTF8Validation: true });
  const message = once(ws, 'message');
  raw.send(frame(1, Buffer.from([0xff])));
  t.deepEqual(await message, [Buffer.from([0xff]), false]);
});

// ws ends the connection behind the 60th pong.
for (const pings of isReference ? [1, 60] : [1, 60, 61, 300, 2000]) {
  test(`maxPendingAutoPongs: ${pings} pings right behind the request are answered behind the 101`, async (t) => {
    const server = await startServer(t);
    const raw = await RawClient.connect(t, server.address().port);
    await raw.send(upgradeRequest() + '\x89\x80\0\0\0\0'.repeat(pings));
    const text = await raw.until((all) => all.endsWith('\x8a\0'.repeat(pings)));
    t.regex(text, /^HTTP\/1\.1 101 /);
    t.is(server.clients.size, 1);
  });
}

test('maxPendingAutoPongs: a peer that pings and does not read is dropped', async (t) => {
  const { ws, raw } = await openRaw(t, { maxPendingAutoPongs: 1 });
  const closed = nextEvents(ws, 'close', 1);
  raw.send(Buffer.concat([frame(9, 'a'), frame(9, 'b')]));
  const done = await Promise.race([closed, raw.until((text) => text.includes('\x8a\x01b')).then(() => 'answered')]);
  // Either the pongs are still pending, or the kernel took them at once.
  t.true(done === 'answered' || done[0][0] === 1006);
});

test('path: only that one, with any query', async (t) => {
  const server = await startServer(t, { path: '/a' });
  await connect(t, server, { path: '/a?b' });
  const client = new wsClient(`ws://127.0.0.1:${server.address().port}/b`);
  t.is((await once(client, 'error'))[0].message, 'Unexpected server response: 400');
});

