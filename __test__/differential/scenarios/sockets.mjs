// `_socket` and `request.socket` as a stream, raw writes to them, and a printed WebSocket.
import { once } from 'node:events';
import net from 'node:net';
import { Duplex, PassThrough, Readable, Stream, Writable } from 'node:stream';
import { inspect } from 'node:util';

import { section } from '../scenario.mjs';

const s = section('sockets');
export default s;

const PROPERTIES = [
  'allowHalfOpen', 'bufferSize', 'closed', 'connecting', 'destroyed', 'encrypted', 'errored', 'pending', 'readable', 'readableAborted',
  'readableEncoding', 'readableEnded', 'readableHighWaterMark', 'readableLength', 'readableObjectMode', 'readyState',
  'timeout', 'writable', 'writableCorked', 'writableEnded', 'writableFinished', 'writableHighWaterMark', 'writableLength',
  'writableNeedDrain', 'writableObjectMode',
];
const METHODS = [
  'addListener', 'address', 'cork', 'destroy', 'destroySoon', 'end', 'isPaused', 'off', 'on', 'once', 'pause', 'pipe', 'read',
  'ref', 'resetAndDestroy', 'resume', 'setDefaultEncoding', 'setEncoding', 'setKeepAlive', 'setNoDelay', 'setTimeout',
  'uncork', 'unpipe', 'unref', 'unshift', 'wrap', 'write',
];

/** The frame of a message. */
const framed = (text) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
const CLOSE = ['8882 00000000 03e8'];

s.over('port', 'server', 'noServer')('what it is', async (c) => {
  await c.session({}, async ({ ws, req, peer }) => {
    const { _socket: socket } = ws;
    c.log('socket', socket === req.socket, socket === req.connection);
    c.log('socket', [net.Socket, Duplex, Readable, Writable, Stream].map((kind) => socket instanceof kind));
    for (const name of PROPERTIES) c.log('socket', name, socket[name]);
    for (const name of METHODS) c.log('socket', name, typeof socket[name]);
    c.log('socket', socket.setTimeout(5000) === socket, socket.timeout, socket.setTimeout(0) === socket, socket.timeout);
    await peer.send(CLOSE);
  });
});

s.over('port', 'server', 'noServer')('bytesWritten has the answer to the handshake', async (c) => {
  for (const options of [{}, { perMessageDeflate: true }, { verifyClient: () => true }]) {
    const fields = { 'Sec-WebSocket-Protocol': 'one, two', 'Sec-WebSocket-Extensions': 'permessage-deflate' };
    const { ws, peer, closed } = await c.open(options, { request: fields });
    c.log('socket', ws._socket.bytesWritten);
    await new Promise((resolve) => { ws.send('hello', { compress: false }, resolve); });
    c.log('socket', ws._socket.bytesWritten);
    await peer.send(CLOSE);
    await Promise.all([closed, peer.closed()]);
  }
});

const writers = {
  'one after the other': [10, (ws, socket) => {
    for (const one of ['a', 'b', 'c']) {
      socket.write(framed(one));
      ws.send(`${one}!`);
    }
    socket.write(framed('d'));
    socket.write(framed('e'));
    ws.send('f');
  }],
  'behind cork()': [5, (ws, socket) => {
    socket.cork();
    socket.write(framed('a'));
    socket.write(framed('b'));
    ws.send('c');
    socket.uncork();
    ws.send('d');
  }],
  'before a close frame': [5, (ws, socket) => {
    socket.write(framed('a'));
    socket.write(framed('b'));
    ws.ping('c');
    socket.write(framed('d'));
    ws.close(1000);
  }],
};
for (const [title, [frames, write]] of Object.entries(writers)) {
  s.all(`raw bytes and messages leave in the order in which they were given: ${title}`, (c) =>
    c.session({}, async ({ ws, peer }) => {
      write(ws, ws._socket);
      if (ws.readyState === 1) setImmediate(() => ws.close(1000));
      await peer.frames(frames);
      await peer.send(CLOSE);
    }),
  );
}

s.session('a stream is piped to it, with more than it takes at once', async ({ ws, peer }) => {
  const source = new PassThrough();
  source.pipe(ws._socket, { end: false });
  const data = Buffer.alloc(100_000, 'abc');
  const frame = Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0x86, 0xa0]), data]);
  for (let at = 0; at < frame.length; at += 7000) source.write(frame.subarray(at, at + 7000));
  await peer.frames(1);
  source.unpipe(ws._socket);
  await peer.send(CLOSE);
});

s.over('port', 'server', 'noServer')("'drain' follows frames that it has no room for, when they have left", (c) =>
  c.session({}, async ({ ws, peer }) => {
    const { _socket: socket } = ws;
    let drains = 0;
    socket.on('drain', () => drains++);
    const drain = async (...sizes) => {
      peer.socket.pause();
      const drained = once(socket, 'drain');
      for (const size of sizes) ws.send(Buffer.alloc(size));
      peer.socket.resume();
      await drained;
      c.log('socket', sizes, drains, ws.bufferedAmount, socket.writableLength, socket.writableNeedDrain);
    };
    await drain(socket.writableHighWaterMark);
    await drain(200_000);
    await drain(2_000_000);
    for (let i = 0; i < 10; i++) await new Promise((resolve) => { ws.send('no drain', resolve); });
    c.log('socket', drains);
    await drain(500_000, 500_000, 500_000);
    await peer.send(CLOSE);
  }),
);

s.over('port', 'server', 'noServer')("'drain' with a listener from before the WebSocket opens", (c) =>
  c.session({ verifyClient: ({ req }) => req.socket.on('drain', () => c.log('socket', 'drain')) }, async ({ ws, peer }) => {
    const drained = once(ws._socket, 'drain');
    ws.send(Buffer.alloc(200_000));
    await drained;
    await peer.send(CLOSE);
  }),
);

// The reactor gives a stream a part at a time, each with a 'drain' of its own, so these programs do not count.
s.over('stream', 'https')("'drain' of a stream follows a frame", (c) =>
  c.session({}, async ({ ws, peer }) => {
    for (const size of [100_000, 3_000_000]) {
      const drained = once(ws._socket, 'drain');
      ws.send(Buffer.alloc(size));
      await drained;
      c.log('socket', size);
      await new Promise((resolve) => { ws.send('all has left', resolve); });
    }
    await peer.send(CLOSE);
  }),
);

s.session('a WebSocket, and its server, as JSON and printed', async ({ c, ws, req, wss, peer }) => {
  for (const look of [() => {}, () => ws._socket, () => ws._receiver, () => ws._sender, () => req.socket]) {
    look();
    c.log('text', typeof JSON.stringify(ws), inspect(ws).includes('handleProtocols'));
    // Without `server` there is nothing to print for `_server`.
    c.log('server', typeof JSON.stringify(wss), wss && typeof JSON.stringify(wss._server), typeof inspect(wss));
  }
  await peer.send(CLOSE);
});
