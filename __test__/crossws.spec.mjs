// The same programs on the adapter of crossws for Node and on ours.
import { once } from 'node:events';
import { createServer } from 'node:http';

import nodeAdapter from 'crossws/adapters/node';
import { broadcastChannel } from 'crossws/sync';
import test from 'ava';
import { WebSocket } from 'ws';

import ours from '../lib/crossws.mjs';
import { WebSocketServer } from '../lib/index.mjs';

const ADAPTERS = { crossws: nodeAdapter, 'reactor-ws/crossws': ours };

/** A server with an adapter; `connect` opens clients, whose messages are kept in `heard`. */
async function start(t, make, options) {
  const adapter = make(options);
  const server = createServer((request, response) => response.end('page'));
  server.on('upgrade', adapter.handleUpgrade);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    adapter.closeAll(undefined, undefined, true);
    await adapter.close();
    server.close();
    server.closeAllConnections();
  });
  const url = `ws://127.0.0.1:${server.address().port}`;
  const connect = async (path = '/', protocols = [], settings = {}) => {
    const client = open(t, url + path, protocols, settings);
    await once(client, 'open');
    return client;
  };
  return { adapter, connect, url };
}

function open(t, url, protocols, settings) {
  const client = new WebSocket(url, protocols, settings);
  client.heard = [];
  client.on('message', (data, isBinary) => client.heard.push(isBinary ? data : data.toString()));
  t.teardown(() => client.terminate());
  return client;
}

/** Everything that was sent to a client before its own question. */
async function heard(client) {
  client.send('heard?');
  while (client.heard.at(-1) !== 'heard!') await once(client, 'message');
  client.heard.pop();
  return client.heard.splice(0);
}

/** Answers `heard`, and passes everything else on. */
const answering = (message = () => {}) => (peer, given) => {
  if (given.text() === 'heard?') peer.send('heard!');
  else return message(peer, given);
};

for (const [name, make] of Object.entries(ADAPTERS)) {
  test(`${name}: hooks in their order, values of every kind, and what a peer shows`, async (t) => {
    const seen = [];
    const { adapter, connect } = await start(t, make, {
      hooks: {
        upgrade: (request) => {
          seen.push(`upgrade ${new URL(request.url).pathname} ${request.headers.get('x-test')}`);
          return { context: { user: 'ada' } };
        },
        open: (peer) => {
          seen.push(`open ${peer.context.user} ${peer.remoteAddress} ${peer.namespace} ${peer.websocket.readyState}`);
          for (const value of ['text', 1, true, { a: [1] }, new Uint8Array([1, 2]), null, new Uint8Array([3]).buffer]) peer.send(value);
        },
        message: answering((peer, message) => {
          seen.push(`message ${typeof message.rawData} ${message.text()}`);
          peer.close(4001, 'enough');
        }),
        close: (peer, { code, reason }) => seen.push(`close ${code} ${reason} ${peer.peers.size}`),
      },
    });
    const client = await connect('/chat?room=1', [], { headers: { 'X-Test': 'yes' } });
    t.deepEqual(await heard(client), ['text', '1', 'true', '{"a":[1]}', Buffer.from([1, 2]), '', Buffer.from([3])]);
    t.deepEqual([...adapter.peers.keys()], ['/chat']);
    client.send('hello');
    const [code, reason] = await once(client, 'close');
    t.deepEqual([code, reason.toString()], [4001, 'enough']);
    while (seen.length < 4) await new Promise(setImmediate);
    t.deepEqual(seen, ['upgrade /chat yes', 'open ada 127.0.0.1 /chat 1', 'message string hello', 'close 4001 enough 0']);
  });

  test(`${name}: an upgrade is refused with a Response, returned or thrown, and 500 for an error`, async (t) => {
    const refuse = {
      '/returned': () => new Response('no', { status: 403, headers: { 'X-Why': 'returned' } }),
      '/thrown': () => {
        throw new Response('no', { status: 401 });
      },
      '/wrapped': () => {
        throw Object.assign(new Error('wrapped'), { response: new Response('no', { status: 429 }) });
      },
      '/error': () => {
        throw new Error('a mistake');
      },
    };
    const { url } = await start(t, make, { hooks: { upgrade: (request) => refuse[new URL(request.url).pathname]() } });
    for (const [path, status] of Object.entries({ '/returned': 403, '/thrown': 401, '/wrapped': 429, '/error': 500 })) {
      const client = open(t, url + path);
      const [request, response] = await once(client, 'unexpected-response');
      t.is(response.statusCode, status, path);
      if (path === '/returned') t.is(response.headers['x-why'], 'returned');
      client.on('error', () => {});
      request.destroy();
    }
  });

  test(`${name}: headers, subprotocols and compression that the upgrade hook chooses`, async (t) => {
    const { url } = await start(t, make, {
      serverOptions: { perMessageDeflate: true },
      hooks: {
        upgrade: (request) => ({
          headers: { 'Set-Cookie': 'a=1', ...(request.url.endsWith('/named') && { 'Sec-WebSocket-Protocol': 'two' }) },
          ...(request.url.endsWith('/plain') && { perMessageDeflate: false }),
        }),
        open: (peer) => peer.send('x'.repeat(5000)),
      },
    });
    const ask = async (path, protocols) => {
      const client = open(t, url + path, protocols);
      const upgrade = once(client, 'upgrade');
      await once(client, 'message');
      const [{ headers }] = await upgrade;
      return [client.protocol, client.extensions, headers['set-cookie'], client.heard[0].length];
    };
    t.deepEqual(await ask('/named', ['one', 'two']), ['two', 'permessage-deflate', ['a=1'], 5000]);
    t.deepEqual(await ask('/plain', []), ['', '', ['a=1'], 5000]);
  });

  test(`${name}: topics: to all others, in one namespace, from the adapter to one or all`, async (t) => {
    const { adapter, connect } = await start(t, make, {
      // Namespaces that look like the length of another one with a part of its topic.
      getNamespace: (request) => new URL(request.url).searchParams.get('in'),
      hooks: {
        open: (peer) => peer.subscribe('news'),
        message: answering((peer, message) => {
          const [act, topic] = message.text().split(' ');
          if (act === 'publish') peer.publish(topic, { act, topic }, { compress: true });
          else peer[act](topic);
        }),
      },
    });
    const [first, second, third] = [await connect('/?in=a'), await connect('/?in=a'), await connect('/?in=an')];
    first.send('publish news');
    await heard(first);
    t.deepEqual([await heard(second), await heard(third)], [['{"act":"publish","topic":"news"}'], []]);
    adapter.publish('news', 'to all');
    adapter.publish('news', 'to one', { namespace: 'an' });
    adapter.publish('ews', 'to nobody', { namespace: 'an' });
    adapter.publish('news', new Uint8Array([7]), { namespace: 'a' });
    adapter.publish('news', 'to nobody', { namespace: 'unknown' });
    t.deepEqual(await heard(first), ['to all', Buffer.from([7])]);
    t.deepEqual(await heard(second), ['to all', Buffer.from([7])]);
    t.deepEqual(await heard(third), ['to all', 'to one']);
    second.send('unsubscribe news');
    await heard(second);
    first.send('publish news');
    first.send('subscribe sport');
    await heard(first);
    second.send('publish sport');
    await heard(second);
    t.deepEqual([await heard(first), await heard(second)], [['{"act":"publish","topic":"sport"}'], []]);
    const sizes = [...adapter.peers].map(([namespace, peers]) => [namespace, peers.size]);
    t.deepEqual(sizes, [['a', 2], ['an', 1]]);
  });

  test(`${name}: order of what is sent and published to a peer, and a publish after the end of the publisher`, async (t) => {
    let publisher;
    const { connect } = await start(t, make, {
      hooks: {
        open: (peer) => {
          publisher ??= peer;
          peer.subscribe('all');
        },
        message: answering((peer) => {
          for (let i = 0; i < 5; i++) {
            for (const other of peer.peers) other.send(`sent ${i}`);
            peer.publish('all', `published ${i}`);
          }
        }),
      },
    });
    const [first, second] = [await connect(), await connect()];
    first.send('go');
    await heard(first);
    t.deepEqual(await heard(second), [0, 1, 2, 3, 4].flatMap((i) => [`sent ${i}`, `published ${i}`]));
    const closed = once(first, 'close');
    first.close();
    await closed;
    publisher.publish('all', 'from the past');
    t.deepEqual(await heard(second), ['from the past']);
  });

  test(`${name}: hooks that are resolved for each request, later`, async (t) => {
    const { connect } = await start(t, make, {
      resolve: async (request) => ({
        open: (peer) => peer.subscribe('room'),
        message: answering((peer, message) => peer.publish('room', `${new URL(request.url).pathname}: ${message.text()}`)),
      }),
    });
    const [first, second] = [await connect('/same'), await connect('/same')];
    await Promise.all([heard(first), heard(second)]);
    first.send('hello');
    await heard(first);
    t.deepEqual(await heard(second), ['/same: hello']);
  });

  test(`${name}: 'drain' after frames that the peer did not read`, async (t) => {
    let drained;
    const drains = new Promise((resolve) => {
      drained = resolve;
    });
    const { connect } = await start(t, make, { hooks: { message: (peer) => peer.send('x'.repeat(4_000_000)), drain: drained } });
    const client = await connect();
    client.send('much');
    t.is((await drains).bufferedAmount, 0);
  });

  test(`${name}: a ping of a peer, and its pong`, async (t) => {
    let answered;
    const pong = new Promise((resolve) => {
      answered = resolve;
    });
    const { connect } = await start(t, make, { hooks: { open: (peer) => peer.ping('are you there?'), pong: (peer, data) => answered(data.toString()) } });
    await connect();
    t.is(await pong, 'are you there?');
  });

  test(`${name}: the end of a peer that does not answer pings`, async (t) => {
    const { connect } = await start(t, make, { idleTimeout: 0.05 });
    const client = await connect('/', [], { autoPong: false });
    t.is((await once(client, 'close'))[0], 1006);
  });

  test(`${name}: closeAll() and close() end all peers`, async (t) => {
    const { adapter, connect } = await start(t, make, {});
    const close = async (act) => {
      const clients = [await connect('/a'), await connect('/b')];
      const closed = clients.map((client) => once(client, 'close'));
      while ([...adapter.peers.values()].reduce((sum, peers) => sum + peers.size, 0) < 2) await new Promise(setImmediate);
      await act();
      return (await Promise.all(closed)).map(([code, reason]) => `${code} ${reason}`);
    };
    t.deepEqual(await close(() => adapter.closeAll(4000, 'bye')), ['4000 bye', '4000 bye']);
    t.deepEqual(await close(() => adapter.closeAll(undefined, undefined, true)), ['1006 ', '1006 ']);
    t.deepEqual(await close(() => adapter.close(4001, 'end')), ['4001 end', '4001 end']);
  });

  test(`${name}: two adapters share topics by sync`, async (t) => {
    const channel = `crossws ${name}`;
    const options = { sync: broadcastChannel({ channel }), hooks: { open: (peer) => peer.subscribe('all'), message: answering((peer) => peer.publish('all', 'peer')) } };
    const [one, other] = [await start(t, make, options), await start(t, make, options)];
    const [here, there] = [await one.connect(), await other.connect()];
    await heard(there);
    one.adapter.publish('all', 'adapter');
    here.send('publish');
    while (there.heard.length < 2) await once(there, 'message');
    t.deepEqual(there.heard, ['adapter', 'peer']);
    t.deepEqual(await heard(here), ['adapter']);
  });
}

test('a publish is one call, whoever publishes, and each subscriber gets the message once', async (t) => {
  const wss = new WebSocketServer({ noServer: true });
  const { adapter, connect } = await start(t, ours, {
    wss,
    hooks: { open: (peer) => peer.subscribe('all'), message: answering((peer) => peer.publish('all', 'one')) },
  });
  const clients = [await connect(), await connect(), await connect()];
  clients[0].send('publish');
  await heard(clients[0]);
  adapter.publish('all', 'two');
  for (const client of clients) t.deepEqual(await heard(client), client === clients[0] ? ['two'] : ['one', 'two']);
  t.deepEqual([...wss.topics()].map(([, subscribers]) => subscribers), [3]);
});

test('topicOptions get the topic and its namespace', async (t) => {
  const seen = [];
  const { adapter, connect } = await start(t, ours, {
    serverOptions: {
      topicOptions: (topic, namespace) => {
        seen.push([topic, namespace]);
        return { slow: 'drop' };
      },
    },
    hooks: { open: (peer) => ['', '1:a', '/'].forEach((topic) => peer.subscribe(topic)), message: answering() },
  });
  const client = await connect('/12:b');
  adapter.publish('', 'empty');
  t.deepEqual(await heard(client), ['empty']);
  t.deepEqual(seen, [['', '/12:b'], ['1:a', '/12:b'], ['/', '/12:b']]);
});

test('a Blob that is published is read first, by each peer', async (t) => {
  const { adapter, connect } = await start(t, ours, { hooks: { open: (peer) => peer.subscribe('all'), message: answering() } });
  const clients = [await connect(), await connect()];
  adapter.publish('all', new Blob(['blob']));
  for (const client of clients) t.deepEqual(await heard(client), [Buffer.from('blob')]);
});

test('namespaces that nobody is in are forgotten: peers choose their paths', async (t) => {
  const { adapter, connect } = await start(t, ours, { hooks: {} });
  for (let i = 0; i < 20; i++) {
    const client = await connect(`/${i}`);
    client.terminate();
  }
  while (adapter.peers.size > 0) await new Promise(setImmediate);
  const stays = await connect('/stays');
  t.deepEqual([...adapter.peers.keys()], ['/stays']);
  t.is(stays.readyState, WebSocket.OPEN);
});

test('a server of another package is refused', (t) => {
  const message = 'options.wss must be a WebSocketServer of reactor-ws. Received {}';
  t.throws(() => ours({ wss: {} }), { instanceOf: TypeError, message });
});
