// closeCause: why a connection has ended, the same by way of each way in, and counted once.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';

import { ALL_WAYS as WAYS, connect, allWays as everyWay, frame, implementation, openBy, ownSerial, urlOf, visitor } from '../helpers/index.mjs';

const { WebSocket } = implementation;
const { CAUSES } = createRequire(import.meta.url)('../../lib/base/layout.js');

const MIB = 2 ** 20;

/** The first server of a thread sets the budgets of the thread. */
const BUDGETS = { sendBudget: 48 * MIB, unfinishedBudget: MIB };

/** More than the kernel takes for a client that does not read, and less than the budget. */
const stuff = ({ client, ws }) => {
  client._socket.pause();
  ws.send(Buffer.alloc(16 * MIB));
};

/** The first bytes of a message of 1 MiB. */
const begin = ({ _socket }, bytes) => {
  _socket.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]));
  _socket.write(Buffer.alloc(bytes));
};

const WAITING = 'a side that is ended while much waits';
const UNFINISHED = 'too many unfinished messages';
/**
 * As in ws, a stream of Node waits for ever for a peer that has ended its side and does not read;
 * `unfinishedBudget` does not count streams.
 */
const NOT_OF_STREAMS = [WAITING, UNFINISHED];
/** What a client of TLS cannot do, or does without close_notify: tls/ends.spec.mjs has its resets. */
const NOT_OF_TLS = ['close, answered by a reset', 'a reset', 'terminate() of the client'];
/** To a recv() that comes after a reset, Wine's answer is 0, the end; to a read under way, as Node's, it is the error. */
const NOT_OF_WINE = 'WINEPREFIX' in process.env ? ['a reset'] : [];

/**
 * O01, F17: what ends a connection: the cause, the options of the server, what happens to `{ client, server,
 * ws }`, and the code of 'close'.
 */
const ENDS = {
  'close of the client': ['closed', {}, ({ client }) => client.close(4001), 4001],
  'close of the server': ['closed', {}, ({ ws }) => ws.close(1001), 1001],
  'close, answered by a reset': ['closed', {}, ({ client }) => client._socket.write(frame(8, Buffer.from([3, 232])), () => client._socket.resetAndDestroy()), 1000],
  'the client ends its side': ['fin', {}, ({ client }) => client._socket.end(), 1006],
  'terminate() of the client': ['fin', {}, ({ client }) => client.terminate(), 1006],
  [WAITING]: ['fin', { closeTimeout: 100 }, (pair) => (stuff(pair), pair.client._socket.end()), 1006],
  'a reset': ['reset', {}, ({ client }) => client._socket.resetAndDestroy(), 1006],
  'terminate()': ['terminate', {}, ({ ws }) => ws.terminate(), 1006],
  'terminate() after close()': ['terminate', {}, ({ client, ws }) => (client._socket.pause(), ws.close(), ws.terminate()), 1006],
  'socket.destroy()': ['terminate', {}, ({ ws }) => ws._socket.destroy(), 1006],
  'no pong': ['ping-timeout', { pingInterval: 30 }, ({ client }) => client._socket.pause(), 1006],
  'no pong, long before idleTimeout': ['ping-timeout', { pingInterval: 30, idleTimeout: 60_000 }, ({ client }) => client._socket.pause(), 1006],
  'silence': ['idle-timeout', { idleTimeout: 30 }, () => {}, 1006],
  'silence, long before a ping': ['idle-timeout', { pingInterval: 60_000, idleTimeout: 30 }, () => {}, 1006],
  'silence after a ping': ['idle-timeout', { pingInterval: 40, idleTimeout: 60 }, ({ client }) => client._socket.pause(), 1006],
  'no answer to close()': ['close-timeout', { closeTimeout: 30 }, ({ client, ws }) => (client._socket.pause(), ws.close()), 1006],
  'an invalid frame': ['protocol-error', {}, ({ client }) => client._socket.write(frame(3)), 1006],
  'an invalid frame, and no answer': ['protocol-error', { closeTimeout: 30 }, ({ client }) => (client._socket.pause(), client._socket.write(frame(3))), 1006],
  'a message above maxPayload': ['too-big', { maxPayload: 10 }, ({ client }) => client.send('x'.repeat(11)), 1006],
  'fragments above maxFragments': ['too-big', { maxFragments: 2 }, ({ client }) => client._socket.write(Buffer.concat([frame(1, '', false), frame(0, '', false), frame(0, '', false)])), 1006],
  'too many messages': ['too-fast', { messagesPerSecond: 1, limit: 'close' }, ({ client }) => [1, 2, 3, 4].forEach((n) => client.send(n)), 1006],
  'too many bytes': ['too-fast', { bytesPerSecond: 100, limit: 'close' }, ({ client }) => client.send('x'.repeat(1000)), 1006],
  'pings, and nothing is read': [
    'too-many-pongs',
    { maxPendingAutoPongs: 2 },
    async (pair) => {
      stuff(pair);
      while (pair.ws.readyState === WebSocket.OPEN) {
        pair.client.ping(() => {});
        await new Promise(setImmediate);
      }
    },
    1006,
  ],
  'pings above the limit, and the pong() of a subclass sends nothing': [
    'too-many-pongs',
    { maxPendingAutoPongs: 2, WebSocket: class extends WebSocket { pong() {} } },
    ({ client }) => [1, 2, 3].forEach(() => client.ping()),
    1006,
  ],
  'too much waits': ['send-budget', {}, (pair) => [1, 2, 3, 4, 5].forEach(() => stuff(pair)), 1006],
  [UNFINISHED]: [
    'unfinished-budget',
    {},
    async ({ client, server, t }) => {
      const unfinished = () => server.metrics().reactors.memory.used.unfinished;
      // Of the test before.
      while (unfinished() > 0) await setTimeout(10);
      begin(client, 900_000);
      // The largest is given up: it must be this one. The memory of the other one grows to less than twice its bytes.
      while (unfinished() < 900_000) await setTimeout(10);
      const other = await connect(t, server);
      begin(other.client, 200_000);
    },
    1006,
  ],
  'a slow member': [
    'slow',
    { closeTimeout: 100, topicOptions: () => ({ slow: 'close', limit: MIB }) },
    async (pair) => {
      pair.ws.subscribe('room');
      stuff(pair);
      while (pair.ws.readyState === WebSocket.OPEN) {
        pair.server.publish('room', 'news');
        await new Promise(setImmediate);
      }
    },
    1006,
  ],
  'a drain': ['drain', {}, ({ server }) => server.drain({ duration: 1 }), 1012],
  'a drain that is not answered': ['close-timeout', { closeTimeout: 30 }, ({ client, server }) => (client._socket.pause(), server.drain({ duration: 1 })), 1006],
};

const grown = (after, before) => Object.fromEntries(Object.entries(after).map(([key, count]) => [key, count - before[key]]).filter(([, count]) => count !== 0));

for (const [title, [cause, options, end, code]] of Object.entries(ENDS)) {
  everyWay(ownSerial, `${title} is '${cause}'`, async (t, start, way) => {
    if (way === 'stream' && NOT_OF_STREAMS.includes(title)) return t.pass();
    if (way === 'tls' && NOT_OF_TLS.includes(title)) return t.pass();
    if (way === 'port' && NOT_OF_WINE.includes(title)) return t.pass();
    const server = await start(t, { ...BUDGETS, ...options });
    const before = server.metrics().connections;
    const seen = [];
    // From the first moment on: on a busy machine the peer is silent before it is paused.
    const closed = new Promise((resolve) => {
      server.once('connection', (ws) => {
        t.is(ws.closeCause, null);
        const listener = (message) => message.ws === ws && seen.push(message.cause);
        subscribe('reactor-ws:close', listener);
        t.teardown(() => unsubscribe('reactor-ws:close', listener));
        ws.on('close', (closeCode) => {
          seen.push(ws.closeCause);
          resolve(closeCode);
        });
      });
    });
    const client = visitor(t, urlOf(server));
    client.on('error', () => {});
    const [[ws]] = await Promise.all([once(server, 'connection'), new Promise((resolve) => client.once('open', resolve).once('close', resolve))]);
    await end({ t, server, client, ws });
    t.is(await closed, code);
    t.deepEqual(seen, [cause, cause]);
    const after = server.metrics().connections;
    t.deepEqual(grown(after.ended, before.ended), { [cause]: 1 });
    t.deepEqual(grown(after.closed, before.closed), { [code in before.closed ? code : 'other']: 1 });
  });
}

everyWay(ownSerial, "a paused connection knows its cause at 'close'", async (t, start, way) => {
  const { client, ws } = await openBy(start, t);
  ws.pause();
  client.send('unread');
  client.terminate();
  await once(client, 'close');
  t.is(ws.closeCause, null);
  ws.resume();
  await once(ws, 'close');
  t.is(ws.closeCause, way === 'tls' ? 'reset' : 'fin');
});

ownSerial('a client knows why its connection has ended, or never opened', async (t) => {
  const server = await WAYS.port(t);
  const url = `ws://127.0.0.1:${server.address().port}`;
  const ends = { closed: (ws) => ws.close(), fin: (ws) => ws.terminate(), reset: (ws) => ws._socket.resetAndDestroy(), 'protocol-error': (ws) => ws._socket.write(Buffer.from([0x83, 0])) };
  for (const [cause, end] of Object.entries(ends)) {
    const client = new WebSocket(url);
    client.on('error', () => {});
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    end(ws);
    await new Promise((resolve) => client.once('close', resolve));
    t.is(client.closeCause, cause);
  }
  const refused = new WebSocket('ws://127.0.0.1:1');
  refused.on('error', () => {});
  await new Promise((resolve) => refused.once('close', resolve));
  t.is(refused.closeCause, 'handshake');
  const aborted = new WebSocket(url);
  aborted.on('error', () => {});
  aborted.terminate();
  await new Promise((resolve) => aborted.once('close', resolve));
  t.is(aborted.closeCause, 'handshake');
});

ownSerial('docs/running.md and the types have each cause, and no other', (t) => {
  const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const [table] = /<!-- causes:begin -->[^]*<!-- causes:end -->/.exec(read('../../docs/running.md'));
  t.deepEqual([...table.matchAll(/^\| `'([a-z-]+)'` \|/gm)].map(([, name]) => name), CAUSES.slice(1));
  const [type] = /export type CloseCause =[^;]*;/.exec(read('../../types/events.d.ts'));
  t.deepEqual([...type.matchAll(/'([a-z-]+)'/g)].map(([, name]) => name), CAUSES.slice(1));
});
