// Faults of the program, row by row, on every way in: what becomes of the connection, and whether
// another client is served meanwhile. The rows are those of docs/faults.md.
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { WebSocket, frame, nextEvents, urlOf } from '../helpers/clients.mjs';
import { Child, WAYS, isReference, ownOnLinuxSerial, ownSerial, test } from '../helpers/index.mjs';
import { canary, onEveryWay, openedPair, pair } from '../helpers/under-attack.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const MIB = 2 ** 20;
const texts = (events) => events.map(([data]) => String(data));

onEveryWay(test.serial, {
  async 'J01: calls at the wrong time'(t, at) {
    const errors = [];
    const callAll = (ws) => {
      const callback = (error) => errors.push(error);
      ws.send('x', callback);
      ws.ping('x', false, callback);
      ws.pong('x', false, callback);
      ws.close();
      ws.terminate();
    };
    const { ws, raw } = await openedPair(t, at);
    for (const event of ['error', 'close']) ws.on(event, () => callAll(ws));
    const closed = nextEvents(ws, 'close', 1);
    await raw.send(frame(3));
    await closed;
    callAll(ws);
    while (errors.length < 9) await turn();
    t.true(errors.every((error) => error instanceof Error));
    const early = new WebSocket(urlOf(at.server));
    for (const method of ['send', 'ping', 'pong']) t.throws(() => early[method]('x'), { message: /CONNECTING/ });
    const failed = once(early, 'error');
    early.terminate();
    await failed;
  },

  async 'J05: close() of itself, with messages behind'(t, at) {
    const { ws, raw } = await openedPair(t, at);
    const seen = [];
    ws.on('message', (data) => {
      seen.push(Number(data));
      ws.close(1000);
    });
    const closed = once(ws, 'close');
    await raw.send(Buffer.concat([...Array.from({ length: 100 }, (_, i) => frame(1, String(i))), frame(8)]));
    await closed;
    t.deepEqual(seen, [...Array(100).keys()]);
  },

  async 'J06: others are terminated in a handler'(t, { server }) {
    const all = [];
    for (let i = 0; i < 6; i++) all.push(await pair(t, server));
    const log = [];
    const gone = Promise.all(all.slice(1).map(({ ws }) => once(ws, 'close')));
    for (const { ws } of all.slice(1)) ws.on('message', () => log.push(ws.readyState));
    all[0].ws.on('message', () => all.slice(1).forEach(({ ws }) => ws.terminate()));
    for (const { client } of all) for (let i = 0; i < 10; i++) client.send('x');
    await gone;
    t.true(log.every((state) => state === WebSocket.OPEN || isReference), log.join());
    all[0].ws.removeAllListeners('message');
    all[0].client.send('still there');
    const [data] = await new Promise((resolve) => {
      all[0].ws.on('message', (...args) => String(args[0]) === 'still there' && resolve(args));
    });
    t.is(String(data), 'still there');
  },

  async 'J07: clients change while they are iterated'(t, { server }) {
    const own = [];
    for (let i = 0; i < 6; i++) own.push((await pair(t, server)).ws);
    const closed = Promise.all(own.map((ws) => once(ws, 'close')));
    for (const ws of server.clients) {
      if (!own.includes(ws)) continue;
      ws.terminate();
      server.clients.delete(ws);
    }
    await closed;
    t.is(server.clients.size, 1);
  },

  async 'J08: sends in callbacks of sends'(t, { server }) {
    const { ws, client } = await pair(t, server);
    const received = nextEvents(client, 'message', 1000);
    let [depth, count] = [0, 0];
    const next = () => {
      t.is(++depth, 1);
      if (count < 1000) ws.send(String(count++), next);
      depth--;
    };
    next();
    t.deepEqual((await received).map(([data]) => Number(data)), [...Array(1000).keys()]);
  },

  async 'J11: messages are kept, overwritten, given away'(t, at) {
    const { ws, raw } = await openedPair(t, at);
    const kept = [];
    const lengthOf = (i) => (i % 100 === 0 ? 100_000 : (i * 13) % 126);
    const done = new Promise((resolve) => {
      ws.on('message', (data) => {
        if (kept.push(data) % 3 === 0) abuse(data, at.way);
        if (kept.length === 2000) resolve();
      });
    });
    await raw.send(Buffer.concat(Array.from({ length: 2000 }, (_, i) => frame(2, Buffer.alloc(lengthOf(i), i)))));
    await done;
    // In ws many messages share the memory of a chunk.
    const wrong = kept.filter((data, i) => i % 3 !== 2 && !data.equals(Buffer.alloc(lengthOf(i), i)));
    t.true(isReference || wrong.length === 0, String(wrong.length));
  },

  async 'J12: what cannot be sent'(t, { server }) {
    const { ws, client } = await pair(t, server);
    const evil = Object.defineProperty({}, 'length', { get: () => { throw new Error('from a getter'); } });
    for (const data of [{}, Symbol('s'), 10n, () => {}, evil]) t.throws(() => ws.send(data), undefined, typeof data);
    for (const args of [['x'], [999], [1000, 'x'.repeat(124)]]) t.throws(() => ws.close(...args), undefined, String(args));
    t.throws(() => ws.ping('x'.repeat(126)), { instanceOf: RangeError });
    ws.send(new Float32Array([1]));
    ws.send(null);
    ws.send(5);
    const [float, none, number] = await nextEvents(client, 'message', 3);
    t.deepEqual([float[0].length, ...texts([none, number])], [4, '', '5']);
  },

  async 'J13: strings of every kind'(t, { server }) {
    const { ws, client } = await pair(t, server);
    const rope = Array.from({ length: 1000 }, (_, i) => `é${i}`).reduce((all, one) => all + one);
    const strings = ['\ud800', 'a\udc00b', rope, rope.slice(100, 2000), '𝒳'.repeat(MIB)];
    const received = nextEvents(client, 'message', strings.length);
    for (const one of strings) ws.send(one);
    t.deepEqual(texts(await received), strings.map((one) => one.toWellFormed()));
  },

  async 'J16: emit is replaced'(t, { server }) {
    const { ws, client } = await pair(t, server);
    const seen = [];
    const { emit } = ws;
    ws.emit = function (type, ...args) {
      seen.push(type);
      return emit.call(this, type, ...args);
    };
    const message = once(ws, 'message');
    client.send('x');
    await message;
    delete ws.emit;
    Object.freeze(emit);
    const closed = once(ws, 'close');
    client.close();
    await closed;
    t.deepEqual(seen.filter((type) => type === 'message'), ['message']);
  },

  async 'J20: contexts of handlers do not mix'(t, { server }) {
    const context = new AsyncLocalStorage();
    const all = [];
    for (let i = 0; i < 10; i++) {
      const { ws, client } = await pair(t, server);
      ws.on('message', (data) => context.run(`${i} ${data}`, async () => {
        await turn();
        ws.send(context.getStore(), () => all.push(context.getStore()));
      }));
      client.on('message', (data) => t.is(String(data).split(' ')[0], String(i)));
      const answers = nextEvents(client, 'message', 20);
      for (let n = 0; n < 20; n++) client.send(String(n));
      t.deepEqual(texts(await answers).sort(), Array.from({ length: 20 }, (_, n) => `${i} ${n}`).sort());
    }
    t.is(context.getStore(), undefined);
  },
});

onEveryWay(ownSerial, {
  async 'J05: terminate() of itself, with messages behind'(t, at) {
    const { ws, raw } = await openedPair(t, at);
    const seen = [];
    ws.on('message', (data) => {
      seen.push(String(data));
      ws.terminate();
    });
    const closed = once(ws, 'close');
    await raw.send(Buffer.concat(Array.from({ length: 100 }, (_, i) => frame(1, String(i)))));
    t.is((await closed)[0], 1006);
    t.deepEqual(seen, ['0']);
  },

  async 'J09: a payload changes behind send()'(t, { server }) {
    await behindSend(t, server, (bytes) => bytes.fill(0));
  },

  async 'J10: a payload is detached, shrunk, shared behind send()'(t, { server }) {
    await behindSend(t, server, ({ buffer }) => structuredClone(buffer, { transfer: [buffer] }));
    const shrinking = (size) => new ArrayBuffer(size, { maxByteLength: size });
    await behindSend(t, server, ({ buffer }) => buffer.resize?.(1), shrinking);
    await behindSend(t, server, (bytes) => bytes.fill(0), (size) => new SharedArrayBuffer(size));
  },
});

onEveryWay(ownOnLinuxSerial, {
  async 'J19: a child process inherits no socket'(t, { server }) {
    await pair(t, server);
    const list = execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
    t.deepEqual(list.split('\n').filter((line) => / ([3-9]|\d\d+) -> (socket|anon_inode)/.test(line)), []);
  },
});

/** Does something to payloads right after they are sent: they arrive as they were. */
async function behindSend(t, server, act, memory = (size) => new ArrayBuffer(size)) {
  const { ws, client } = await pair(t, server);
  const sizes = [10, 3000, 5000, 200_000];
  const received = nextEvents(client, 'message', sizes.length);
  for (const size of sizes) {
    const bytes = new Uint8Array(memory(size)).fill(97);
    ws.send(bytes);
    act(bytes);
  }
  for (const [i, [data]] of (await received).entries()) t.true(data.equals(Buffer.alloc(sizes[i], 'a')), String(sizes[i]));
}

function abuse(data, way) {
  data.fill(0xee);
  // What Node has read is Node's memory, also for ws: without it reading throws.
  if (way === 'stream' || isReference) return;
  try {
    structuredClone(data.buffer, { transfer: [data.buffer] });
  } catch {
    // Later versions of Node throw.
  }
}

for (const way of Object.keys(WAYS)) {
  for (const [row, title, fault, printed] of [
    ['J02', 'a handler throws', frame(1, 'throw'), ['uncaughtException thrown on purpose']],
    ['J03', 'a handler rejects', frame(1, 'reject'), ['unhandledRejection rejected on purpose']],
    ['J04', "no 'error' listener", frame(3), ['uncaughtException Invalid WebSocket frame: invalid opcode 3']],
  ]) {
    ownSerial(`${row} ${way}: ${title}`, async (t) => {
      const child = new Child(t, 'faulty.mjs', [way], { stdio: ['pipe', 'pipe', 'pipe'] });
      const port = Number(await child.line(0));
      const isAlive = await canary(t, port);
      const raw = await RawClient.connect(t, port);
      const all = [upgradeRequest(), frame(1, 'before'), fault, frame(1, 'behind')];
      await raw.send(Buffer.concat(all.map((one) => Buffer.from(one))));
      await raw.until((text) => text.endsWith(row === 'J04' ? '\x88\x02\x03\xea' : '\x81\x06behind'));
      await isAlive();
      raw.end();
      child.process.stdin.end();
      const { code, stdout, stderr } = await child.ended();
      t.deepEqual({ code, stderr, printed: stdout.trim().split('\n').slice(1) }, { code: 0, stderr: '', printed });
    });
  }

  ownSerial(`J14 R08 ${way}: connections to which nothing refers, and that leave nothing`, async (t) => {
    const child = new Child(t, 'mortal.mjs', [way], { nodeArgs: ['--expose-gc'], stdio: ['pipe', 'pipe', 'pipe'] });
    const port = Number(await child.line(0));
    const isAlive = await canary(t, port);
    const raws = await Promise.all(Array.from({ length: 10 }, () => RawClient.connect(t, port)));
    for (const raw of raws) await raw.send(upgradeRequest());
    for (const raw of raws) await raw.until((text) => text.includes('\r\n\r\n'));
    let line = 0;
    const report = async () => {
      child.process.stdin.write('\n');
      return JSON.parse(await child.line(++line));
    };
    const { files, ...found } = await report();
    t.deepEqual(found, { alive: 11, clients: 11 });
    for (const raw of raws) await raw.send(frame(2, 'still here'));
    for (const raw of raws) await raw.until((text) => text.endsWith('still here'));
    // As it should be, without a close frame, by a reset, by the server, and by a broken rule.
    const ends = [(raw) => raw.send(frame(8)), (raw) => raw.end(), (raw) => raw.reset(), (raw) => raw.send(frame(1, 'terminate')), (raw) => raw.send(frame(3))];
    raws.forEach((raw, n) => ends[n % ends.length](raw));
    let left;
    do left = await report();
    while (left.clients > 1 || left.alive > 1 || (files > 0 && left.files > files - raws.length));
    await isAlive();
    child.process.stdin.end();
    t.like(await child.ended(), { code: 0, stderr: '' });
  });

  ownSerial(`J15 ${way}: a polluted prototype`, async (t) => {
    const child = new Child(t, 'polluted.mjs', ['after', way]);
    const port = Number(await child.line(0));
    const isAlive = await canary(t, port);
    const raw = await RawClient.connect(t, port);
    await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(2, 'binary', false), frame(0, 'binary'), frame(1, 'text')]));
    t.true((await raw.until((text) => text.endsWith('text'))).endsWith('\x82\x0cbinarybinary\x81\x04text'));
    await isAlive();
    raw.reset();
  });
}
