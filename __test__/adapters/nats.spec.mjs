// NATS between the nodes.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from 'ava';

import conformance from '../../lib/adapters/adapter-test.js';
import nats from '../../lib/adapters/nats.js';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { NatsServer, hasNats } from '../helpers/nats.mjs';

const when = hasNats ? test.serial : test.skip;

for (const [index, { name }] of conformance.adapterTests(() => null).entries()) {
  when(name, async (t) => {
    const server = await NatsServer.start(t);
    const connection = await server.connect(t);
    await conformance.adapterTests(() => nats.natsAdapter({ connection }))[index].run();
    t.pass();
  });
}

for (const how of ['is killed, and started again', 'is paused']) {
  when(`what is lost is a gap, and nothing comes twice, when NATS ${how}`, async (t) => {
    const server = await NatsServer.start(t);
    const nodes = [];
    for (let n = 0; n < 2; n++) {
      const connection = await server.connect(t);
      nodes.push(await openNode(t, nats.natsAdapter({ connection })));
    }
    const [a, b] = nodes;
    const [member] = b.members;
    for (const { members } of nodes) await subscribe(members[0].ws, 'topic');
    const gap = once(member.ws, 'gap');
    let n = 0;
    const timer = setInterval(() => a.server.publish('topic', String(n++)), 1);
    t.teardown(() => clearInterval(timer));
    await hears(member, '20');
    if (how === 'is paused') {
      server.signal('SIGSTOP');
      const end = n + 200;
      while (n < end) await new Promise(setImmediate);
      t.is(a.server.metrics().adapter.state, 'connected', 'not long enough to be noticed');
      server.signal('SIGCONT');
    } else {
      await server.kill();
      await server.run();
      t.deepEqual(await gap, ['topic', null, null]);
      // Until then the client loses its messages.
      while (a.server.metrics().adapter.state !== 'connected') await once(a.server, 'adapter');
    }
    await hears(member, String(n + 20));
    clearInterval(timer);
    a.server.publish('topic', 'end');
    await Promise.all([hears(member, 'end'), hears(a.members[0], 'end')]);
    const numbers = member.heard.slice(0, -1).map(Number);
    t.deepEqual(numbers, [...new Set(numbers)].sort((one, other) => one - other), 'in order, and nothing twice');
    if (how === 'is paused') t.is(numbers.length, n);
    t.deepEqual(a.members[0].heard.slice(0, -1).map(Number), Array.from({ length: n }, (_, index) => index), 'local subscribers get all');
  });
}

when('a subject that NATS denies is no subscription, and others of the same call are', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rws-nats-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'nats.conf');
  writeFileSync(config, 'authorization { users = [{ user: a, password: a, permissions: { subscribe: { deny: "reactor-ws.t.denied" }, publish: { deny: "reactor-ws.t.mute" } } }] }');
  const server = await NatsServer.start(t, '-c', config);
  const user = { user: 'a', pass: 'a' };
  const [a, b] = await Promise.all([0, 1].map(async () => openNode(t, nats.natsAdapter({ connection: await server.connect(t, user) }), 1)));
  const [{ ws }] = b.members;
  const failed = Promise.all([a, b].map(async (node) => (await once(node.server, 'adapter'))[0]));
  let isOn = false;
  ws.subscribe('denied', () => (isOn = true));
  await Promise.all(['mute', 'open'].map((topic) => subscribe(ws, topic)));
  t.deepEqual([isOn, b.server._topics.clusterNode.subscriptionSync.isActive('denied')], [false, false]);
  a.server.publish('open', 'open');
  await hears(b.members[0], 'open');
  a.server.publish('mute', 'nothing');
  t.is((await failed)[0].error.operation, 'publish');
});

test('something that is no connection is a TypeError that names the method', (t) => {
  t.throws(() => nats.natsAdapter(), { instanceOf: TypeError, message: 'options.connection must be a connection of @nats-io/transport-node. Received undefined' });
  t.throws(() => nats.natsAdapter({}), { instanceOf: TypeError, message: /^options\.connection must be a connection/ });
  t.throws(() => nats.natsAdapter({ connection: { publish() {} } }), { instanceOf: TypeError, message: /^options\.connection\.subscribe must be a function/ });
  const connection = { publish() {}, subscribe() {}, flush() {}, status() {} };
  t.throws(() => nats.natsAdapter({ connection, prefix: 'a.*' }), { instanceOf: TypeError, message: /^options\.prefix must be/ });
  t.throws(() => nats.natsAdapter({ connection, prefx: 'a' }), { instanceOf: TypeError, message: /^options\.prefx is not an option/ });
});
