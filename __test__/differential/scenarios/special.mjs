// TLS, sockets of the file system, WebSockets over any stream, and special moments.
import { once } from 'node:events';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';

import { frame } from '../../helpers/clients.mjs';
import { upgradeRequest } from '../../helpers/raw-client.mjs';
import { pipe } from '../../helpers/streams.mjs';
import { next } from '../context.mjs';
import { section } from '../scenario.mjs';
import { frameList, outcome } from '../show.mjs';

const s = section('special');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232]));

s.over('https')('an https server', (c) => {
  const verifyClient = ({ secure, req }) => { c.log('verify', secure, req.socket.encrypted); return true; };
  return c.session({ verifyClient }, async ({ ws, peer }) => {
    c.log('server', ws._socket.encrypted, ws._socket.remoteAddress);
    ws.send('over TLS');
    await peer.frames(1);
    await peer.send(Buffer.concat([frame(1, 'hello'), CLOSE]));
  });
});

s.once('a socket of the file system: server and client', async (c) => {
  const path = join(tmpdir(), `differential-${process.pid}-${Math.random().toString(36).slice(2)}.sock`);
  const server = http.createServer();
  c.teardown(() => server.close());
  server.listen(path);
  await once(server, 'listening');
  const wss = new c.WebSocketServer({ server, path: '/x' });
  c.log('server', wss.address() === path);
  wss.on('connection', (ws, request) => {
    c.log('server', request.url, request.headers.host, request.socket.remoteAddress);
    ws.on('message', (data) => ws.send(data, { binary: false }));
  });
  const ws = new c.WebSocket(`ws+unix://${path}:/x?y`, { perMessageDeflate: false });
  c.watch('client', ws, ['open', 'message', 'error', 'close']);
  ws.on('open', () => ws.send('hello'));
  ws.on('message', () => ws.close(1000));
  c.log('client', ws.url === `ws+unix://${path}:/x?y`);
  await next(ws, 'close');
});

/** A WebSocket over one end of a pipe in memory, and the other end, which keeps the bytes. */
function overPipe(c, options = {}, isServer = true) {
  const [near, far] = pipe();
  const chunks = [];
  far.on('data', (chunk) => chunks.push(chunk));
  const ws = new c.WebSocket(null, undefined, { autoPong: true, closeTimeout: 30_000, maxPendingAutoPongs: 60, ...options });
  ws._isServer = isServer;
  c.watch('ws', ws, ['open', 'message', 'ping', 'pong', 'error', 'close']);
  ws.setSocket(near, options.head ?? Buffer.alloc(0), { maxPayload: 0, ...options });
  return { ws, near, far, frames: () => frameList(Buffer.concat(chunks)) };
}

s.once('setSocket() with a Duplex', async (c) => {
  const { ws, far, near, frames } = overPipe(c);
  c.log('ws', ws.readyState, ws._socket === near, outcome(() => ws._socket.remoteAddress), near.listenerCount('data'));
  ws.send('out');
  far.write(Buffer.concat([frame(1, 'in'), frame(9, 'p'), CLOSE]));
  far.on('end', () => far.end());
  await next(ws, 'close');
  c.log('far', frames());
});

s.once('setSocket() with a head', async (c) => {
  const { ws, far, frames } = overPipe(c, { head: Buffer.concat([frame(1, 'head'), CLOSE]) });
  far.on('end', () => far.end());
  await next(ws, 'close');
  c.log('far', frames());
});

s.once('setSocket(): a client', async (c) => {
  const { ws, far, frames } = overPipe(c, { generateMask: (mask) => mask.fill(0) }, false);
  ws.send('masked');
  ws.close(1000);
  far.on('end', () => far.end());
  far.write(Buffer.from('810161880203e8', 'hex'));
  await next(ws, 'close');
  c.log('far', frames());
});

s.once('a stream that fails', async (c) => {
  const { ws, near } = overPipe(c);
  near.destroy(new Error('mine'));
  await next(ws, 'close');
  c.log('ws', ws.readyState);
});

s.once('maxPendingAutoPongs: a peer that does not read', async (c) => {
  const { ws, near, far } = overPipe(c, { maxPendingAutoPongs: 3 });
  near._writev = () => {};
  far.write(Buffer.concat(Array.from({ length: 6 }, (_, i) => frame(9, String(i)))));
  await next(ws, 'close');
});

s.once('sends of a stream that was destroyed: the errors of the callbacks', async (c) => {
  const { ws, near } = overPipe(c);
  near._writev = () => {};
  for (const name of ['a', 'b', 'c']) ws.send(name, (error) => c.log('callbacks', name, error instanceof Error));
  await turn();
  ws.terminate();
  await next(ws, 'close');
  await turn();
});

s.all("'open' of a class of the user", async (c) => {
  const { WebSocket } = c;
  const options = {
    WebSocket: class extends WebSocket {
      constructor(...args) {
        super(...args);
        this.on('open', () => c.log('server', 'open', this.readyState));
      }
    },
  };
  await c.session(options, ({ peer }) => peer.send(CLOSE), { onConnection: () => c.log('server', 'connection') });
});

s.all('the request comes byte by byte', async (c) => {
  const { wss, port } = await c.listen();
  const connected = once(wss, 'connection');
  const peer = await c.peer(port);
  for (const byte of Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'x'), CLOSE])) await peer.send(Buffer.from([byte]));
  const [ws] = await connected;
  if (ws.readyState !== ws.CLOSED) await next(ws, 'close');
  await peer.closed();
});

s.over('port')('a request head that is too long', async (c) => {
  const { port } = await c.listen();
  const peer = await c.peer(port);
  await peer.upgrade({ 'X-Long': 'x'.repeat(20_000) });
  await peer.closed();
});

s.over('port')('a request with a body, which is read as frames', async (c) => {
  const { wss, port } = await c.listen();
  wss.on('connection', (ws) => ws.on('message', () => ws.terminate()));
  for (const fields of [{ 'Content-Length': '3' }, { 'Transfer-Encoding': 'chunked' }]) {
    const peer = await c.peer(port);
    await peer.upgrade(fields);
    await peer.send(frame(1, 'hi'));
    await peer.closed();
  }
});

s.over('port')('lines that end without a carriage return', async (c) => {
  const { wss, port } = await c.listen();
  wss.on('connection', (ws) => ws.terminate());
  const peer = await c.peer(port);
  await peer.send(upgradeRequest().replaceAll('\r\n', '\n'));
  await peer.closed();
});

s.session('bufferedAmount right behind send()', async ({ c, ws, peer }) => {
  ws.send('hello');
  // 0 when the kernel has the bytes: always in ws, here if the reactor's thread was quick.
  c.log('server', [0, 7].includes(ws.bufferedAmount));
  peer.send(CLOSE);
});

s.session('the moment of the callback of send()', async ({ c, ws, peer }) => {
  const order = [];
  await new Promise((resolve) => {
    ws.send('hello', () => order.push('callback of the first'));
    Promise.resolve().then(() => order.push('microtask'));
    ws.send('again', () => {
      c.log('server', order);
      resolve();
    });
  });
  peer.send(CLOSE);
});

s.all('maxBufferedChunks', async (c) => {
  const { ws, peer } = await c.open({ maxBufferedChunks: 2 });
  const bytes = frame(1, 'a message in many pieces');
  const isOver = Promise.race([next(ws, 'error'), next(ws, 'message')]);
  for (const byte of bytes) {
    const read = ws._socket.bytesRead ?? 0;
    await peer.send(Buffer.from([byte]));
    while (c.way !== 'stream' && !ws._socket.destroyed && (ws._socket.bytesRead ?? 1) === read) await turn();
    if (c.way === 'stream') for (let i = 0; i < 20; i++) await turn();
  }
  await isOver;
});

s.all('many messages of both directions stay in order', async (c) => {
  const count = 5000;
  await c.session(
    {},
    async ({ ws, peer }) => {
      const seen = [];
      const all = new Promise((resolve) => {
        ws.on('message', (data) => {
          seen.push(String(data));
          ws.send(data, { binary: false });
          if (seen.length === count) resolve();
        });
      });
      peer.send(Buffer.concat(Array.from({ length: count }, (_, i) => frame(1, `message ${i}`))));
      await all;
      c.log('server', seen.length, seen.every((text, i) => text === `message ${i}`));
      await peer.frames(count);
      await peer.send(CLOSE);
    },
    { events: ['close', 'error'] },
  );
});
