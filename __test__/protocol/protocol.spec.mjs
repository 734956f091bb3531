// topicsProtocol(): the requests of reactor-ws/client, and the answers to a hostile client.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { ownOnly, startServer, urlOf, visitor } from '../helpers/index.mjs';
import { Broker } from '../helpers/memory-broker.mjs';

const NAME = 'topics.reactor-ws.v1';
const all = { authorize: () => true };

/** A server that speaks it, and a function that connects to it: each connection has what it `heard`. */
async function speak(t, given = {}, options = {}) {
  const server = await startServer(t, options);
  server.topicsProtocol({ ...all, ...given });
  while (options.adapter && server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
  const open = async (protocols = NAME) => {
    const client = visitor(t, urlOf(server), protocols);
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    const heard = [];
    let pings = 0;
    // A pong comes unasked while the connection is not read, which can be at any time.
    client.on('message', (data) => {
      const text = String(data);
      if (text !== '{"pong":true}') heard.push(text);
      else if (pings > 0) heard.push((pings--, text));
    });
    const say = (message) => {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      if (text.startsWith('{"ping":true')) pings++;
      client.send(text);
    };
    const until = async (count) => {
      while (heard.length < count) await once(client, 'message');
      return heard;
    };
    /** The answers to the requests: one for each. */
    const answers = async (...messages) => {
      const start = heard.length;
      for (const one of messages) say(one);
      const found = () => heard.slice(start).filter((text) => text[0] === '{').map((text) => JSON.parse(text));
      while (found().length < messages.length) await once(client, 'message');
      return found();
    };
    return { answers, client, heard, say, until, ws };
  };
  return { open, server };
}

const publish = (topic, data, number = 1, client = 'me') => ({ publish: topic, data, client, number });

ownOnly('a wrong option throws', async (t) => {
  const server = await startServer(t);
  const wrong = [
    [undefined, TypeError, 'options.authorize must be a function. Received undefined'],
    [{}, TypeError, 'options.authorize must be a function. Received undefined'],
    [{ authorize: true }, TypeError, 'options.authorize must be a function. Received true'],
    [{ ...all, maxTopic: 1 }, TypeError, 'options.maxTopic is not an option. There are: authorize, maxTopics, maxTopicLength, maxBytes'],
    ...['maxTopics', 'maxTopicLength', 'maxBytes'].flatMap((name) => [
      [{ ...all, [name]: '1' }, TypeError, `options.${name} must be a number. Received '1'`],
      [{ ...all, [name]: 0 }, RangeError, `options.${name} must be an integer from 1 to 2147483647. Received 0`],
    ]),
  ];
  for (const [options, instanceOf, message] of wrong) t.throws(() => server.topicsProtocol(options), { instanceOf, message });
  server.topicsProtocol(all);
  const message = 'topicsProtocol() must be called once, before the server has topics';
  t.throws(() => server.topicsProtocol(all), { message });
  const late = await startServer(t, { topicOptions: () => ({ history: 1 }) });
  late.publish('topic', 'text');
  t.throws(() => late.topicsProtocol(all), { message });
});

ownOnly('topics: a header, then the text', async (t) => {
  const { open, server } = await speak(t, {}, { topicOptions: (topic) => ({ history: topic === 'p' ? 0 : 9 }) });
  const { heard, say, until } = await open();
  const names = ['p', 'k', '$offset', '', 'a\n"b"', '\ud800', 'ä]'];
  for (const name of names) {
    heard.length = 0;
    say({ subscribe: name });
    const { position, recovered, subscribed } = JSON.parse((await until(1))[0]);
    t.deepEqual([subscribed, recovered], [name, false]);
    const epoch = position?.epoch ?? null;
    t.deepEqual(position, epoch && { epoch, offset: 0 });
    t.is(server.publish(name, 'line\nline'), 1);
    server.publish(name, Buffer.from('ä\n'), { binary: false });
    say(publish(name, 'mine', 7));
    await until(5);
    const framed = heard.filter((text) => text[0] === '[').map((text) => [text, text.indexOf('\n')]);
    const lines = framed.map(([text, end]) => [JSON.parse(text.slice(0, end)), text.slice(end + 1)]);
    const [author] = lines.find(([, text]) => text.includes('mine'))[0].slice(3);
    t.regex(author, /^[\w-]{16}$/);
    const wanted = [['line\nline', []], ['ä\n', []], ['mine', [author, 7]]];
    t.deepEqual(lines, wanted.map(([text, rest], index) => [[name, epoch, epoch === null ? 0 : index + 1, ...rest], text]), name);
    t.true(heard.includes(JSON.stringify({ published: 7, position: epoch && { epoch, offset: 3 } })), name);
    t.throws(() => server.publish(name, Buffer.from('bytes')), { instanceOf: TypeError, message: /^data must be text on a server with topicsProtocol\(\)\./ });
  }
});

ownOnly('what is no message of the protocol closes the connection, and no other', async (t) => {
  const { open } = await speak(t, { maxBytes: 200 });
  const good = await open();
  const position = { epoch: 'e', offset: 1 };
  const wrong = [
    ...['', 'text', '{', 'null', '1', '"subscribe"', '[]', '[{"subscribe":"a"}]', '{}', '{"ping":1}'],
    ...[{ subscribe: 1 }, { subscribe: null }, { subscribe: ['a'] }, { unsubscribe: {} }, { publish: 'a' }, { __proto__: null, toString: 'a' }],
    ...['newest', 1, true, [], {}, { epoch: 'e' }, { offset: 1 }].map((since) => ({ subscribe: 'a', since })),
    ...[{ epoch: 1 }, { offset: -1 }, { offset: 1.5 }, { offset: '1' }, { offset: 2 ** 53 }, { epoch: 'e'.repeat(65) }].map((one) => ({ subscribe: 'a', since: { ...position, ...one } })),
    ...[{ data: 1 }, { data: undefined }, { client: 1 }, { client: undefined }, { number: -1 }, { number: '1' }, { number: 0.5 }].map((one) => ({ ...publish('a', 'x'), ...one })),
    '{"__proto__":{"subscribe":"a"}}',
  ];
  for (const message of wrong) {
    const { client, say } = await open();
    say(message);
    const [code, reason] = await once(client, 'close');
    t.deepEqual([code, reason.toString()], [1008, `No message of ${NAME}`], JSON.stringify(message));
  }
  const { client } = await open();
  client.send(Buffer.from('{"ping":true}'));
  t.is((await once(client, 'close'))[0], 1003);
  const exact = (bytes) => JSON.stringify({ ping: true, more: 'x'.repeat(bytes - '{"ping":true,"more":""}'.length) });
  t.deepEqual(await good.answers(exact(200)), [{ pong: true }]);
  const tooLong = await open();
  tooLong.say(exact(201));
  t.is((await once(tooLong.client, 'close'))[0], 1009);
  t.deepEqual(await good.answers({ unsubscribe: 'never' }), [{ unsubscribed: 'never' }]);
});

ownOnly('subscriptions that the program has made are none of the client', async (t) => {
  const server = await startServer(t);
  server.on('connection', (ws) => ws.subscribe('program'));
  server.topicsProtocol({ ...all, maxTopics: 1 });
  const client = visitor(t, urlOf(server), NAME);
  const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  client.send('{"subscribe":"own"}');
  t.is(JSON.parse((await once(client, 'message'))[0]).subscribed, 'own');
  client.send('{"unsubscribe":"program"}');
  await once(client, 'message');
  t.deepEqual(ws.subscriptions, ['program', 'own']);
});

ownOnly('bounds are exact: topics, and the length of their names', async (t) => {
  const { open } = await speak(t, { maxTopics: 2, maxTopicLength: 4 });
  const { answers, ws } = await open();
  const seen = async (...messages) => (await answers(...messages)).map(({ reason, refused, subscribed, unsubscribed }) => [subscribed ?? refused ?? unsubscribed, reason]);
  t.deepEqual(await seen({ subscribe: 'four' }), [['four', undefined]]);
  t.deepEqual(await seen({ subscribe: 'fiver' }), [['fiver', 'too long']]);
  t.deepEqual(await seen(publish('fiver', 'x', 3)), [[3, 'too long']]);
  t.deepEqual(await seen({ subscribe: 'b' }), [['b', undefined]]);
  t.deepEqual(await seen({ subscribe: 'c' }), [['c', 'too many topics']]);
  t.deepEqual(await seen({ subscribe: 'b' }), [['b', undefined]]);
  t.deepEqual(ws.subscriptions, ['four', 'b']);
  t.deepEqual(await seen({ unsubscribe: 'four' }), [['four', undefined]]);
  t.deepEqual(await seen({ subscribe: 'c' }), [['c', undefined]]);
  t.deepEqual(ws.subscriptions, ['b', 'c']);
});

ownOnly('authorize() decides, and what it throws is a no', async (t) => {
  const asked = [];
  const answersOf = {
    yes: () => true,
    no: () => false,
    truthy: () => 1,
    nothing: () => undefined,
    later: () => turn(true),
    never: () => turn(false),
    throws: () => {
      throw new Error('authorize');
    },
    rejects: () => Promise.reject(new Error('authorize')),
    thenable: () => ({ then: (resolve) => resolve(true) }),
  };
  const { open } = await speak(t, {
    authorize(socket, action, topic) {
      asked.push([socket, action, topic]);
      return answersOf[topic]();
    },
  });
  const { answers, ws } = await open();
  const allowed = ['yes', 'later', 'thenable'];
  for (const topic of Object.keys(answersOf)) {
    const isAllowed = allowed.includes(topic);
    const found = await answers({ subscribe: topic }, publish(topic, 'x', 5));
    const wanted = isAllowed ? [{ published: 5, position: null }, { subscribed: topic, position: null, recovered: false }] : [5, topic].map((refused) => ({ refused, reason: 'forbidden' }));
    const byText = (list) => list.map((one) => JSON.stringify(one)).sort();
    t.deepEqual(byText(found), byText(wanted), topic);
    t.is(ws.isSubscribed(topic), isAllowed, topic);
  }
  t.deepEqual(asked.slice(0, 2).map(([socket, ...rest]) => [socket === ws, ...rest]), [[true, 'subscribe', 'yes'], [true, 'publish', 'yes']]);
});

ownOnly('the order stays, whatever authorize() takes; nothing is read meanwhile', async (t) => {
  let waits = null;
  let calls = 0;
  const { open } = await speak(t, {
    authorize: () => {
      calls++;
      return waits ?? true;
    },
  });
  const { client, say, until, ws } = await open();
  let resolve;
  waits = new Promise((done) => (resolve = done));
  say({ subscribe: 'a' });
  for (let number = 1; number <= 200; number++) say(publish('a', String(number), number));
  say({ unsubscribe: 'a' });
  while (calls === 0) await turn();
  for (let turns = 0; turns < 20; turns++) await turn();
  t.deepEqual([calls, ws.isPaused], [1, true]);
  waits = null;
  resolve(true);
  const heard = await until(402);
  t.deepEqual(heard.filter((text) => text[0] === '[').map((text) => text.split('\n')[1]), Array.from({ length: 200 }, (_, n) => String(n + 1)));
  t.deepEqual(heard.filter((text) => text.includes('unsubscribed')), ['{"unsubscribed":"a"}']);
  // One that has gone is not answered.
  waits = new Promise((done) => (resolve = done));
  say({ subscribe: 'b' });
  while (!ws.isPaused) await turn();
  client.terminate();
  resolve(true);
  await once(ws, 'close');
  t.deepEqual(ws.subscriptions, []);
});

ownOnly('a peer that does not read is not read either, and goes', async (t) => {
  const { open } = await speak(t);
  const { client, ws } = await open();
  client._socket.pause();
  const long = 'x'.repeat(200);
  let said = 0;
  while (!ws.isPaused) {
    for (let count = 0; count < 1000; count++) client.send(JSON.stringify({ unsubscribe: long + said++ }));
    await turn();
  }
  for (let count = 0; count < 20_000; count++) client.send(JSON.stringify({ unsubscribe: long }));
  for (let turns = 0; turns < 50; turns++) await turn();
  t.true(ws.isPaused);
  // HIGH_WATER_MARK, and the answer above it.
  t.true(ws.bufferedAmount < 1.1 * 2 ** 20, String(ws.bufferedAmount));
  const gone = once(ws, 'close');
  client.terminate();
  await gone;
  const other = await open();
  other.client._socket.pause();
  while (!other.ws.isPaused) {
    for (let count = 0; count < 1000; count++) other.client.send('{"ping":true}');
    await turn();
  }
  other.client._socket.resume();
  while (other.ws.isPaused) await turn();
  t.pass();
});

for (const adapterOverflow of ['drop', 'reject']) {
  ownOnly(`${adapterOverflow}: a message for which the broker has no room is refused`, async (t) => {
    const broker = new Broker();
    broker.beforePublish = () => new Promise(() => {});
    const { open } = await speak(t, {}, { adapter: broker.adapter(), adapterLimit: 100, adapterOverflow, topicOptions: () => ({ history: 1000 }) });
    const { say, until } = await open();
    for (const number of [1, 2, 3]) say(publish('a', 'x'.repeat(50), number));
    t.deepEqual((await until(2)).map((text) => JSON.parse(text)), [2, 3].map((refused) => ({ refused, reason: 'busy' })));
  });
}

ownOnly('what the broker or the program refuses is a refusal', async (t) => {
  const broker = new Broker();
  broker.beforePublish = () => {
    throw new Error('refused');
  };
  const { open } = await speak(t, {}, {
    adapter: broker.adapter(),
    topicOptions: (topic) => {
      if (topic === 'bad') throw new Error('topicOptions');
      return { history: 1000 };
    },
  });
  const { answers, ws } = await open();
  t.deepEqual(await answers(publish('a', 'x', 1)), [{ refused: 1, reason: 'failed' }]);
  t.deepEqual(await answers(publish('bad', 'x', 2)), [{ refused: 2, reason: 'failed' }]);
  t.deepEqual(await answers({ subscribe: 'bad' }), [{ refused: 'bad', reason: 'failed' }]);
  t.deepEqual(ws.subscriptions, []);
});

ownOnly('nobody can make copies of the messages of another client', async (t) => {
  const { open } = await speak(t);
  const [victim, peer] = [await open(), await open()];
  await victim.answers({ subscribe: 'a' });
  await victim.answers(publish('a', 'x', 1, 'secret'));
  const authorOf = (text) => JSON.parse(text.split('\n')[0])[3];
  const author = authorOf(victim.heard.find((text) => text[0] === '['));
  t.not(author, 'secret');
  await peer.answers(...[author, 'other', '\ud800', '\ud801', 'secret'].map((client) => publish('a', 'y', 1, client)));
  const authors = (await victim.until(8)).filter((text) => text[0] === '[').map(authorOf);
  t.is(new Set(authors.slice(0, 5)).size, 5);
  t.is(authors[5], author);
});

ownOnly('messages that are dropped in a topic without positions are reported, one report at a time', async (t) => {
  const { open, server } = await speak(t, {}, { topicOptions: () => ({ slow: 'drop', limit: 4096 }) });
  const { answers, client, heard, ws } = await open();
  await answers({ subscribe: 'a' });
  client._socket.pause();
  let count = 0;
  ws.on('dropped', () => count++);
  while (count < 5) {
    for (let n = 0; n < 100; n++) server.publish('a', 'x'.repeat(10_000));
    await turn();
  }
  client._socket.resume();
  const gap = '{"gap":"a","from":null,"to":null}';
  while (!heard.includes(gap)) await once(client, 'message');
  await answers({ ping: true });
  const reports = heard.filter((text) => text === gap).length;
  t.true(reports >= 1 && reports <= 2, `${reports} of ${count}`);
});

ownOnly('connections without the subprotocol are the program\'s', async (t) => {
  const { open, server } = await speak(t);
  const plain = await open([]);
  const other = await open(['other']);
  for (const { client, ws } of [plain, other]) {
    const heard = once(ws, 'message');
    client.send('no JSON');
    t.is(String((await heard)[0]), 'no JSON');
    ws.subscribe('a');
  }
  server.publish('a', 'x');
  t.deepEqual([...(await plain.until(1)), ...(await other.until(1))], ['["a",null,0]\nx', '["a",null,0]\nx']);
  t.is(server.broadcast('to all'), 2);
});

ownOnly('as many subscriptions wait for the broker as may, and the rest is not read', async (t) => {
  const broker = new Broker();
  broker.beforeRead = () => new Promise(() => {});
  const { open, server } = await speak(t, {}, { adapter: broker.adapter(), topicOptions: () => ({ history: 1000 }) });
  const { say, ws } = await open();
  for (let n = 0; n < 1000; n++) say({ subscribe: 'a' });
  while (!ws.isPaused) await turn();
  for (let turns = 0; turns < 50; turns++) await turn();
  const { shared } = server._topics.all.get('a');
  t.is(shared.waiting.size, 64);
  // The broker answers at an unknown time.
  shared.answerWaiters();
  while (!ws.isPaused || shared.waiting.size > 65) await turn();
  for (let turns = 0; turns < 50; turns++) await turn();
  t.true(shared.waiting.size <= 65, `${shared.waiting.size}`);
});

ownOnly('a publish that is too long is refused by its number, whatever it has; anything else that is too long closes', async (t) => {
  const { open } = await speak(t, { maxBytes: 100 });
  const { answers, client, say } = await open();
  t.deepEqual(await answers(publish('a', '"number":5}'.repeat(20), 7)), [{ refused: 7, reason: 'too long' }]);
  t.deepEqual(await answers({ ping: true }), [{ pong: true }]);
  say({ subscribe: 'a'.repeat(200), number: 1 });
  const [code] = await once(client, 'close');
  t.is(code, 1009);
});

ownOnly('each subscription has an answer, whatever is asked in the same batch', async (t) => {
  const { open } = await speak(t);
  const { answers } = await open();
  const asked = [{ subscribe: 'a' }, { subscribe: 'b' }, { subscribe: 'a' }, { unsubscribe: 'a' }, { subscribe: 'a' }];
  const all = (await answers(...asked)).map(({ subscribed, unsubscribed }) => subscribed ?? `not ${unsubscribed}`);
  t.deepEqual(all.filter((one) => one !== 'b'), ['a', 'a', 'not a', 'a']);
});

ownOnly('while the broker is away pings are answered, and a client that comes back says nothing twice', async (t) => {
  const adapter = new Broker().adapter();
  const { open, server } = await speak(t, {}, { adapter, topicOptions: () => ({ history: 1000 }) });
  const { publish: really } = adapter;
  const waiting = [];
  adapter.publish = (...given) => new Promise((resolve) => waiting.push(() => resolve(really.apply(adapter, given))));
  const said = Array.from({ length: 100 }, (_, n) => publish('a', 'text', n + 1));
  const first = await open();
  for (const one of said) first.say(one);
  first.say({ ping: true });
  t.deepEqual(await first.until(1), ['{"pong":true}']);
  first.client.terminate();
  const second = await open();
  for (const one of said) second.say(one);
  second.say({ ping: true });
  await second.until(1);
  t.is(waiting.length, 64);
  while (second.heard.filter((text) => text.includes('published')).length < 100) {
    for (const go of waiting.splice(0)) go();
    await turn();
  }
  t.is((await server.history('a')).messages.length, 100);
});

ownOnly('odd errors of the program refuse, and are no unhandled rejections', async (t) => {
  const odd = [null, undefined, Object.create(null), { get stack() { throw new Error('a trap'); } }];
  let error;
  const authorize = (ws, action, topic) => {
    if (topic === 'options') return true;
    if (topic === 'throws') throw error;
    return Promise.reject(error);
  };
  const { open } = await speak(t, { authorize }, { topicOptions: () => { throw error; } });
  const { answers } = await open();
  for (error of odd) {
    t.deepEqual(await answers({ subscribe: 'throws' }, { subscribe: 'rejects' }), [{ refused: 'throws', reason: 'forbidden' }, { refused: 'rejects', reason: 'forbidden' }]);
    t.deepEqual(await answers({ subscribe: 'options' }), [{ refused: 'options', reason: 'failed' }]);
    t.deepEqual(await answers(publish('options', '')), [{ refused: 1, reason: 'failed' }]);
  }
});

ownOnly('topics that no message was published in take no memory without bound', async (t) => {
  const { open, server } = await speak(t, {}, { topicOptions: () => ({ history: 1 }) });
  const { answers } = await open();
  server.publish('used', 'text');
  for (let n = 0; n < 10_100; n += 100) {
    await answers(...Array.from({ length: 200 }, (_, m) => ({ [m % 2 === 0 ? 'subscribe' : 'unsubscribe']: `${n + (m >> 1)}` })));
  }
  const names = [...server.topics()].map(([name]) => name);
  t.true(names.length <= 10_001, `${names.length}`);
  t.true(names.includes('used') && names.includes('10099'));
});

ownOnly('a number and a topic are not taken for others of the same digits', async (t) => {
  const broker = new Broker();
  const { open } = await speak(t, {}, { adapter: broker.adapter(), topicOptions: () => ({ history: 10 }) });
  const { answers } = await open();
  await answers(publish('12', 'to 12', 1), publish('2', 'to 2', 11));
  t.deepEqual(['12', '2'].map((name) => broker.topic(name).offset), [1, 1]);
});
