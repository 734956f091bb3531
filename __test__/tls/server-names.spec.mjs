// The certificate that a client gets, by the name that it asks for: addContext and SNICallback.
import { once } from 'node:events';
import tls from 'node:tls';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { WebSocketServer, isReference } from '../helpers/impl.mjs';
import { SERVER, SERVERS, authority, connectTls, openSecure, pair, startSecure } from '../helpers/secure.mjs';

const NAMES = ['a.example.com', 'b.example.com', 'x.example.org', 'y.x.example.org', 'example.org', 'localhost'];

/** The name in the certificate that is sent for `servername`. */
async function certified(t, port, servername) {
  const socket = await connectTls(t, port, { servername, checkServerIdentity() {} });
  return socket.getPeerCertificate().subject.CN;
}

test('addContext: three hosts and a wildcard', async (t) => {
  for (const [name, start] of Object.entries(SERVERS)) {
    const { listener, port } = await start(t, SERVER);
    listener.addContext('a.example.com', pair('host-a'));
    listener.addContext('b.example.com', pair('host-b'));
    listener.addContext('*.example.org', pair('host-wildcard'));
    const expected = ['a.example.com', 'b.example.com', '*.example.org', 'localhost', 'localhost', 'localhost'];
    for (const [index, host] of NAMES.entries()) t.is(await certified(t, port, host), expected[index], `${name} ${host}`);
    t.is(await certified(t, port, ''), 'localhost');
    // Node 20 does not serve it.
    if (name === 'port' && !isReference) t.is(await certified(t, port, 'A.EXAMPLE.COM'), 'a.example.com');
  }
});

test('addContext: the last one that fits counts', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const { listener, port } = await start(t, SERVER);
    listener.addContext('*.example.com', pair('host-wildcard'));
    t.is(await certified(t, port, 'a.example.com'), '*.example.org');
    listener.addContext('a.example.com', pair('host-a'));
    t.is(await certified(t, port, 'a.example.com'), 'a.example.com');
    listener.addContext('*.example.com', pair('host-b'));
    t.is(await certified(t, port, 'a.example.com'), 'b.example.com');
  }
});

test('addContext: a fault names the option and the host, and changes nothing', async (t) => {
  const { listener, port } = await startSecure(t, SERVER);
  listener.addContext('a.example.com', pair('host-a'));
  for (const [options, message] of [
    [pair('server-expired'), /^addContext\('a\.example\.com'\): options\.cert of localhost, 127\.0\.0\.1 has expired: /],
    [{ ...SERVER, key: pair('server-rsa').key }, "addContext('a.example.com'): options.cert of localhost, 127.0.0.1 matches no addContext('a.example.com'): options.key"],
    [{ cert: 'hello', key: SERVER.key }, /^addContext\('a\.example\.com'\): options\.cert is no certificate in PEM or DER: /],
  ]) {
    t.throws(() => listener.addContext('a.example.com', options), { message });
    t.is(await certified(t, port, 'a.example.com'), 'a.example.com');
  }
});

const CONTEXTS = { port: WebSocketServer.createSecureContext, https: tls.createSecureContext };

for (const [when, act] of Object.entries({ 'at once': (call) => call(), 'in a microtask': queueMicrotask, later: setImmediate, 'after a while': (call) => setTimeout(call, 50) })) {
  test(`SNICallback answers ${when}`, async (t) => {
    for (const [name, start] of Object.entries(SERVERS)) {
      const known = { 'a.example.com': CONTEXTS[name](pair('host-a')), 'b.example.com': CONTEXTS[name](pair('host-b')) };
      const asked = [];
      const SNICallback = (servername, callback) => {
        asked.push(servername);
        act(() => callback(null, known[servername]));
      };
      const { port } = await start(t, { ...SERVER, SNICallback });
      for (const [host, expected] of [['a.example.com', 'a.example.com'], ['b.example.com', 'b.example.com'], ['c.example.com', 'localhost']]) {
        t.is(await certified(t, port, host), expected);
      }
      // Without a name, no callback is called.
      t.is(await certified(t, port, ''), 'localhost');
      t.deepEqual(asked, ['a.example.com', 'b.example.com', 'c.example.com']);
    }
  });
}

test('SNICallback: plain options are a context, and no context at all is needed beside it', async (t) => {
  const { port, listener } = await startSecure(t, { SNICallback: (servername, callback) => callback(null, servername === 'a.example.com' ? pair('host-a') : null) });
  t.is(await certified(t, port, 'a.example.com'), 'a.example.com');
  for (const host of ['b.example.com', '']) {
    const failed = once(listener, 'tlsClientError');
    await t.throwsAsync(certified(t, port, host));
    await failed;
  }
});

test('SNICallback beside addContext: without an answer, the hosts count', async (t) => {
  const { listener, port } = await startSecure(t, { ...SERVER, SNICallback: (_, callback) => callback(null) });
  listener.addContext('a.example.com', pair('host-a'));
  t.is(await certified(t, port, 'a.example.com'), 'a.example.com');
});

test('SNICallback: an error ends the handshake, and is that of tlsClientError', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const failure = new Error('no such host');
    const { listener, port } = await start(t, { ...SERVER, SNICallback: (_, callback) => callback(failure) });
    const failed = once(listener, 'tlsClientError');
    await t.throwsAsync(certified(t, port, 'a.example.com'));
    const [error, socket] = await failed;
    t.is(error, failure);
    t.true(socket.destroyed);
  }
});

test('SNICallback: a context that cannot be used', async (t) => {
  for (const [given, message] of [
    [pair('server-expired'), /^SNICallback\('a\.example\.com'\): options\.cert of localhost, 127\.0\.0\.1 has expired: /],
    [tls.createSecureContext(SERVER), /^SNICallback\('a\.example\.com'\): options must not be a SecureContext of node:tls, /],
    [5, /^SNICallback\('a\.example\.com'\): options must be an object, /],
  ]) {
    const { listener, port } = await startSecure(t, { ...SERVER, SNICallback: (_, callback) => callback(null, given) });
    const failed = once(listener, 'tlsClientError');
    await t.throwsAsync(certified(t, port, 'a.example.com'));
    t.regex((await failed)[0].message, message);
  }
});

test('SNICallback that never answers: handshakeTimeout, and others connect meanwhile', async (t) => {
  const SNICallback = (servername, callback) => servername === 'never' || callback(null);
  for (const start of Object.values(SERVERS)) {
    const impatient = await start(t, { ...SERVER, handshakeTimeout: 100, SNICallback });
    const failed = once(impatient.listener, 'tlsClientError');
    await t.throwsAsync(certified(t, impatient.port, 'never'));
    t.is((await failed)[0].code, 'ERR_TLS_HANDSHAKE_TIMEOUT');
    const server = await start(t, { ...SERVER, SNICallback });
    certified(t, server.port, 'never').catch(() => {});
    const { client, ws } = await openSecure(t, server, wsClient);
    client.send('on');
    t.is(String((await once(ws, 'message'))[0]), 'on');
  }
});

test('SNICallback that answers after its client has gone', async (t) => {
  let answer;
  const SNICallback = (_, callback) => (answer = callback);
  const server = await startSecure(t, { ...SERVER, SNICallback });
  const client = tls.connect({ port: server.port, host: '127.0.0.1', servername: 'a.example.com', ca: authority }).on('error', () => {});
  while (answer === undefined) await new Promise(setImmediate);
  client.destroy();
  await once(client, 'close');
  answer(null, pair('host-a'));
  const next = certified(t, server.port, 'a.example.com');
  const first = answer;
  while (answer === first) await new Promise(setImmediate);
  answer(null, pair('host-a'));
  t.is(await next, 'a.example.com');
});

test('many handshakes wait for SNICallback, and are answered in another order', async (t) => {
  const waiting = [];
  const server = await startSecure(t, { ...SERVER, SNICallback: (servername, callback) => waiting.push([servername, callback]) });
  const hosts = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? 'a.example.com' : 'b.example.com'));
  const all = Promise.all(hosts.map((host) => certified(t, server.port, host)));
  while (waiting.length < hosts.length) await new Promise(setImmediate);
  for (const [servername, callback] of waiting.reverse()) callback(null, pair(servername === 'a.example.com' ? 'host-a' : 'host-b'));
  t.deepEqual(await all, hosts);
});

const thrown = () => {
  throw new Error('thrown');
};
const WRONG = {
  'SNICallback that throws': { SNICallback: (servername, callback) => (servername === 'throw' ? thrown() : callback(null)) },
  'SNICallback that answers, and throws': { SNICallback: (servername, callback) => (callback(null), servername === 'throw' && thrown()) },
  'SNICallback that answers twice': { SNICallback: (servername, callback) => (callback(null), servername === 'throw' && callback(null)) },
  'ALPNCallback that throws': { ALPNCallback: ({ protocols: [first] }) => (first === 'throw' ? thrown() : first) },
  'ALPNCallback that chooses none of them': { ALPNCallback: ({ protocols: [first] }) => (first === 'throw' ? 'none' : first) },
};
for (const [what, callbacks] of Object.entries(WRONG)) {
  test(`${what}: 'tlsClientError', as with https, and only its client is refused`, async (t) => {
    const server = await startSecure(t, { ...SERVER, ...callbacks });
    const failed = once(server.listener, 'tlsClientError');
    await t.throwsAsync(connectTls(t, server.port, { servername: 'throw', ALPNProtocols: ['throw'] }));
    t.true((await failed)[0] instanceof Error);
    await connectTls(t, server.port, { ALPNProtocols: ['http/1.1'] });
  });
}
