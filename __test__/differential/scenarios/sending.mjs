// The bytes of a server's send(), ping() and pong(), and the arguments of their callbacks.
// The result of send() is an addition of this package.
import { setImmediate as turn } from 'node:timers/promises';

import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('sending');
export default s;

/** A scenario that sends something, closes, and logs the frames. */
function sending(title, act) {
  s.all(title, (c) =>
    c.session({}, async ({ ws, peer }) => {
      await act(ws, c, peer);
      ws.close();
      await peer.ended;
      await peer.send(frame(8));
    }),
  );
}

const detached = () => {
  const buffer = new ArrayBuffer(3);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
};

/** J12, J13. */
const VALUES = {
  'the empty string': '',
  text: 'text ✓',
  'a lone surrogate': 'a\ud800b',
  'a Buffer': Buffer.from('buffer'),
  'a Uint8Array': new Uint8Array([1, 2, 3]),
  'a view of a part': new Uint8Array([0, 1, 2, 3, 4]).subarray(1, 3),
  'a Float64Array': new Float64Array([1]),
  'a DataView': new DataView(new Uint8Array([9, 8, 7, 6]).buffer, 1, 2),
  'an ArrayBuffer': new Uint8Array([5, 6]).buffer,
  'a SharedArrayBuffer': new SharedArrayBuffer(2),
  'an empty ArrayBuffer': new ArrayBuffer(0),
  undefined,
  null: null,
  false: false,
  true: true,
  'the number 0': 0,
  'the number 1.5': 1.5,
  NaN,
  '-Infinity': -Infinity,
  'a bigint': 10n,
  'an array of bytes': [1, 2, 300, '4'],
  'an empty array': [],
  'an object': {},
  'a null object': Object.create(null),
  'an object like a Buffer': { type: 'Buffer', data: [1, 2] },
  'an object with valueOf': { valueOf: () => 'valued' },
  'an object with toString': { toString: () => 'strung' },
  'an object with a length': { length: 2, 0: 7, 1: 8 },
  'an object with toPrimitive': { [Symbol.toPrimitive]: () => 'primitive' },
  'a String object': new String('stringy'),
  'a Number object': new Number(7),
  'a Date': new Date(0),
  'a symbol': Symbol('s'),
  'a function': () => {},
};

for (const [name, value] of Object.entries(VALUES)) {
  sending(`send(): ${name}`, (ws, c) => c.log('server', outcome(() => void ws.send(value)), ws.readyState));
}
sending('ping() and pong(): all kinds of data', (ws, c) => {
  for (const [name, value] of Object.entries(VALUES)) {
    c.log('server', name, outcome(() => ws.ping(value)), outcome(() => ws.pong(value)));
  }
});

const OPTIONS = {
  'binary true': { binary: true },
  'binary false': { binary: false },
  'binary undefined': { binary: undefined },
  'binary null': { binary: null },
  'binary 1': { binary: 1 },
  'fin undefined': { fin: undefined },
  'fin 0': { fin: 0 },
  'compress without permessage-deflate': { compress: true },
  'unknown ones': { foo: 'bar' },
  'inherited ones': Object.create({ binary: true, fin: false }),
};
for (const [name, options] of Object.entries(OPTIONS)) {
  sending(`options of send(): ${name}`, (ws, c) => {
    c.log('server', outcome(() => void ws.send('text', options)), outcome(() => void ws.send(Buffer.from('bytes'), options)));
  });
}
sending('options of send() that are no object', (ws, c) => {
  for (const options of [null, undefined, 7, 'abc', true, []]) {
    c.log('server', outcome(() => void ws.send('text', options)));
    c.log('server', outcome(() => void ws.send(Buffer.from('bytes'), options)));
  }
});

sending('fragments, with a ping between them', (ws) => {
  ws.send('a', { fin: false });
  ws.ping('p');
  ws.send('b', { fin: false, binary: true });
  ws.send('', { fin: false });
  ws.send('c', { fin: true });
  ws.send(Buffer.from('d'));
});

sending('a text started as binary fragments', (ws) => {
  ws.send('a', { fin: false, binary: true });
  ws.send('b');
});

sending('an unfinished message', (ws) => ws.send('never done', { fin: false }));

sending('header lengths at 125, 126, 65535 and 65536 bytes', (ws) => {
  for (const length of [125, 126, 65535, 65536]) ws.send(Buffer.alloc(length, 'x'));
});

sending('pings and pongs without data, of 125 and of 126 bytes', (ws, c) => {
  for (const method of ['ping', 'pong']) {
    ws[method]();
    ws[method]('');
    ws[method]('x'.repeat(125));
    c.log('server', outcome(() => ws[method]('x'.repeat(126))), outcome(() => ws[method](Buffer.alloc(126))));
    c.log('server', outcome(() => ws[method]('é'.repeat(63))));
  }
});

sending('places of the callback of ping() and pong()', async (ws, c) => {
  const called = (name, call) =>
    new Promise((resolve) => {
      call((...args) => {
        c.log('callbacks', name, ...args);
        resolve();
      });
    });
  await called('ping(cb)', (callback) => ws.ping(callback));
  await called('ping(data, cb)', (callback) => ws.ping('1', callback));
  await called('ping(data, mask, cb)', (callback) => ws.ping('2', false, callback));
  await called('pong(cb)', (callback) => ws.pong(callback));
  await called('pong(data, cb)', (callback) => ws.pong('3', callback));
  await called('pong(data, mask, cb)', (callback) => ws.pong('4', undefined, callback));
});

sending('callbacks of send(): order, arguments, place', async (ws, c) => {
  await new Promise((resolve) => {
    ws.send('a', (...args) => c.log('callbacks', 'a', ...args));
    ws.send('b', {}, (...args) => c.log('callbacks', 'b', ...args));
    ws.send('c', undefined, (...args) => c.log('callbacks', 'c', ...args));
    ws.ping('d', (...args) => c.log('callbacks', 'd', ...args));
    ws.send(Buffer.alloc(200_000), (...args) => c.log('callbacks', 'e', ...args));
    ws.send('f', {}, (...args) => {
      c.log('callbacks', 'f', ...args);
      resolve();
    });
    c.log('callbacks', 'none yet');
  });
});

sending('what is no callback', (ws, c) => {
  c.log('server', outcome(() => void ws.send('a', {}, undefined)), outcome(() => void ws.send('b', {}, null)));
});

sending('bufferedAmount is 0 once everything has left', async (ws, c) => {
  c.log('server', ws.bufferedAmount);
  await new Promise((resolve) => ws.send('hello', resolve));
  c.log('server', ws.bufferedAmount);
});

sending('the data may be changed after send()', async (ws) => {
  const data = Buffer.from('original');
  await new Promise((resolve) => ws.send(data, resolve));
  data.fill('x');
});

s.session('after close(): callbacks, bufferedAmount, no exception', async ({ c, ws, peer }) => {
  ws.close(1000);
  await peer.frames(1);
  // The peer may have the message before it is counted as sent.
  while (ws.bufferedAmount !== 0) await turn();
  for (const value of ['text', 'é', Buffer.from('buffer'), new ArrayBuffer(3), [1, 2], undefined, null, 0, 12, '']) {
    c.log('server', outcome(() => void ws.send(value, (error) => c.log('callbacks', error))), ws.bufferedAmount);
  }
  c.log('server', outcome(() => ws.ping('ping', (error) => c.log('callbacks', error))), ws.bufferedAmount);
  c.log('server', outcome(() => ws.pong(123, false, (error) => c.log('callbacks', error))), ws.bufferedAmount);
  c.log('server', outcome(() => void ws.send(new Blob(['blob']))), ws.bufferedAmount);
  c.log('server', outcome(() => void ws.send({})), outcome(() => void ws.send(true)), outcome(() => void ws.send(10n)));
  c.log('callbacks', 'none yet');
  await peer.send(frame(8, Buffer.from([3, 232])));
  ws.on('close', () => {
    ws.send('late', (error) => c.log('callbacks', error));
    c.log('server', ws.bufferedAmount);
  });
});

s.once('before the connection is open', async (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  for (const method of ['send', 'ping', 'pong']) c.log('ws', outcome(() => ws[method]('x', () => c.log('ws', 'called'))));
  c.log('ws', outcome(() => ws.pause()), outcome(() => ws.resume()), ws.isPaused, ws.readyState);
});

s.once('bufferedAmount before the connection is open', async (c) => {
  c.log('ws', new c.WebSocket(null, undefined, {}).bufferedAmount);
});

s.session('Blobs keep their place', async ({ c, ws, peer }) => {
  ws.send('before');
  ws.send(new Blob(['a blob']), (...args) => c.log('callbacks', 'blob', ...args));
  ws.send('text behind it', (...args) => c.log('callbacks', 'text', ...args));
  ws.ping(new Blob(['p']), (...args) => c.log('callbacks', 'ping', ...args));
  ws.send(new Blob([]), { fin: true }, (...args) => c.log('callbacks', 'empty', ...args));
  c.log('server', outcome(() => ws.ping(new Blob(['x'.repeat(126)]))));
  ws.close(1000, 'last');
  c.log('server', ws.readyState);
  await peer.frames(6);
  await peer.send(frame(8, Buffer.from([3, 232])));
});

/** A Blob that is read, or fails to be read, at a moment of the scenario's choice. */
function pendingBlob() {
  const blob = new Blob(['abc']);
  let fail;
  blob.arrayBuffer = () => new Promise((_, reject) => (fail = reject));
  return { blob, fail: () => fail(new Error('unreadable')) };
}

// The server reports the first of the two errors that it notices.
for (const [title, when] of [
  ['before', (fail, send) => void (fail(), send('8f80 00000000'))],
  ['behind', (_fail, send) => send('8f80 00000000')],
  ['in the handler of a message before', (_fail, send) => send('8181 00000000 61 8f80 00000000')],
]) {
  s.all(`an unreadable Blob ${title} an invalid frame`, async (c) => {
    const { ws, peer, closed } = await c.open();
    const { blob, fail } = pendingBlob();
    ws.on('message', fail);
    ws.on('error', () => setImmediate(fail));
    ws.send(blob, (error) => c.log('server', 'blob', error));
    ws.send('behind it', (error) => c.log('server', 'text', error));
    when(fail, (hex) => peer.send(hex));
    await closed;
  });
}

s.all('a Blob that is being read when the connection ends', async (c) => {
  const { ws, closed } = await c.open();
  const called = new Promise((resolve) => {
    ws.send(new Blob(['x']), (error) => c.log('callbacks', 'blob', error));
    ws.send('text', (error) => {
      c.log('callbacks', 'text', error);
      resolve();
    });
  });
  ws.terminate();
  await Promise.all([closed, called]);
});

s.session('a detached ArrayBuffer', async ({ c, ws, peer }) => {
  c.log('server', outcome(() => void ws.send(detached())));
  ws.close();
  await peer.send(frame(8));
});

s.session('views whose ArrayBuffer was detached', async ({ c, ws, peer }) => {
  for (const make of [Uint8Array, Int16Array, Buffer.from]) {
    const view = make === Buffer.from ? Buffer.from(new ArrayBuffer(8)) : new make(8);
    structuredClone(view.buffer, { transfer: [view.buffer] });
    for (const method of ['send', 'ping', 'pong']) c.log('server', outcome(() => void ws[method](view)));
  }
  ws.close();
  await peer.send(frame(8));
});

s.session('arrays with a length of their own', async ({ c, ws, peer }) => {
  for (const lie of [1, 1000]) {
    const array = Object.defineProperty(new Uint8Array([1, 2, 3]), 'length', { value: lie });
    c.log('server', outcome(() => void ws.send(array)));
  }
  ws.close();
  await peer.send(frame(8));
});

s.all('sends of the connection handler come right behind the 101', (c) =>
  c.session({}, ({ peer }) => peer.frames(3).then(() => peer.send(frame(8))), {
    onConnection: (ws) => {
      ws.send('a');
      ws.ping('b');
      ws.close();
    },
  }),
);

s.session('the callback of a send comes before its data is lost: terminate() behind it', async ({ ws }) => {
  const called = new Promise((resolve) => ws.send('gone?', resolve));
  await called;
  ws.terminate();
});

s.over('port', 'server', 'noServer')('the callback of a send right before terminate()', async (c) => {
  const { ws, closed, peer } = await c.open();
  const called = new Promise((resolve) => {
    ws.send('last', (error) => resolve(c.log('callbacks', error ?? null)));
  });
  ws.terminate();
  await Promise.all([called, closed, peer.closed()]);
});
