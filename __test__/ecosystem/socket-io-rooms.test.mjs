// Rooms of Socket.IO on topics: the same packets in the same order as without the adapter, in one publish for many.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';

import { WebSocketServer } from 'reactor-ws';
import { reactorAdapter } from 'reactor-ws/socket.io';
import { Server } from 'socket.io';
import { Adapter, ClusterAdapter, SessionAwareAdapter } from 'socket.io-adapter';
import { Manager } from 'socket.io-client';
import { Decoder, Encoder } from 'socket.io-parser';

import { listen } from './helpers/http.mjs';

const WEBSOCKET = ['websocket'];
const UPGRADE = ['polling', 'websocket'];

async function start(t, options = {}) {
  const http = createServer();
  const server = new Server(http, { wsEngine: WebSocketServer, adapter: reactorAdapter(), ...options });
  // What goes by Engine.IO, packet by packet.
  const single = [];
  server.engine.on('connection', (conn) => conn.on('packetCreate', ({ data }) => data?.includes?.('"m"') && single.push(conn)));
  const port = await listen(t, http);
  t.after(() => server.close());
  return { server, single, url: `http://127.0.0.1:${port}` };
}

/** The server's sockets; `data.got`: the values that the client has received. */
async function connect(t, { server, url }, { transports = WEBSOCKET, names = ['/'], ...options } = {}) {
  const manager = new Manager(url, { autoConnect: false, reconnection: false, transports, ...options });
  t.after(() => manager._close());
  const got = [];
  const sockets = [];
  for (const name of names) {
    const client = manager.socket(name);
    client.on('m', (value, ...rest) => {
      got.push(value);
      for (const one of rest) {
        if (Buffer.isBuffer(one)) assert.ok(one.toString().startsWith(`bytes ${value}`));
        if (typeof one === 'function') one(value);
      }
    });
    await once(client.connect(), 'connect');
    const socket = server.of(name).sockets.get(client.id);
    socket.data = { client, got };
    sockets.push(socket);
  }
  return sockets;
}

async function until(condition) {
  while (!condition()) await setTimeout(1);
}

const all = (count, make) => Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** A generator of numbers below `limit`. */
function numbers(seed) {
  return (limit) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * limit);
  };
}

for (const [seed, options] of [[1, {}], [2, { connectionStateRecovery: {} }], [3, { perMessageDeflate: { threshold: 8 } }], [4, {}], [5, {}]]) {
  test(`rooms, random program ${seed}: each socket gets what it is due, in order`, async (t) => {
    const random = numbers(seed);
    const names = ['/', '/other'];
    const started = await start(t, options);
    const { server, single } = started;
    for (const name of names) server.of(name).use((socket, next) => next(void socket.join('early')));
    const kinds = [['polling'], UPGRADE, UPGRADE, ...Array(9).fill(WEBSOCKET)];
    const sockets = (await all(kinds.length, (index) => connect(t, started, { transports: kinds[index], names }))).flat();
    const rooms = ['early', 'a', 'b', 7, 'long'.repeat(20_000)];
    /** By `data.got`: the values to come; false: they can be dropped. */
    const due = new Map(sockets.map(({ data }) => [data.got, new Map()]));
    const shown = [];
    const shownDue = [];
    for (let value = 0; value < 300; value++) {
      const namespace = server.of(names[random(2)]);
      const connected = sockets.filter((one) => one.nsp === namespace && one.connected);
      const socket = connected[random(connected.length)];
      const [room, second] = [rooms[random(5)], rooms[random(5)]];
      const bytes = Buffer.from(`bytes ${value}`);
      const to = (isSure, matches) => {
        for (const one of connected.filter(matches)) {
          due.get(one.data.got).set(value, isSure);
          if (one.data.isShown) shownDue.push(value);
        }
      };
      const isIn = (one) => one.rooms.has(room);
      const step = random(16);
      if (step < 3) socket.join(room);
      if (step === 3) socket.leave(room);
      if (step === 4) namespace.in(room).socketsJoin(second);
      if (step === 5 && value % 5 === 0) namespace.in(room).socketsLeave(second);
      if (step === 6) to(true, isIn), namespace.to(room).emit('m', value);
      if (step === 7) to(true, () => true), namespace.emit('m', value, bytes);
      if (step === 8) to(true, (one) => one === socket), socket.emit('m', value);
      if (step === 9) to(true, (one) => one !== socket), socket.broadcast.emit('m', value);
      if (step === 10) to(true, (one) => isIn(one) && one !== socket && !one.rooms.has(second)), socket.to(room).except(second).emit('m', value);
      if (step === 11) to(true, (one) => isIn(one) || one.rooms.has(second)), namespace.to([room, second]).emit('m', value);
      if (step === 12) to(false, isIn), namespace.to(room).volatile.emit('m', value, random(2) && bytes);
      if (step === 13) to(true, isIn), namespace.compress(false).to(room).emit('m', value, bytes);
      if (step === 14 && random(6) === 0 && !socket.data.isShown) {
        socket.data.isShown = true;
        socket.onAnyOutgoing((_, shownValue) => shown.push(shownValue));
      }
      if (step === 15 && random(12) === 0) socket.disconnect();
      if (random(3) === 0) await setImmediate();
    }
    const left = () => [...due].flatMap(([got, values]) => [...values].filter(([value, isSure]) => isSure && !got.includes(value)));
    await until(() => left().length === 0);
    for (const [got, values] of due) {
      assert.deepEqual(got, [...new Set(got)].sort((a, b) => a - b), 'in order, and once');
      assert.deepEqual(got.filter((value) => !values.has(value)), [], 'nothing else');
    }
    assert.deepEqual(shown.sort(), shownDue.sort());
    assert.ok(single.length !== 0);
  });
}

test('rooms: one publish for all, packets one by one only where they must', async (t) => {
  const started = await start(t);
  const { server, single } = started;
  const sockets = (await all(6, () => connect(t, started))).flat();
  const [polling] = await connect(t, started, { transports: ['polling'] });
  for (const socket of [...sockets, polling]) socket.join('room');
  server.emit('m', 1);
  server.to('room').emit('m', 2, Buffer.from('bytes 2'));
  sockets[0].to('room').emit('m', 3);
  await until(() => [polling, ...sockets.slice(1)].every(({ data }) => data.got.length === 3));
  assert.deepEqual(new Set(single), new Set([polling.conn]));
  single.length = 0;
  const listener = () => {};
  sockets[1].onAnyOutgoing(listener);
  server.to('room').except(polling.id).emit('m', 4);
  assert.deepEqual(single, [sockets[1].conn]);
  sockets[1].offAnyOutgoing(listener);
  server.to('room').except(polling.id).emit('m', 5);
  server.to(sockets[2].id).emit('m', 6);
  assert.deepEqual(single.slice(1), [sockets[2].conn]);
  assert.deepEqual(await server.timeout(5000).to('room').emitWithAck('m', 7).then((answers) => answers.length), 7);
  assert.deepEqual(sockets[2].data.got, [1, 2, 3, 4, 5, 6, 7]);
});

test('rooms: the name undefined is a room, not all sockets', async (t) => {
  const started = await start(t);
  const { server } = started;
  const sockets = (await all(6, () => connect(t, started))).flat();
  server.to(undefined).emit('m', 1);
  for (const socket of sockets.slice(1)) socket.join(undefined);
  server.to(undefined).emit('m', 2);
  server.emit('m', 3);
  await until(() => sockets.every(({ data }) => data.got.includes(3)));
  assert.deepEqual(sockets.map(({ data }) => data.got), [[3], ...Array(5).fill([2, 3])]);
});

test('rooms: of two sockets with one id, as after a second recovery, the later one gets all', async (t) => {
  const started = await start(t);
  const { server, single } = started;
  server.use((socket, next) => {
    if (server.sockets.sockets.size >= 4) socket.id = 'same';
    next();
  });
  await all(4, () => connect(t, started));
  const [first] = await connect(t, started);
  server.emit('m', 1);
  const [second] = await connect(t, started);
  first.onAnyOutgoing(() => {});
  server.emit('m', 2);
  server.emit('m', 3, Buffer.from('bytes 3'));
  await until(() => second.data.got.includes(3));
  assert.deepEqual([first.data.got, second.data.got, single], [[1], [2, 3], []]);
});

test('rooms: listeners of outgoing packets change the room meanwhile', async (t) => {
  const started = await start(t);
  const { server } = started;
  const sockets = (await all(8, () => connect(t, started))).flat();
  const listener = () => {};
  const [changing, apart, late, gone, left] = sockets;
  server.socketsJoin('room');
  changing.onAnyOutgoing((_, value) => {
    if (value !== 1) return;
    late.onAnyOutgoing(listener);
    apart.offAnyOutgoing(listener);
    gone.disconnect();
    left.leave('room');
  });
  for (const one of [apart, gone, left]) one.onAnyOutgoing(listener);
  server.to('room').emit('m', 1);
  server.emit('m', 2);
  await until(() => sockets.every((one) => one === gone || one.data.got.includes(2)));
  const both = [1, 2];
  assert.deepEqual(sockets.map(({ data }) => data.got), [both, both, both, [], [2], both, both, both]);
});

test('rooms: packets of a parser that returns them without an array', async (t) => {
  class OneEncoder extends Encoder {
    encode(packet) {
      const encoded = super.encode(packet);
      return encoded.length === 1 ? encoded[0] : encoded;
    }
  }
  const started = await start(t, { parser: { Encoder: OneEncoder, Decoder } });
  const sockets = (await all(5, () => connect(t, started))).flat();
  started.server.emit('m', 1);
  await until(() => sockets.every(({ data }) => data.got.length === 1));
});

test('rooms: another server of Socket.IO is closed, and the broadcasts stay one publish', async (t) => {
  const started = await start(t);
  const { server, single } = started;
  const sockets = (await all(5, () => connect(t, started))).flat();
  await (await start(t)).server.close();
  server.emit('m', 1);
  const { adapter } = server.of('/');
  adapter.broadcast = () => {};
  server.emit('m', 2);
  delete adapter.broadcast;
  server.emit('m', 3);
  // Another package can go over ours.
  const { broadcast } = Adapter.prototype;
  t.after(() => (Adapter.prototype.broadcast = broadcast));
  Adapter.prototype.broadcast = function (...args) {
    return broadcast.apply(this, args);
  };
  server.emit('m', 4);
  assert.deepEqual(single, []);
  server.to([...sockets[0].rooms, 'room']).emit('m', 5);
  await until(() => sockets[0].data.got.includes(5));
  assert.deepEqual(sockets[0].data.got, [1, 3, 4, 5]);
});

test('rooms: a client that connects twice has two sockets, each with all packets', async (t) => {
  const started = await start(t);
  const { server } = started;
  const [twice] = (await all(6, () => connect(t, started))).flat();
  const { client, got } = twice.data;
  const other = server.of('/other').use((_, next) => setTimeout(5).then(() => next()));
  client.io.engine.write('0/other,');
  client.io.engine.write('0/other,');
  await until(() => other.sockets.size === 2);
  client.io.on('packet', ({ data, nsp }) => nsp === '/other' && data?.[0] === 'm' && got.push(data[1]));
  for (let count = 0; count < 3; count++) await connect(t, started, { names: ['/other'] });
  other.emit('m', 1);
  [...other.sockets.values()].find(({ conn }) => conn === twice.conn).disconnect();
  other.emit('m', 2);
  server.emit('m', 3);
  await until(() => got.includes(3));
  assert.deepEqual(got, [1, 1, 2, 3]);
});

test('rooms: a packet that waits in Engine.IO, or in its upgrade, is not overtaken', async (t) => {
  const started = await start(t);
  const { server } = started;
  const sockets = (await all(6, () => connect(t, started, { transports: UPGRADE }))).flat();
  let value = 0;
  for (const { conn } of sockets) conn.once('upgrade', () => server.emit('m', value++));
  while (!sockets.every(({ conn, data }) => conn.upgraded && data.got.length > 200)) {
    for (const socket of sockets) for (let times = 0; times < 3; times++) socket.emit('m', value + times);
    value += 3;
    server.emit('m', value++);
    await setImmediate();
  }
  await until(() => sockets.every(({ data }) => data.got.length === value));
  for (const { data } of sockets) assert.deepEqual(data.got, Array.from({ length: value }, (_, index) => index));
});

test('rooms: a socket that does not read is sent few volatile packets, the others get all', async (t) => {
  const started = await start(t);
  const { server } = started;
  const [stalled, ...sockets] = (await all(6, () => connect(t, started))).flat();
  const { ws } = stalled.data.client.io.engine.transport;
  ws.pause();
  for (let value = 0; value < 100; value++) {
    const bytes = Buffer.alloc(256 * 1024, `bytes ${value} `);
    // A client can have a packet before Engine.IO knows that it was sent, and takes a volatile one again.
    await until(() => sockets.every(({ conn }) => conn.transport.writable));
    server.volatile.emit('m', value, value % 2 === 0 ? bytes : bytes.toString());
    await until(() => sockets.every(({ data }) => data.got.at(-1) === value));
  }
  assert.ok(stalled.conn.transport.socket.bufferedAmount < 1024 * 1024);
  server.emit('m', 100);
  ws.resume();
  await until(() => stalled.data.got.at(-1) === 100);
  assert.ok(stalled.data.got.length < 90);
});

test('rooms: a node of a cluster sends to its own sockets by topics', async (t) => {
  const bus = new EventEmitter();
  class Bus extends ClusterAdapter {
    constructor(nsp) {
      super(nsp);
      bus.on('message', (message) => this.onMessage(message));
      bus.on('answer', (to, answer) => to === this.uid && this.onResponse(answer));
    }
    async doPublish(message) {
      bus.emit('message', message);
      return '';
    }
    async doPublishResponse(to, answer) {
      bus.emit('answer', to, answer);
    }
    async serverCount() {
      return 2;
    }
  }
  const nodes = await all(2, () => start(t, { adapter: reactorAdapter(Bus) }));
  const sockets = (await all(10, (index) => connect(t, nodes[index % 2]))).flat();
  const [{ server }] = nodes;
  server.socketsJoin('room');
  server.to('room').emit('m', 1);
  sockets[0].broadcast.emit('m', 2);
  // A node has given its own broadcasts to the bus first.
  await setImmediate();
  assert.deepEqual(nodes.flatMap(({ single }) => single), []);
  server.local.emit('m', 3);
  assert.equal((await server.timeout(5000).emitWithAck('m', 4)).length, 10);
  for (const [index, { data }] of sockets.entries()) assert.deepEqual(data.got, [1, ...(index === 0 ? [] : [2]), ...(index % 2 === 0 ? [3] : []), 4]);
});

test('rooms: connection state recovery, and the adapters by default', async (t) => {
  const started = await start(t, { connectionStateRecovery: {} });
  const { server, single } = started;
  assert.ok(server.of('/').adapter instanceof SessionAwareAdapter);
  assert.ok((await start(t)).server.of('/').adapter.constructor === Adapter);
  const [lost, ...sockets] = (await all(6, () => connect(t, started))).flat();
  for (const socket of [lost, ...sockets]) socket.join('room');
  const { client, got } = lost.data;
  server.to('room').emit('m', 1);
  await until(() => got.length === 1);
  client.io.engine.close();
  await once(lost, 'disconnect');
  server.to('room').emit('m', 2);
  client.io.connect();
  await once(client, 'connect');
  assert.ok(client.recovered);
  single.length = 0;
  server.to('room').emit('m', 3);
  assert.deepEqual(single, []);
  await until(() => got.length === 3);
  assert.deepEqual(got, [1, 2, 3]);
});

test('rooms: nothing of an empty room stays, and the topics of the program are its own', async (t) => {
  const started = await start(t);
  const { server } = started;
  const sockets = (await all(5, () => connect(t, started))).flat();
  const own = sockets.map(({ conn }) => conn.transport.socket);
  for (const ws of own) ws.subscribe('room');
  server.engine.ws.publish('room', '42["m","by the program"]');
  const { adapter } = server.of('/');
  const [rooms] = Object.getOwnPropertySymbols(adapter).map((symbol) => adapter[symbol]).filter((value) => value?.channels);
  for (let round = 0; round < 20; round++) {
    server.socketsJoin(`room ${round}`);
    server.to(`room ${round}`).emit('m', round);
    server.to(`room ${round}`).volatile.emit('m', round);
    assert.equal(rooms.channels.size, 1);
    server.socketsLeave(`room ${round}`);
    server.to(`room ${round}`).emit('m', 'nobody');
  }
  assert.equal(rooms.channels.size, 0);
  assert.deepEqual([...server.engine.ws.topics()], [['room', 5]]);
  assert.deepEqual(own[0].subscriptions, ['room']);
  adapter.once('leave-room', (_, id) => server.sockets.sockets.get(id).join('left'));
  for (const socket of sockets) socket.disconnect(true);
  assert.equal(rooms.sockets.size, 0);
  assert.throws(() => reactorAdapter({}), { name: 'TypeError', message: /^inner must be an adapter of Socket\.IO/ });
});
