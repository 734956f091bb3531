// createWebSocketStream().
import { once } from 'node:events';

import { frame } from '../../helpers/clients.mjs';
import { next } from '../context.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('stream');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232]));
const EVENTS = ['data', 'end', 'error', 'finish', 'close'];

/** A connection with a stream over the server's end, whose events are in the lane `stream`. */
async function open(c, options, events = EVENTS) {
  const session = await c.open({}, { events: ['error', 'close'] });
  const stream = c.impl.createWebSocketStream(session.ws, options);
  c.watch('stream', stream, events);
  const done = new Promise((resolve) => stream.on('close', resolve));
  return { ...session, stream, done };
}

const ended = (c, { closed, done, peer }) => Promise.all([closed, done, peer.closed()]);

s.all('data, writes, and a close of the peer', async (c) => {
  const session = await open(c);
  const { peer, stream } = session;
  stream.write('text', (error) => c.log('callbacks', error));
  stream.write(Buffer.from('bytes'));
  await peer.frames(2);
  peer.send(Buffer.concat([frame(1, 'a'), frame(2, 'b'), frame(1), CLOSE]));
  await once(stream, 'end');
  stream.end();
  await ended(c, session);
});

s.all('end() closes the connection', async (c) => {
  const session = await open(c);
  session.stream.end('last', () => c.log('callbacks', 'ended'));
  await session.peer.frames(2);
  session.peer.send(frame(8));
  await ended(c, session);
});

s.all('destroy() terminates the connection', async (c) => {
  const session = await open(c);
  session.stream.destroy();
  c.log('server', session.ws.readyState);
  await ended(c, session);
});

s.all('destroy(error)', async (c) => {
  const session = await open(c);
  session.stream.destroy(new Error('mine'));
  await ended(c, session);
});

s.all('an error of the peer', async (c) => {
  const session = await open(c);
  session.peer.send(['8380 00000000']);
  await ended(c, session);
});

s.all('the peer just ends', async (c) => {
  const session = await open(c);
  session.peer.end();
  await once(session.stream, 'end');
  const gone = once(session.stream, 'close');
  session.stream.end();
  await Promise.all([gone, session.closed, session.peer.closed()]);
});

s.all('readableObjectMode: text is a string', async (c) => {
  const session = await open(c, { readableObjectMode: true });
  session.peer.send(Buffer.concat([frame(1, 'text'), frame(2, 'bytes'), frame(1), CLOSE]));
  await once(session.stream, 'end');
  session.stream.end();
  await ended(c, session);
});

s.all('options that it does not take', async (c) => {
  const session = await open(c, { objectMode: true, writableObjectMode: true, autoDestroy: true, emitClose: true, decodeStrings: false });
  const { stream } = session;
  c.log('stream', stream.readableObjectMode, stream.writableObjectMode, outcome(() => stream.write({})).slice(0, 40));
  stream.write('a string');
  await session.peer.frames(1);
  session.peer.send(CLOSE);
  await once(stream, 'end');
  stream.end();
  await ended(c, session);
});

s.all('a full stream pauses the WebSocket', async (c) => {
  const session = await open(c, { readableHighWaterMark: 2 }, ['end', 'close', 'error']);
  const { peer, stream, ws } = session;
  peer.send(frame(2, 'three'));
  await once(ws, 'message');
  c.log('server', ws.isPaused);
  stream.on('data', (chunk) => c.log('stream', 'data', chunk));
  await once(stream, 'data');
  peer.send(Buffer.concat([frame(2, 'x'), CLOSE]));
  await once(stream, 'end');
  stream.end();
  await ended(c, session);
});

s.all('for await, and pipe', async (c) => {
  const session = await open(c, {}, ['error']);
  session.peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), CLOSE]));
  for await (const chunk of session.stream) c.log('stream', chunk);
  session.stream.end();
  await Promise.all([session.closed, session.peer.closed()]);
});

s.all('a write behind the end of the connection', async (c) => {
  const session = await open(c);
  session.peer.send(CLOSE);
  await once(session.ws, 'close');
  session.stream.write('late', (error) => c.log('callbacks', error));
  await session.done;
});

s.once('writes before the connection is open', async (c) => {
  const { accept } = await import('./client.mjs');
  const port = await c.origin(async (head, peer) => {
    await peer.send(accept(head));
    await peer.frames(2);
    await peer.send([Buffer.from('8800', 'hex').toString('hex')]);
  });
  const ws = new c.WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const stream = c.impl.createWebSocketStream(ws);
  c.watch('stream', stream, EVENTS);
  stream.end('early', () => c.log('callbacks', 'ended'));
  await once(stream, 'close');
});

s.once('a handshake that fails', async (c) => {
  const port = await c.origin((head, peer) => peer.send('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n'));
  const ws = new c.WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const stream = c.impl.createWebSocketStream(ws);
  c.watch('stream', stream, EVENTS);
  stream.end('early');
  await next(ws, 'close');
  await new Promise(setImmediate);
  c.log('stream', stream.destroyed);
});

s.all('what came right before a protocol error is read before it', async (c) => {
  const { ws, peer, closed } = await c.open();
  const stream = c.impl.createWebSocketStream(ws);
  peer.send(['8281 00000000 61', '8281 00000000 62', '8380 00000000']);
  try {
    for await (const chunk of stream) c.log('stream', 'chunk', chunk);
  } catch (error) {
    c.log('stream', error);
  }
  await closed;
});
