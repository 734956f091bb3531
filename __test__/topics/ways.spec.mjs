// Topics with members on the port and over streams: the reactor of the streams hears of a topic later.
import { once } from 'node:events';
import https from 'node:https';

import { Child, MEASURED, TOPIC_WAYS, cert, heardBy, join, key, listenFree, test, visitor } from '../helpers/index.mjs';

/** Bytes that are kept by the child, and the most that all of its reactors may take for them. */
const KEPT = 20 << 20;
const MOST = 1.25 * KEPT;

/** A server with a port of its own, and one with TLS whose upgrades are for the same. */
async function startBoth(t, options) {
  const server = await TOPIC_WAYS.port(t, options);
  const secure = https.createServer({ cert, key }).on('upgrade', (request, socket, head) => {
    server.handleUpgrade(request, socket, head, (ws) => server.emit('connection', ws, request));
  });
  await listenFree(t, secure);
  const joinSecurely = async () => {
    const client = visitor(t, `wss://localhost:${secure.address().port}`, { ca: cert, lookup: undefined });
    const heard = [];
    client.on('message', (data) => heard.push(String(data)));
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    return { ws, client, heard };
  };
  return { server, join: { port: () => join(t, server), stream: joinSecurely } };
}

const subscribe = (one, topic, options) => new Promise((resolve) => one.ws.subscribe(topic, options, resolve));

for (const history of [0, 10]) {
  for (const first of ['port', 'stream', 'both']) {
    for (const isOpen of [false, true]) {
      const when = isOpen ? 'before' : 'after';
      test(`history ${history}, first from ${first}: a stream that opens ${when} the first messages`, async (t) => {
        const { server, join } = await startBoth(t, { topicOptions: () => ({ history, slow: 'drop' }) });
        const early = isOpen ? await join.stream() : null;
        const members = [];
        if (first !== 'stream') members.push(await join.port());
        if (first !== 'port') members.push(await join.stream());
        for (const one of members) await subscribe(one, 'room', {});
        for (let n = 1; n <= 5; n++) server.publish('room', String(n));
        t.is(server.publish('room', '6'), members.length);

        const late = early ?? (await join.stream());
        const told = subscribe(late, 'room', { since: 'oldest' });
        // In the same turn: after all that it has asked for.
        server.publish('room', '7');
        t.like(await told, history === 0 ? { recovered: false, replayed: 0 } : { recovered: true, replayed: 6 });
        const again = await join.port();
        await subscribe(again, 'room', { since: 'oldest' });
        t.is(server.publish('room', '8', { except: late.ws }), members.length + 1);
        const all = ['1', '2', '3', '4', '5', '6', '7', '8'];
        const [byLate, byAgain, ...byMembers] = await heardBy(late, again, ...members);
        t.deepEqual(byLate, history === 0 ? ['7'] : all.slice(0, 7));
        t.deepEqual(byAgain, history === 0 ? ['8'] : all);
        for (const heard of byMembers) t.deepEqual(heard, all);
      });
    }
  }
}

test('a topic that has ended leaves nothing to the next one', async (t) => {
  const limits = { drop: 'drop', latest: 'latest', queue: 'queue' };
  const { server, join } = await startBoth(t, { topicOptions: (name) => ({ slow: limits[name.split(' ')[0]] }) });
  const [port, stream] = [await join.port(), await join.stream()];
  const expected = [];
  for (let round = 0; round < 20; round++) {
    for (const slow of Object.keys(limits)) {
      const name = `${slow} ${round}`;
      const members = round % 2 === 0 ? [port, stream] : [port];
      for (const one of members) await subscribe(one, name, {});
      t.is(server.publish(name, name), members.length);
      for (const one of members) one.ws.unsubscribe(name);
      t.is(server.publish(name, 'to nobody'), 0);
      expected.push(name);
    }
  }
  const [byPort, byStream] = await heardBy(port, stream);
  t.deepEqual(byPort, expected);
  t.deepEqual(byStream, expected.filter((name) => name.split(' ')[1] % 2 === 0));
});

for (const reactors of [0, 1, 3]) {
  test(`reactors: ${reactors}: a history is in memory once`, async (t) => {
    const env = { ...MEASURED.env, REACTOR_WS_REACTORS: reactors };
    const child = new Child(t, 'remembering.mjs', [reactors, KEPT], { ...MEASURED, env });
    const grown = Number(await child.line());
    t.log(`${grown} bytes`);
    t.true(grown <= MOST, `${grown}`);
  });
}
