// A stream of which each write is several sends of another connection, while that connection sends.
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { connect, implementation, nextEvents, ownOnly, startServer } from '../helpers/index.mjs';

/** As an upgrade request has them. */
const HEADERS = {
  connection: 'upgrade',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  upgrade: 'websocket',
};
/** The sends of a write, which nearly fill an arena. */
const TUNNELED = [60_000, 60_000, 60_000, 60_000, 60_000];
const FILLED = 29_000;
const LAST = {
  text: 'é'.repeat(60_000),
  bytes: Buffer.alloc(65_000, 'bytes'),
};

/** The WebSocket of a server over a stream; `onWrite` gets what it writes after the handshake. */
async function openTunnel(onWrite) {
  const server = new implementation.WebSocketServer({ noServer: true });
  let isOpen = false;
  const socket = new Duplex({
    read() {},
    write(chunk, encoding, callback) {
      if (isOpen) onWrite();
      callback();
    },
  });
  const ws = await new Promise((resolve) => {
    server.handleUpgrade({ headers: HEADERS, method: 'GET', socket, url: '/' }, socket, Buffer.alloc(0), resolve);
  });
  await nextTurn();
  isOpen = true;
  return { server, ws };
}

for (const [name, last] of Object.entries(LAST)) {
  for (const count of [5, 8, 10, 11, 12]) {
    ownOnly(`${count} sends, then ${name}: all of it comes`, async (t) => {
      const { ws, client } = await connect(t, await startServer(t));
      const tunnel = await openTunnel(() => {
        for (const length of TUNNELED) ws.send(Buffer.alloc(length, 't'));
      });
      tunnel.ws.subscribe('topic');
      await nextTurn();
      const received = nextEvents(client, 'message', count + 2 + TUNNELED.length);
      ws.on('message', () => {
        tunnel.server.publish('topic', 'to the stream');
        for (let n = 0; n < count; n++) ws.send(Buffer.alloc(FILLED, 'f'));
        ws.send(last);
        ws.send('the end');
      });
      client.send('go');
      const own = (await received).map(([data]) => data).filter((data) => data[0] !== 0x74 || data.length === 7);
      t.deepEqual(
        own.map(({ length }) => length),
        [...Array(count).fill(FILLED), Buffer.byteLength(last), 7],
      );
      t.true(own[count].equals(Buffer.from(last)));
    });
  }
}
