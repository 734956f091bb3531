// Nodes of one machine without a broker.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import net from 'node:net';

import ava from 'ava';

import conformance from '../../lib/adapters/adapter-test.js';
import cluster from '../../lib/adapters/cluster.js';
import { ACK, HELLO, LOST, READY, SUBSCRIBE, Frames, frame } from '../../lib/adapters/cluster/frames.js';

/** Windows has no sockets in the file system. */
const test = process.platform === 'win32' ? ava.skip : ava;
const name = randomBytes(6).toString('hex');

for (const { name: title, run } of conformance.adapterTests(() => cluster.clusterAdapter({ name }))) {
  test(title, async (t) => {
    await run();
    t.pass();
  });
}

/** A node of the cluster without a server. */
async function nodeOf(t, options) {
  const adapter = cluster.clusterAdapter(options);
  const node = { id: randomBytes(6).toString('hex'), heard: 0, lost: [], deliver: () => void node.heard++, report() {} };
  t.teardown(() => adapter.close());
  await adapter.start({ ...node, deliver: node.deliver, lost: (topic) => node.lost.push(topic) });
  return { adapter, node };
}

const own = () => ({ name: randomBytes(6).toString('hex') });
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('two servers that start in one tick with one adapter: the second one is refused', async (t) => {
  const adapter = cluster.clusterAdapter(own());
  t.teardown(() => adapter.close());
  const starts = await Promise.allSettled(['a', 'b'].map((digit) => adapter.start({ id: digit.repeat(12), deliver() {}, lost() {}, report() {} })));
  t.deepEqual(starts.map(({ status }) => status), ['fulfilled', 'rejected']);
});

test('a node that starts while its process stands still waits for the others all the same', async (t) => {
  const options = own();
  const { node } = await nodeOf(t, options);
  const adapter = cluster.clusterAdapter(options);
  t.teardown(() => adapter.close());
  const discover = adapter.discover.bind(adapter);
  adapter.discover = async () => {
    const links = await discover();
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500));
    return links;
  };
  await adapter.start({ id: 'f'.repeat(12), deliver() {}, lost() {}, report() {} });
  t.true(adapter.ready.has(node.id));
});

for (const limit of [0, 1000]) {
  test(`limit ${limit}: messages that do not fit are lost and told, and others come`, async (t) => {
    const options = { ...own(), limit };
    const [a, b] = [await nodeOf(t, options), await nodeOf(t, options)];
    await b.adapter.subscribe(['topic']);
    // On a busy machine, later than the adapter waits.
    await until(() => a.adapter.wanted.has('topic'));
    for (let n = 0; n < 5; n++) a.adapter.publish('topic', Buffer.alloc(500));
    await until(() => b.node.lost.length !== 0);
    const before = b.node.heard;
    a.adapter.publish('topic', Buffer.alloc(10));
    await until(() => b.node.heard === before + 1);
    t.deepEqual(b.node.lost, ['topic']);
  });
}

test('a node that stands still is waited for once, and what it may have published is told when it goes on', async (t) => {
  const { adapter, node } = await nodeOf(t, own());
  const requests = [];
  const id = 'abcdefabcdef';
  let isStill = true;
  const server = net.createServer((socket) => {
    const answer = (request) => socket.write(frame(ACK, request));
    const frames = new Frames((kind, body) => {
      if (kind !== SUBSCRIBE) return;
      if (isStill) requests.push(() => answer(body.subarray(0, 4)));
      else answer(body.subarray(0, 4));
    });
    socket.on('data', (chunk) => frames.push(chunk));
    socket.on('error', () => {});
  });
  server.listen(adapter.pathOf(id));
  t.teardown(() => server.close());
  await once(server, 'listening');
  await adapter.discover();
  await until(() => requests.length === 1);
  await adapter.subscribe(['one']);
  const begun = adapter.others.get(id).lastRequest;
  // Not after a second of its own.
  await Promise.race([adapter.subscribe(['two']), new Promise((resolve) => setImmediate(resolve)).then(() => t.is(adapter.others.get(id).lastRequest, begun + 1))]);
  t.deepEqual(node.lost, []);
  await until(() => requests.length === 3);
  isStill = false;
  for (const answer of requests) answer();
  await until(() => node.lost.length === 2);
  t.deepEqual(node.lost, ['one', 'two']);
});

test('a topic is subscribed once a node has answered to which the connection is still being made', async (t) => {
  const { adapter } = await nodeOf(t, own());
  const answers = [];
  const server = net.createServer((socket) => {
    const frames = new Frames((kind, body) => kind === SUBSCRIBE && answers.push(() => socket.write(frame(ACK, body.subarray(0, 4)))));
    socket.on('data', (chunk) => frames.push(chunk));
  });
  server.listen(adapter.pathOf('abcdefabcdef'));
  t.teardown(() => server.close());
  await once(server, 'listening');
  await adapter.discover();
  const events = [];
  const subscribed = adapter.subscribe(['topic']).then(() => events.push('subscribed'));
  await until(() => answers.length === 1);
  events.push('answered');
  for (const answer of answers) answer();
  await subscribed;
  t.deepEqual(events, ['answered', 'subscribed']);
});

for (const [what, topic, hasPublished] of [['with a topic is told of a loss', 'topic', true], ['without a topic is told of none', null, true], ['before anything was published is told of none', 'topic', false]]) {
  test(`a node that is known only after the start ${what}`, async (t) => {
    const { adapter } = await nodeOf(t, own());
    if (hasPublished) adapter.publish('topic', Buffer.from('x'));
    const socket = net.connect(adapter.pathOf(adapter.node.id));
    t.teardown(() => socket.destroy());
    const kinds = [];
    const frames = new Frames((kind) => kinds.push(kind));
    socket.on('data', (chunk) => frames.push(chunk));
    const subscribe = (name) => {
      const body = Buffer.alloc(name === null ? 4 : 12 + 2 * name.length);
      if (name !== null) body.writeUInt32LE(body.write(name, 12, 'utf16le'), 8);
      socket.write(frame(SUBSCRIBE, body));
    };
    socket.write(frame(HELLO, Buffer.from('abcdefabcdef')));
    subscribe(topic);
    socket.write(frame(READY));
    subscribe('other');
    await until(() => kinds.filter((kind) => kind === ACK).length === 2);
    t.deepEqual(kinds, topic !== null && hasPublished ? [ACK, LOST, ACK] : [ACK, ACK]);
  });
}

test('a connection that ends after the next one of the same node has come takes nothing of it away', async (t) => {
  const { adapter } = await nodeOf(t, own());
  const id = 'abcdefabcdef';
  const sockets = [0, 1].map(() => net.connect(adapter.pathOf(adapter.node.id)));
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.write(Buffer.concat([frame(HELLO, Buffer.from(id)), frame(READY)]));
    await until(() => [...adapter.incoming].filter((one) => one.id === id).length === sockets.indexOf(socket) + 1);
  }
  const before = adapter.incoming.size;
  sockets[0].destroy();
  await until(() => adapter.incoming.size === before - 1);
  t.true(adapter.ready.has(id));
  sockets[1].destroy();
});

test('names for a node that stands still have a bound, and it is told all of them when it goes on', async (t) => {
  const { adapter, node } = await nodeOf(t, own());
  const id = 'abcdefabcdef';
  const named = [];
  let first = null;
  const server = net.createServer((socket) => {
    const frames = new Frames((kind, body) => {
      if (kind === READY) socket.write(frame(LOST));
      if (kind !== SUBSCRIBE) return;
      if (socket !== first) named.push(body.length);
      socket.write(frame(ACK, body.subarray(0, 4)));
    });
    first ??= socket.pause();
    socket.on('data', (chunk) => socket === first || frames.push(chunk));
    if (socket === first) socket.pause();
    socket.on('error', () => {});
  });
  server.listen(adapter.pathOf(id));
  t.teardown(() => server.close());
  await once(server, 'listening');
  await adapter.discover();
  await until(() => !adapter.others.get(id).socket.connecting && first !== null);
  const { socket } = adapter.others.get(id);
  const pad = 'x'.repeat(2 ** 20);
  for (let n = 0; n < 40; n++) void adapter.subscribe([`${pad}${n}`]);
  const most = socket.writableLength;
  adapter.unsubscribe(Array.from({ length: 40 }, (_, n) => `${pad}${n}`));
  void adapter.subscribe(['one']);
  t.is(socket.writableLength, most);
  first.resume();
  await until(() => named.length === 1 && node.lost.length !== 0);
  t.deepEqual([named, node.lost], [[4 + 8 + 'one'.length * 2], [undefined]]);
});

test('a node whose socket is removed, or the whole folder, is found by the next one', async (t) => {
  const options = own();
  const nodes = [await nodeOf(t, options)];
  const [{ adapter }] = nodes;
  for (const gone of [adapter.pathOf(adapter.node.id), adapter.folder]) {
    rmSync(gone, { recursive: true });
    for (const one of nodes) await one.adapter.discover();
    t.true(existsSync(adapter.pathOf(adapter.node.id)));
    const next = await nodeOf(t, options);
    await next.adapter.subscribe(['topic']);
    await until(() => adapter.wanted.get('topic')?.size === nodes.length);
    t.deepEqual([...next.adapter.others.values()].map(({ isKnown }) => isKnown), nodes.map(() => true));
    nodes.push(next);
  }
});

test.serial('a node that cannot be reached for want of descriptors keeps its socket, and tells of a loss when it is reached again', async (t) => {
  const options = own();
  const [a, b] = [await nodeOf(t, options), await nodeOf(t, options)];
  const link = a.adapter.others.get(b.node.id);
  void a.adapter.subscribe(['topic']);
  b.adapter.publish('topic', Buffer.from('x'));
  await until(() => link.isKnown && b.adapter.wanted.has('topic'));
  const { now } = Date;
  t.teardown(() => (Date.now = now));
  // Removing is for sockets that have been there for a while.
  Date.now = () => now() + 60_000;
  link.socket.destroy(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
  await once(link.socket, 'close').catch(() => {});
  await until(() => a.node.lost.length !== 0);
  t.true(existsSync(a.adapter.pathOf(b.node.id)));
});
