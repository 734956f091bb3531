// The bytes of a client: every length on both sides of a threshold, to and from a server of ws.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';

import { COMPRESSION, named, payloadOf, untilSent } from '../helpers/bytes-world.mjs';
import { WebSocket, cert, key, test } from '../helpers/index.mjs';
import { AT_ONCE, COMPRESSED, SIZES } from '../helpers/thresholds.mjs';

const { WebSocketServer } = createRequire(import.meta.url)('ws');
const CONTROL_BYTES = 125;

/** Ways to send a payload, and the event that delivers it. */
const WRITES = {
  'send() of a string': ['message', (client, payload, done) => client.send(payload.toString('latin1'), done)],
  'send() of a Buffer': ['message', (client, payload, done) => client.send(payload, done)],
  'send() of an ArrayBuffer': ['message', (client, payload, done) => client.send(new Uint8Array(payload).buffer, done)],
  'send() of a Blob': ['message', (client, payload, done) => client.send(new Blob([payload]), done)],
  'send() of fragments': ['message', sendFragments],
  'ping()': ['ping', (client, payload, done) => client.ping(payload, undefined, done), CONTROL_BYTES],
};

function sendFragments(client, payload, done) {
  const half = payload.length >> 1;
  client.send(payload.subarray(0, half), { fin: false });
  client.send(payload.subarray(half), done);
}

/** Both ends of a connection: a client of this package, and the WebSocket of ws. */
async function open(t, secure, perMessageDeflate) {
  const server = secure ? https.createServer({ cert, key }) : http.createServer();
  const wss = new WebSocketServer({ server, perMessageDeflate, maxPayload: 64 << 20 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `${secure ? 'wss' : 'ws'}://localhost:${server.address().port}`;
  const client = new WebSocket(url, { ca: cert, family: 4, perMessageDeflate: !!perMessageDeflate });
  const [[ws]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  t.teardown(() => {
    client.terminate();
    server.close();
  });
  return { client, ws };
}

for (const secure of [false, true]) {
  for (const [compression, perMessageDeflate] of Object.entries(COMPRESSION)) {
    const title = `${secure ? 'wss' : 'ws'}, ${compression}`;
    test.serial(`${title}: every way to send, every length, and back`, async (t) => {
      const { client, ws } = await open(t, secure, perMessageDeflate);
      for (const [name, [event, write, longest = Infinity]] of Object.entries(WRITES)) {
        for (const size of (perMessageDeflate ? COMPRESSED : SIZES).filter((length) => length <= longest)) {
          const payload = payloadOf(size, size);
          const got = once(ws, event);
          const called = new Promise((resolve) => write(client, payload, resolve));
          t.true((await named(`${name}, ${size}`, got))[0].equals(payload), `${name}, ${size}`);
          t.falsy(await called);
          await untilSent(client);
          const back = once(client, 'message');
          ws.send(payload);
          t.true((await named(`back, ${size}`, back))[0].equals(payload), `back, ${size}`);
        }
      }
    });

    test.serial(`${title}: all lengths at once, and back`, async (t) => {
      const { client, ws } = await open(t, secure, perMessageDeflate);
      const kept = [];
      ws.on('message', (data) => ws.send(data));
      const all = new Promise((resolve) => {
        client.on('message', (data) => kept.push(data) === AT_ONCE.length && resolve());
      });
      for (const [index, size] of AT_ONCE.entries()) client.send(payloadOf(size, index));
      await all;
      for (const [index, size] of AT_ONCE.entries()) t.true(kept[index].equals(payloadOf(size, index)), `${size}`);
    });
  }
}
