// reactor-ws/client against a server of this package, and against one that says what the test wants.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import test from 'ava';
import { WebSocketServer as Puppet, WebSocket as Socket } from 'ws';

import { TopicsClient } from '../../lib/client.mjs';
import { ownOnly, startServer } from '../helpers/index.mjs';
import { SOCKETS, addressOf, diary, event, openClient } from '../helpers/topics-clients.mjs';

const MOST_BYTES = 3072;
const FILE = fileURLToPath(new URL('../../lib/client.mjs', import.meta.url));

const keeping = (topic) => ({ history: topic === 'plain' ? 0 : 100 });

async function serve(t, given = {}, options = {}) {
  const server = await startServer(t, { topicOptions: keeping, ...options });
  server.topicsProtocol({ authorize: () => true, ...given });
  return server;
}

/** A server that answers nothing by itself: `next()` is the next connection, with the messages that it has `heard`. */
async function puppet(t) {
  const server = new Puppet({ port: 0, host: '127.0.0.1' });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  const next = async () => {
    const [socket] = await once(server, 'connection');
    const heard = [];
    socket.on('message', (data) => heard.push(JSON.parse(data)));
    const until = async (count) => {
      while (heard.length < count) await once(socket, 'message');
      return heard;
    };
    const tell = (...messages) => messages.forEach((one) => socket.send(typeof one === 'string' ? one : JSON.stringify(one)));
    return { heard, socket, tell, until };
  };
  return { next, url: addressOf(server) };
}

const at = (offset, epoch = 'e') => ({ epoch, offset });
const framed = (topic, { epoch, offset }, text, ...author) => `${JSON.stringify([topic, epoch, offset, ...author])}\n${text}`;

/** A client of a puppet that is in topic `a` at position 5. */
async function enter(t, options) {
  const { next, url } = await puppet(t);
  const connected = next();
  const client = openClient(t, url, options);
  const heard = [];
  client.subscribe('a', (data, { position }) => heard.push([data, position?.offset ?? null]));
  const events = diary(client);
  const peer = await connected;
  t.deepEqual(await peer.until(1), [{ subscribe: 'a' }]);
  peer.tell({ subscribed: 'a', position: at(5), recovered: false });
  await event(client, 'subscribed');
  events.length = 0;
  /** The client has heard all that it was told. */
  let settled = 0;
  const settle = async (one = peer) => {
    const data = `${++settled}`;
    const answered = client.publish('settle', data);
    const isAsked = (said) => said?.publish === 'settle' && said.data === data;
    while (!isAsked(one.heard.at(-1))) await once(one.socket, 'message');
    one.tell({ published: one.heard.at(-1).number, position: null });
    await answered;
  };
  return { client, events, heard, next, peer, settle };
}

test('it has at most 3 kB, and needs nothing', (t) => {
  const source = readFileSync(FILE);
  const bytes = gzipSync(source, { level: 9 }).length;
  t.true(bytes <= MOST_BYTES, `${bytes} bytes`);
  t.notRegex(source.toString(), /\bimport\b(?! =)|\brequire\(|\bprocess\b|\bBuffer\b/);
});

for (const [name, WebSocket] of Object.entries(SOCKETS)) {
  ownOnly(`${name}: messages, answers, and those of the time away`, async (t) => {
    const server = await serve(t, { authorize: (_, action, topic) => topic !== 'no' });
    const client = openClient(t, addressOf(server), { WebSocket });
    const events = diary(client);
    const heard = [];
    for (const topic of ['a', 'plain', 'no']) client.subscribe(topic, (data, message) => heard.push([data, message]));
    t.false(client.isOpen);
    await t.throwsAsync(client.publish('no', 'x'), { message: 'Refused: forbidden' });
    t.true(client.isOpen);
    const { epoch } = await client.publish('a', 'one');
    t.is(await client.publish('plain', 'two'), null);
    server.publish('a', 'three');
    while (heard.length < 3) await turn();
    const heardAt = (offset) => ({ topic: 'a', position: { epoch, offset } });
    t.deepEqual(heard.splice(0), [['one', heardAt(1)], ['two', { topic: 'plain', position: null }], ['three', heardAt(2)]]);
    t.deepEqual(events.filter(({ type }) => type === 'refused').map(({ reason, topic }) => [topic, reason]), [['no', 'forbidden']]);
    t.deepEqual([client.position('a'), client.position('plain'), client.position('never')], [{ epoch, offset: 2 }, null, null]);
    events.length = 0;
    for (const ws of server.clients) ws.terminate();
    server.publish('a', 'four');
    server.publish('plain', 'lost');
    const said = client.publish('a', 'five');
    t.deepEqual(await said, { epoch, offset: 4 });
    while (heard.length < 2 || !events.some(({ type }) => type === 'gap')) await turn();
    t.deepEqual(heard, [['four', heardAt(3)], ['five', heardAt(4)]]);
    t.deepEqual(events.filter(({ type }) => type === 'gap').map(({ from, to, topic }) => [topic, from, to]), [['plain', null, null]]);
    const closed = event(client, 'close');
    client.close();
    t.deepEqual((({ code, delay }) => [code, delay])(await closed), [1000, null]);
    await t.throwsAsync(client.publish('a', 'x'), { message: 'The client is closed' });
    server.publish('a', 'six');
    client.connect();
    while (heard.length < 3) await turn();
    t.deepEqual(heard.at(-1), ['six', heardAt(5)]);
  });
}

ownOnly('presence: all that is there first, also after a reconnect, then what changes', async (t) => {
  const server = await serve(t, {}, { presenceInterval: 0, presenceGrace: 0 });
  server.on('connection', (ws) => {
    server.presence('room').watch(ws);
    ws.enter('room', { key: 'page', meta: 1 });
  });
  const client = openClient(t, addressOf(server));
  const told = [];
  client.addEventListener('presence', ({ detail: { count, joins, leaves, state }, topic }) => told.push([topic, state ?? joins, leaves, count]));
  for (let n = 0; n < 3; n++) {
    while (told.length < 2) await turn();
    t.deepEqual(told.splice(0), [['room', {}, undefined, 0], ['room', { page: [1] }, [], 1]]);
    for (const ws of server.clients) ws.terminate();
  }
});

ownOnly('from a position, or from the oldest message', async (t) => {
  const server = await serve(t, {}, { topicOptions: () => ({ history: 100, slow: 'catch-up', limit: 4096 }) });
  for (let n = 1; n <= 50; n++) server.publish('a', `${n}`);
  const listen = (options) => {
    const client = openClient(t, addressOf(server));
    const heard = [];
    client.subscribe('a', (data) => heard.push(Number(data)), options);
    return { client, events: diary(client), heard };
  };
  const [oldest, live] = [listen({ since: 'oldest' }), listen({ since: null })];
  while (live.events.length < 2 || oldest.heard.length < 50) await turn();
  const position = oldest.client.position('a');
  t.deepEqual([position.offset, live.client.position('a')], [50, position]);
  const some = listen({ since: { ...position, offset: 40 } });
  const lost = listen({ since: { epoch: 'another', offset: 40 } });
  while (some.heard.length < 10 || lost.events.length < 3) await turn();
  server.publish('a', '51');
  while ([oldest, live, some, lost].some(({ heard }) => heard.at(-1) !== 51)) await turn();
  t.deepEqual([oldest, live, some, lost].map(({ heard }) => [heard[0], heard.length]), [[1, 51], [51, 1], [41, 11], [51, 1]]);
  t.deepEqual(lost.events.filter(({ type }) => type === 'gap').map(({ from, to }) => [from, to]), [[null, position]]);
});

ownOnly('what an earlier subscription has left behind is not heard', async (t) => {
  const server = await serve(t);
  const client = openClient(t, addressOf(server));
  const events = diary(client);
  await event(client, 'open');
  const heard = [];
  for (let round = 0; round < 50; round++) {
    const listener = (data) => heard.push([round, data]);
    client.subscribe('a', listener);
    server.publish('a', `before ${round}`);
    client.unsubscribe('a');
    client.subscribe('a', listener);
    await event(client, 'subscribed');
    server.publish('a', `after ${round}`);
    await client.publish('a', `own ${round}`);
    client.unsubscribe('a');
    await client.publish('a', `nobody's ${round}`);
  }
  const wanted = Array.from({ length: 50 }, (_, round) => [[round, `after ${round}`], [round, `own ${round}`]]).flat();
  t.deepEqual(heard, wanted);
  t.deepEqual(events.filter(({ type }) => type === 'gap'), []);
});

test('gaps: in the order of messages, each once', async (t) => {
  const { events, heard, peer, settle } = await enter(t);
  peer.tell(framed('a', at(6), 'x'), framed('a', at(6), 'again'), framed('a', at(2), 'old'));
  // Message 9 shows that 7 and 8 are missing before the server reports it.
  peer.tell(framed('a', at(9), 'y'), { gap: 'a', from: at(7), to: at(8) });
  // Nothing follows yet.
  peer.tell({ gap: 'a', from: at(10), to: at(12) }, framed('a', at(13), 'z'));
  // The history was lost; its messages count from anywhere.
  peer.tell(framed('a', at(3, 'f'), 'new'), { gap: 'a', from: null, to: at(2, 'f') });
  peer.tell({ gap: 'a', from: null, to: at(1, 'g') }, framed('a', at(2, 'g'), 'newer'));
  await settle();
  t.deepEqual(heard.map(([data]) => data), ['x', 'y', 'z', 'new', 'newer']);
  t.deepEqual(events.map(({ from, to }) => [from, to]), [
    [at(7), at(8)],
    [at(10), at(12)],
    [null, at(2, 'f')],
    [null, at(1, 'g')],
  ]);
});

test('gaps after a reconnect: told by a message or by the answer, whichever comes first', async (t) => {
  for (const [messages, from, to] of [
    [[{ subscribed: 'a', position: at(9), recovered: false }], at(6), at(9)],
    [[framed('a', at(10), 'x'), { subscribed: 'a', position: at(9), recovered: false }], at(6), at(9)],
    [[{ subscribed: 'a', position: at(2, 'f'), recovered: false }], null, at(2, 'f')],
    [[framed('a', at(3, 'f'), 'x'), { subscribed: 'a', position: at(2, 'f'), recovered: false }], null, at(2, 'f')],
    // The broker does not answer: gaps are reported when it does.
    [[{ subscribed: 'a', position: null, recovered: false }, { gap: 'a', from: null, to: at(8) }], at(6), at(8)],
    [[framed('a', at(6), 'x'), { subscribed: 'a', position: at(6), recovered: true }], undefined],
    // After a broker's absence: the same history under another epoch, or another history with the same last offset.
    [[framed('a', at(6, 'f'), 'x'), { subscribed: 'a', position: at(6, 'f'), recovered: true }], undefined],
    [[framed('a', at(6, 'f'), 'x'), framed('a', at(7, 'f'), 'x'), { subscribed: 'a', position: at(5, 'f'), recovered: false }, { gap: 'a', from: null, to: at(5, 'f') }], null, at(5, 'f')],
    // The answer overtakes the messages to a slow subscriber.
    [[{ subscribed: 'a', position: at(7), recovered: true }, framed('a', at(6), 'x'), framed('a', at(7), 'x')], undefined],
  ]) {
    const { events, next, peer, settle } = await enter(t);
    const again = next();
    peer.socket.terminate();
    const second = await again;
    t.deepEqual(await second.until(1), [{ subscribe: 'a', since: at(5) }]);
    second.tell(...messages);
    await settle(second);
    const gaps = events.filter(({ type }) => type === 'gap').map((one) => [one.from, one.to]);
    t.deepEqual(gaps, from === undefined ? [] : [[from, to]], JSON.stringify(messages));
  }
});

test('a topic that has no positions any more has gaps that nobody can count', async (t) => {
  const { events, heard, peer, settle } = await enter(t);
  peer.tell(framed('a', { epoch: null, offset: 0 }, 'x'), framed('a', { epoch: null, offset: 0 }, 'y'), { gap: 'a', from: null, to: null });
  peer.tell(framed('a', at(70, 'g'), 'z'), framed('a', at(71, 'g'), 'z'));
  await settle();
  t.deepEqual(events.map(({ from, to }) => [from, to]), [[null, null], [null, null]]);
  t.deepEqual(heard, [['x', null], ['y', null], ['z', 70], ['z', 71]]);
});

test('copies are known by their publisher; a thousand publishers are remembered', async (t) => {
  const { heard, peer, settle } = await enter(t);
  let offset = 5;
  const tell = (author, number) => peer.tell(framed('a', at(++offset), `${author} ${number}`, author, number));
  for (const [author, number] of [['p', 1], ['q', 1], ['p', 2], ['p', 1], ['p', 2], ['p', 3]]) tell(author, number);
  await settle();
  t.deepEqual(heard.splice(0).map(([data]) => data), ['p 1', 'q 1', 'p 2', 'p 3']);
  // With `q`, which has spoken last of the two.
  tell('q', 2);
  for (let n = 0; n < 999; n++) tell(`r${n}`, 1);
  tell('q', 2);
  tell('p', 3);
  await settle();
  t.deepEqual(heard.map(([data]) => data).slice(-2), ['r998 1', 'p 3']);
});

test('what is no message of the protocol is ignored', async (t) => {
  const { events, heard, peer, settle } = await enter(t);
  peer.tell('', 'text', '[', '[1', '[]', '[1]\nx', 'null', '1', '"a"', '{}', '{"subscribed":1}', '["b","e",1]\nx', '{"unsubscribed":"a"}', '{"published":99}');
  peer.socket.send(Buffer.from([1, 2]));
  await settle();
  t.deepEqual([events, heard], [[], []]);
});

test('a publish is said again until it is answered; more than the bound are rejected', async (t) => {
  const { client, next, peer } = await enter(t, { maxUnanswered: 2 });
  const [one, two] = [client.publish('b', 'x'), client.publish('b', 'y')];
  await t.throwsAsync(client.publish('b', 'z'), { message: 'Too many messages are not answered' });
  const [, first, second] = await peer.until(3);
  t.deepEqual([first, second].map(({ data, number, publish }) => [publish, data, number]), [['b', 'x', 1], ['b', 'y', 2]]);
  t.is(first.client, second.client);
  peer.tell({ published: 1, position: at(8) });
  t.deepEqual(await one, at(8));
  const again = next();
  peer.socket.terminate();
  const other = await again;
  t.deepEqual(await other.until(2), [{ subscribe: 'a', since: at(5) }, second]);
  other.tell({ refused: 2, reason: 'busy' });
  await t.throwsAsync(two, { message: 'Refused: busy' });
  const three = client.publish('b', 'z');
  other.socket.close(4001, 'who are you?');
  await t.throwsAsync(three, { message: 'The connection is closed: 4001 who are you?' });
});

test('how long it waits: codes, and what the server has said', async (t) => {
  const { next, url } = await puppet(t);
  const [minDelay, maxDelay] = [8, 60];
  const ends = [
    [({ socket }) => socket.terminate(), 0, 8],
    [({ socket }) => socket.close(1001), 0, 16],
    [({ socket }) => socket.close(), 0, 32],
    [({ socket }) => socket.close(1011), 0, 60],
    [({ socket }) => socket.close(3000), 0, 60],
    [({ socket }) => socket.close(1012), 10, 60],
    [({ socket }) => socket.close(1013), 60, 120],
    [({ socket }) => socket.close(1013, 'Retry-After: 0'), 0, 60],
    [({ socket }) => socket.close(1012, 'retry-after=2'), 2000, 2560],
    [({ socket }) => socket.close(1001, 'busy; retry-after 99999999999'), 86_400_000, 108_000_060],
    [({ socket, tell }) => [tell({ retryAfter: 3 }), socket.close(1012, 'Retry-After: 1')], 3000, 3810],
    [({ socket, tell }) => [tell({ retryAfter: 0 }), socket.close(1013)], 0, 60],
    // Messages of an earlier connection count no more.
    [({ socket }) => socket.close(1013), 60, 120],
  ];
  const connected = next();
  const client = openClient(t, url, { minDelay, maxDelay });
  let peer = await connected;
  for (const [end, least, most] of ends) {
    const closed = event(client, 'close');
    end(peer);
    const { delay } = await closed;
    t.true(delay >= least && delay <= most, `${end}: ${delay}`);
    const again = next();
    client.connect();
    peer = await again;
    while (!client.isOpen) await turn();
  }
  for (const code of [1000, 1002, 1003, 1007, 1008, 1009, 1010, 4000, 4999]) {
    const closed = event(client, 'close');
    peer.socket.close(code, 'for good');
    const found = await closed;
    t.deepEqual([found.code, found.reason, found.delay], [code, 'for good', null]);
    const again = next();
    client.connect();
    client.connect();
    peer = await again;
    while (!client.isOpen) await turn();
  }
});

test('the wait grows while connections do not last', async (t) => {
  const { next, url } = await puppet(t);
  const client = openClient(t, url, { minDelay: 1, maxDelay: 1e6 });
  const delays = [];
  for (let count = 0; count < 12; count++) {
    const { socket } = await next();
    const closed = event(client, 'close');
    socket.terminate();
    delays.push((await closed).delay);
    client.connect();
  }
  for (const [index, delay] of delays.entries()) t.true(delay <= 2 ** index, `${delays}`);
  t.true(Math.max(...delays) > 1, `${delays}`);
});

test('an attempt that fails makes the wait longer, however long ago the last connection was', async (t) => {
  const { next, url } = await puppet(t);
  let address = url;
  const connected = next();
  const client = openClient(t, () => address, { minDelay: 0.001, maxDelay: 1e6 });
  const { socket } = await connected;
  while (!client.isOpen) await turn();
  await sleep(20);
  address = 'ws://127.0.0.1:1';
  socket.terminate();
  const delays = [];
  // Each time with one more doubling, at most so many milliseconds; a connection that has lasted counts from anew.
  for (let count = 0; count < 20; count++) {
    delays.push((await event(client, 'close')).delay);
    client.connect();
  }
  for (const [index, delay] of delays.entries()) t.true(delay <= 0.001 * 2 ** index, `${delays}`);
  t.true(Math.max(...delays.slice(10)) > 0.001 * 2 ** 6, `${delays}`);
});

test('an address may be a function, which may fail', async (t) => {
  const { next, url } = await puppet(t);
  let calls = 0;
  const client = openClient(t, () => {
    calls++;
    if (calls === 1) throw new Error('no token');
    if (calls === 2) return Promise.reject(new Error('no network'));
    return calls === 3 ? 'not a URL' : new URL(`${url}/?call=${calls}`);
  });
  const reasons = [];
  client.addEventListener('close', ({ reason }) => reasons.push(reason));
  await next();
  t.is(calls, 4);
  t.deepEqual(reasons.slice(0, 2), ['Error: no token', 'Error: no network']);
  t.regex(reasons[2], /^SyntaxError/);
  t.throws(() => new TopicsClient('not a URL', { WebSocket: SOCKETS.ws }), { name: 'SyntaxError' });
  // undefined stands for the default.
  const plain = new TopicsClient('ws://127.0.0.1:1', { WebSocket: SOCKETS.ws, minDelay: undefined, maxDelay: undefined });
  t.teardown(() => plain.close());
  t.true((await event(plain, 'close')).delay <= 500);
  // Closed while it waits for the address.
  const late = openClient(t, () => sleep(1).then(() => url));
  late.close();
  await sleep(20);
  t.false(late.isOpen);
});

test('a server that does not answer is left', async (t) => {
  const { next, url } = await puppet(t);
  const asked = [];
  const client = openClient(t, url, { pingInterval: 50 });
  const ends = [];
  client.addEventListener('close', ({ code, reason }) => ends.push([code, reason]));
  // On a busy machine it may leave before it has a connection.
  while (asked.length === 0) {
    const { heard, socket } = await next();
    await once(socket, 'close');
    asked.push(...heard);
  }
  t.deepEqual([asked[0], ends[0]], [{ ping: true }, [1006, 'no answer']]);
  let answered = 0;
  while (answered < 5) {
    const { socket, tell } = await next();
    socket.on('message', () => tell({ pong: true }, answered++));
    answered = 0;
    while (answered < 5 && socket.readyState === socket.OPEN) await sleep(5);
  }
  t.pass();
});

test('what a server says of presence is a detail, whatever it is', async (t) => {
  const { client, heard, peer, settle } = await enter(t);
  const details = [];
  client.addEventListener('presence', ({ detail, topic, type }) => details.push([type, topic, detail]));
  const odd = { presence: 'a', type: 1, target: 2, isTrusted: 3, bubbles: 4, __proto__: { count: 5 } };
  peer.tell(odd, { presence: 'a', count: 1 });
  await settle();
  t.deepEqual(details.map(([type, topic]) => [type, topic]), [['presence', 'a'], ['presence', 'a']]);
  t.deepEqual(details.map(([, , detail]) => detail.type ?? detail.count), [1, 1]);
  t.deepEqual(heard, []);
});

test('close() with a code that the socket refuses throws, and nothing has changed', async (t) => {
  // A browser's socket refuses this code.
  class Strict extends Socket {
    close(code, reason) {
      if (code === 1001) throw new RangeError('1000, or 3000 to 4999');
      super.close(code, reason);
    }
  }
  const { client, heard, peer } = await enter(t, { WebSocket: Strict });
  t.throws(() => client.close(1001), { instanceOf: RangeError });
  t.true(client.isOpen);
  peer.tell(framed('a', at(6), 'still here'));
  while (heard.length === 0) await turn();
  t.deepEqual(heard, [['still here', 6]]);
});
