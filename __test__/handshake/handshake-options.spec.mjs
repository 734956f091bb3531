// The effect of options, overridden methods and listeners on the opening handshake.
import { once } from 'node:events';
import http from 'node:http';

import test from 'ava';

import {
  METHOD,
  UPGRADE,
  INVALID_KEY,
  VERSION,
  PATH,
  PROTOCOL,
  EXTENSIONS,
  abort,
  accepted,
  answerTo,
  rows,
} from '../helpers/answers.mjs';
import { frame } from '../helpers/clients.mjs';
import { WebSocketServer, startServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

rows('path', { path: '/chat' }, [
  ['the same', upgradeRequest({ line: 'GET /chat HTTP/1.1' }), accepted()],
  ['with a query', upgradeRequest({ line: 'GET /chat?a=?b HTTP/1.1' }), accepted()],
  ['another', upgradeRequest({ line: 'GET /chat/ HTTP/1.1' }), PATH],
  ['another case', upgradeRequest({ line: 'GET /Chat HTTP/1.1' }), PATH]
]);

const neverVerified = { path: '/', perMessageDeflate: true, verifyClient: () => false };
const UNAUTHORIZED = abort('401 Unauthorized', 'Unauthorized');
const BROKEN = {
  line: 'POST /other HTTP/1.1',
  Upgrade: 'h2c',
  'Sec-WebSocket-Key': 'x',
  'Sec-WebSocket-Version': '1',
  'Sec-WebSocket-Protocol': ',',
  'Sec-WebSocket-Extensions': ','
};

rows('the first failed check is reported', neverVerified, [
  ['method', upgradeRequest(BROKEN), METHOD],
  ...[
    ['Upgrade', UPGRADE],
    ['Sec-WebSocket-Key', INVALID_KEY],
    ['Sec-WebSocket-Version', VERSION],
    ['path', PATH],
    ['Sec-WebSocket-Protocol', PROTOCOL],
    ['Sec-WebSocket-Extensions', EXTENSIONS],
    ['verifyClient', UNAUTHORIZED]
  ].map(([name, ...expected], index, checks) => [
    name,
    upgradeRequest(repaired(checks.slice(0, index))),
    ...expected
  ])
]);

/** BROKEN with a valid method and without the faults of the given checks. */
function repaired(checks) {
  const names = checks.map(([name]) => name);
  const isPathValid = names.includes('path');
  const faults = Object.entries(BROKEN).filter(([name]) => name !== 'line' && !names.includes(name));
  return { ...Object.fromEntries(faults), line: `GET ${isPathValid ? '/' : '/other'} HTTP/1.1` };
}

rows('verifyClient', { verifyClient: (info, done) => done(false, 429, 'slow down', { 'Retry-After': 7 }) }, [
  ['code, body and headers', upgradeRequest(), abort('429 Too Many Requests', 'slow down', 'Retry-After: 7\r\n')]
]);
rows('verifyClient', { verifyClient: (info, done) => done(false) }, [['the default', upgradeRequest(), UNAUTHORIZED]]);
rows('verifyClient', { verifyClient: (info, done) => setImmediate(done, true) }, [
  ['later', upgradeRequest(), accepted()]
]);
rows('verifyClient', { verifyClient: (info) => info.origin === 'a' && info.secure === false && info.req.url === '/' }, [
  ['info.origin', upgradeRequest({ Origin: 'a' }), accepted()],
  ['no origin', upgradeRequest(), UNAUTHORIZED],
  ['origin of version 8', upgradeRequest({ 'Sec-WebSocket-Version': '8', 'Sec-WebSocket-Origin': 'a' }), accepted()]
]);
rows('shouldHandle', { path: '/a', verifyClient: () => true }, [
  ['path asked before verifyClient', upgradeRequest({ line: 'GET /b HTTP/1.1' }), PATH]
]);
rows('handleProtocols', { handleProtocols: (offers) => [...offers].at(-1) }, [
  ['its choice', upgradeRequest({ 'Sec-WebSocket-Protocol': 'a, b' }), accepted('Sec-WebSocket-Protocol: b')],
  ['not asked without an offer', upgradeRequest(), accepted()]
]);
rows('handleProtocols', { handleProtocols: () => false }, [
  ['none', upgradeRequest({ 'Sec-WebSocket-Protocol': 'a, b' }), accepted()]
]);

test("'wsClientError' does not come for a wrong path", async (t) => {
  const server = await startServer(t, { path: '/a' });
  server.on('wsClientError', () => t.fail());
  t.is(await answerTo(t, server, upgradeRequest(), PATH), PATH);
});

// H20.
test('503 when the server closes while verifyClient decides', async (t) => {
  const expected = abort('503 Service Unavailable', 'Service Unavailable');
  const server = await startServer(t, {
    verifyClient: (info, done) => {
      server.close();
      setImmediate(done, true);
    }
  });
  t.is(await answerTo(t, server, upgradeRequest(), expected), expected);
});

// H19.
test('no answer when the client has gone while verifyClient decides', async (t) => {
  const server = await startServer(t, {
    verifyClient: ({ req }, done) => {
      // Whichever of the two the implementation reports first.
      req.socket.once('end', () => done(true)).once('close', () => done(true));
      client.end();
    }
  });
  server.on('connection', () => t.fail());
  const client = await RawClient.connect(t, server.address().port);
  client.send(upgradeRequest());
  t.is(await client.closed(), '');
});

// O05.
test('a client that has sent all it has to say before it is accepted is heard', async (t) => {
  const server = await startServer(t, { verifyClient: () => true });
  const heard = new Promise((resolve) => {
    server.on('connection', (ws) => {
      const events = [];
      ws.on('message', (data) => events.push(String(data)));
      ws.on('close', (code) => resolve([...events, code]));
    });
  });
  const client = await RawClient.connect(t, server.address().port);
  client.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'a'), frame(1, 'b')]));
  client.end();
  t.deepEqual(await heard, ['a', 'b', 1006]);
  t.true((await client.closed()).startsWith('HTTP/1.1 101 '));
});

// H19.
test('a reset while verifyClient decides closes the socket', async (t) => {
  const server = await startServer(t, {
    verifyClient: ({ req }, _decide) => {
      req.socket.on('error', () => {}).once('close', done);
      client.reset();
    }
  });
  let done;
  const closed = new Promise((resolve) => {
    done = resolve;
  });
  const client = await RawClient.connect(t, server.address().port);
  client.send(upgradeRequest());
  await closed;
  t.pass();
});

// J17.
test('noServer: handleUpgrade answers the same, and only once', async (t) => {
  const server = new WebSocketServer({ noServer: true });
  const origin = http.createServer().listen(0, '127.0.0.1');
  t.teardown(() => origin.close());
  await once(origin, 'listening');
  origin.on('upgrade', (request, socket, head) => {
    server.handleUpgrade(request, socket, head, (webSocket) => {
      t.teardown(() => webSocket.terminate());
      t.throws(() => server.handleUpgrade(request, socket, head, () => t.fail()), {
        message:
          'server.handleUpgrade() was called more than once with the same socket, possibly due to a misconfiguration'
      });
    });
  });
  t.is(await answerTo(t, origin, upgradeRequest(), accepted()), accepted());
  t.is(await answerTo(t, origin, upgradeRequest({ Upgrade: 'h2c' }), UPGRADE), UPGRADE);
  t.plan(3);
});
