// Exceptions of a stream on a write: the sender gets the exception, and no other stream is
// affected. The same programs run on ws.
import { once } from 'node:events';
import { Duplex } from 'node:stream';

import { attach, implementation, nextEvents, ownOnly, pipe, pipePair, test, tlsPair } from '../helpers/index.mjs';

const failure = new Error('of the stream');

const fail = () => {
  throw failure;
};

/** One end of a pipe with this reader at the other one, which gets writes within the call. */
async function readBy(read) {
  const [near, far] = pipe();
  near.isImmediate = far.isImmediate = true;
  read(far);
  await once(far, 'resume');
  return near;
}

/** Streams that fail in the middle of a write, by name: a function that makes one. */
const STREAMS = {
  '_write throws': () => new Duplex({ read() {}, write: fail }),
  '_writev throws': () => new Duplex({ read() {}, writev: fail }),
  'write throws': () => Object.assign(new Duplex({ read() {} }), { write: fail }),
  'a handler of its peer throws': () => readBy((far) => far.on('data', fail)),
  'a handler of the WebSocket at its other end throws': () =>
    readBy((far) => {
      const other = attach(far, { isServer: true, maxPayload: 0 });
      for (const event of ['message', 'ping', 'pong', 'close', 'error']) other.on(event, fail);
    }),
};

const SENDS = {
  'send a string': (ws) => ws.send('abc'),
  'send bytes': (ws) => ws.send(Buffer.alloc(60_000), () => {}),
  ping: (ws) => ws.ping('abc'),
  pong: (ws) => ws.pong('abc'),
  sendFrame: (ws) => ws._sender.sendFrame(implementation.Sender.frame(Buffer.from('abc'), FRAME)),
};

const FRAME = { fin: true, mask: true, opcode: 1, readOnly: true, rsv1: false };

/** Sends a number with each; they all arrive. */
async function areServed(pairs) {
  const arriving = pairs.map(({ client }) => once(client, 'message'));
  for (const [number, { ws }] of pairs.entries()) ws.send(String(number));
  for (const [number, message] of (await Promise.all(arriving)).entries()) {
    if (String(message[0]) !== String(number)) throw new Error(`${message[0]}, not ${number}`);
  }
}

for (const [kind, make] of Object.entries(STREAMS)) {
  for (const [name, send] of Object.entries(SENDS)) {
    // Nothing of other tests is being delivered meanwhile: what comes within a delivery waits.
    test.serial(`${kind}: ${name}`, async (t) => {
      const others = [pipePair(), await tlsPair(t), pipePair(), await tlsPair(t)];
      const ws = attach(await make(), { isServer: false });
      ws.on('error', () => {});
      const arriving = others.map(({ client }) => once(client, 'message'));
      for (const other of others.slice(0, 2)) other.ws.send('before');
      t.is(t.throws(() => send(ws)), failure);
      for (const other of others.slice(2)) other.ws.send('behind');
      const messages = (await Promise.all(arriving)).map(([data]) => String(data));
      t.deepEqual(messages, ['before', 'before', 'behind', 'behind']);
      await areServed(others);
    });
  }
}

test('in a handler: what it throws is its own', async (t) => {
  const [{ ws, client }, secure] = [pipePair(), await tlsPair(t)];
  const bad = attach(STREAMS['_write throws'](), { isServer: false });
  const thrown = new Promise((resolve) => {
    ws.on('message', () => {
      secure.ws.send('from a handler');
      t.is(t.throws(() => bad.send('abc')), failure);
      ws.send('answer');
      resolve();
    });
  });
  const arriving = [once(client, 'message'), once(secure.client, 'message')];
  client.send('x');
  await thrown;
  t.deepEqual((await Promise.all(arriving)).map(([data]) => String(data)), ['answer', 'from a handler']);
});

test('destroy() of a stream throws: terminate() does, and no other stream is affected', async (t) => {
  const others = [await tlsPair(t), await tlsPair(t)];
  const stream = Object.assign(new Duplex({ read() {}, write: (chunk, encoding, callback) => callback() }), { destroy: fail });
  const ws = attach(stream, { isServer: false });
  const arriving = others.map(({ client }) => nextEvents(client, 'message', 3));
  for (const text of ['first of its tick', 'before']) for (const other of others) other.ws.send(text);
  t.is(t.throws(() => ws.terminate()), failure);
  for (const other of others) other.ws.send('behind');
  for (const messages of await Promise.all(arriving)) {
    t.deepEqual(messages.map(([data]) => String(data)), ['first of its tick', 'before', 'behind']);
  }
  delete stream.destroy;
  stream.destroy();
});

// With ws the stream itself queues the bytes, and when its `_write` throws, Node never calls their callbacks.
ownOnly('a stream throws when it takes bytes again: their callbacks get that', async (t) => {
  const written = [];
  const stream = new Duplex({
    read() {},
    writableHighWaterMark: 16,
    write(chunk, encoding, callback) {
      if (written.push(callback) > 1) throw failure;
    },
  });
  const ws = attach(stream, { isServer: false });
  const reports = [];
  for (const text of ['x'.repeat(20), 'y', 'z']) ws.send(text, (error) => reports.push(error));
  ws.on('error', () => {});
  const closed = once(ws, 'close');
  written[0]();
  await closed;
  t.deepEqual(reports, [null, failure, failure]);
});

test('a stream that sends more while it is written to: bufferedAmount counts all', (t) => {
  let isFirst = true;
  const stream = new Duplex({
    read() {},
    write() {
      if (isFirst) ws.send('y'.repeat(1000));
      isFirst = false;
    },
  });
  const ws = attach(stream, { isServer: true });
  ws.send(Buffer.alloc(20_000));
  // The stream takes no more: the reactor keeps it.
  ws.send('x'.repeat(3000));
  t.is(ws.bufferedAmount, 4 + 20_000 + 4 + 1000 + 4 + 3000);
  stream.destroy();
});

// What waits to be written has no use for a stream that is gone.
test('a stream that takes no more when its peer ends, and then closes, ends its WebSocket at once', async (t) => {
  const stream = new Duplex({ highWaterMark: 1, read() {}, write() {} });
  const ws = attach(stream, { closeTimeout: 2 ** 31 - 1 });
  ws.send('fills it');
  ws.send('waits');
  const told = once(ws, 'close');
  stream.push(Buffer.from('88820000000003e8', 'hex'));
  stream.push(null);
  await once(stream, 'end');
  stream.destroy();
  t.is((await told)[0], 1000);
});
