// The results of a handshake, shown by the same program for a port with tls and for https with ws.
import { once } from 'node:events';
import tls from 'node:tls';
import { inspect } from 'node:util';

import test from 'ava';

import { WebSocket, wsClient } from '../helpers/clients.mjs';
import { SERVER, SERVERS, authority, connectTls, openSecure, pair, startNode, startSecure } from '../helpers/secure.mjs';

const CLIENTS = { ws: wsClient, ours: WebSocket };
const KEYS = ['server-ecdsa', 'server-rsa', 'server-ed25519', 'server-p384'];

/** The members of a server's socket, without those that differ from connection to connection. */
function told(socket) {
  const { alpnProtocol, authorizationError, authorized, encrypted, servername } = socket;
  return { alpnProtocol, authorizationError, authorized, encrypted, servername, cipher: socket.getCipher(), protocol: socket.getProtocol(), peer: socket.getPeerCertificate(), isReused: socket.isSessionReused() };
}

/** The same of both servers, by a program that gets one of them. */
async function alike(t, program) {
  const [ours, theirs] = [await program(startSecure), await program(startNode)];
  t.deepEqual(ours, theirs);
  return ours;
}

for (const key of KEYS) {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    for (const [name, Client] of Object.entries(CLIENTS)) {
      test(`${key}, ${version}, client of ${name}: both ends agree`, async (t) => {
        const { protocol } = await alike(t, async (start) => {
          const server = await start(t, pair(key));
          const { client, request, ws } = await openSecure(t, server, Client, { minVersion: version, maxVersion: version });
          t.true(request.socket instanceof tls.TLSSocket);
          t.is(request.socket, ws._socket);
          const peer = client._socket;
          t.deepEqual(request.socket.getCipher(), peer.getCipher());
          const material = (socket, ...rest) => socket.exportKeyingMaterial(48, 'EXPERIMENTAL label', ...rest).toString('hex');
          t.is(material(request.socket), material(peer));
          t.is(material(request.socket, Buffer.from('context')), material(peer, Buffer.from('context')));
          client.send('hello');
          t.is(String((await once(ws, 'message'))[0]), 'hello');
          ws.send('back');
          t.is(String((await once(client, 'message'))[0]), 'back');
          const { cipher, ...rest } = told(request.socket);
          // rustls prefers another one of the same strength.
          return { ...rest, version: cipher.version };
        });
        t.is(protocol, version);
      });
    }
  }
}

for (const [cipher, key] of [
  ['TLS_AES_128_GCM_SHA256', 'server-ecdsa'],
  ['TLS_AES_256_GCM_SHA384', 'server-rsa'],
  ['TLS_CHACHA20_POLY1305_SHA256', 'server-ecdsa'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((name) => ['ECDSA', 'RSA'].map((kind) => [`ECDHE-${kind}-${name}`, `server-${kind.toLowerCase()}`])),
]) {
  test(`ciphers: ${cipher} alone`, async (t) => {
    const maxVersion = cipher.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2';
    const agreed = await alike(t, async (start) => {
      const server = await start(t, { ...pair(key), ciphers: cipher });
      const { request, client } = await openSecure(t, server, wsClient, { maxVersion });
      t.deepEqual(request.socket.getCipher(), client._socket.getCipher());
      return { name: request.socket.getCipher().name, version: request.socket.getProtocol() };
    });
    t.deepEqual(agreed, { name: cipher, version: maxVersion });
  });
}

test('ciphers of TLS 1.2 alone leave those of TLS 1.3, and ciphers of TLS 1.3 leave no others', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const old = await start(t, { ...SERVER, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384' });
    t.is((await connectTls(t, old.port)).getProtocol(), 'TLSv1.3');
    t.is((await connectTls(t, old.port, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })).getCipher().name, 'ECDHE-ECDSA-AES256-GCM-SHA384');
    await t.throwsAsync(connectTls(t, old.port, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305' }));
    const next = await start(t, { ...SERVER, ciphers: 'TLS_AES_128_GCM_SHA256' });
    await t.throwsAsync(connectTls(t, next.port, { maxVersion: 'TLSv1.2' }));
    t.is((await connectTls(t, next.port)).getProtocol(), 'TLSv1.3');
  }
});

test('the order of the server counts', async (t) => {
  for (const start of Object.values(SERVERS)) {
    for (const ciphers of ['TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256']) {
      const { port } = await start(t, { ...SERVER, ciphers });
      t.is((await connectTls(t, port)).getCipher().name, ciphers.split(':')[0]);
    }
  }
});

test('a version that one side does not have', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const { port } = await start(t, { ...SERVER, minVersion: 'TLSv1.3' });
    const error = await t.throwsAsync(connectTls(t, port, { maxVersion: 'TLSv1.2' }));
    t.is(error.code, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
    const other = await start(t, { ...SERVER, maxVersion: 'TLSv1.2' });
    t.is((await connectTls(t, other.port)).getProtocol(), 'TLSv1.2');
  }
});

test('ALPNProtocols', async (t) => {
  for (const [given, offered] of [
    [undefined, undefined],
    [undefined, ['http/1.1']],
    [undefined, ['h2']],
    [['h2', 'http/1.1'], ['http/1.1', 'h2']],
    [['h2', 'http/1.1'], ['http/1.1']],
    [['chat'], ['http/1.1']],
    [['chat'], undefined],
    [Buffer.from('\x04chat\x02h2'), ['h2']],
  ]) {
    await alike(t, async (start) => {
      // In Node, an option that is there and undefined is no default.
      const { port } = await start(t, given === undefined ? SERVER : { ...SERVER, ALPNProtocols: given });
      try {
        return (await connectTls(t, port, { ALPNProtocols: offered })).alpnProtocol;
      } catch ({ code }) {
        return code;
      }
    });
  }
});

test('ALPNCallback', async (t) => {
  for (const [choose, offered] of [
    [({ protocols }) => protocols[1], ['a', 'b']],
    [({ servername }) => servername, ['localhost', 'b']],
    [() => undefined, ['a', 'b']],
    [() => 'never asked', undefined],
  ]) {
    await alike(t, async (start) => {
      const asked = [];
      const ALPNCallback = (given) => {
        asked.push({ ...given });
        return choose(given);
      };
      const server = await start(t, { ...SERVER, ALPNCallback });
      const errors = [];
      server.listener.on('tlsClientError', ({ code }) => errors.push(code));
      try {
        return { asked, is: (await connectTls(t, server.port, { ALPNProtocols: offered })).alpnProtocol };
      } catch ({ code }) {
        while (errors.length === 0) await new Promise(setImmediate);
        return { asked, code };
      }
    });
  }
});

/** The tickets that a client gets; with TLS 1.3 they come after the handshake. */
async function sessionOf(t, port, options) {
  const socket = await connectTls(t, port, options);
  const [session] = options.maxVersion === 'TLSv1.2' ? [socket.getSession()] : await once(socket, 'session');
  socket.destroy();
  return session;
}

for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
  test(`resumption, ${maxVersion}`, async (t) => {
    for (const start of Object.values(SERVERS)) {
      const server = await start(t, SERVER);
      const session = await sessionOf(t, server.port, { maxVersion });
      const reused = await openSecure(t, server, wsClient, { maxVersion, session });
      t.true(reused.client._socket.isSessionReused());
      t.true(reused.request.socket.isSessionReused());
      const fresh = await openSecure(t, server, wsClient, { maxVersion });
      t.false(fresh.client._socket.isSessionReused());
      t.false(fresh.request.socket.isSessionReused());
    }
  });

  test(`ticketKeys, ${maxVersion}: shared by servers, read and set`, async (t) => {
    for (const start of Object.values(SERVERS)) {
      const ticketKeys = Buffer.alloc(48, 7);
      const [one, other] = [await start(t, { ...SERVER, ticketKeys }), await start(t, { ...SERVER, ticketKeys })];
      t.deepEqual(one.listener.getTicketKeys(), ticketKeys);
      const isReused = async (server, session) => (await connectTls(t, server.port, { maxVersion, session })).isSessionReused();
      const session = await sessionOf(t, one.port, { maxVersion });
      t.true(await isReused(other, session));
      other.listener.setTicketKeys(Buffer.alloc(48, 8));
      t.deepEqual(other.listener.getTicketKeys(), Buffer.alloc(48, 8));
      t.false(await isReused(other, session));
      const own = await start(t, SERVER);
      t.is(own.listener.getTicketKeys().length, 48);
      t.notDeepEqual(own.listener.getTicketKeys(), ticketKeys);
      t.false(await isReused(own, session));
      own.listener.setTicketKeys(one.listener.getTicketKeys());
      t.true(await isReused(own, session));
    }
  });
}

test('ticket keys that are none', async (t) => {
  const { wss } = await startSecure(t);
  t.throws(() => wss.setTicketKeys(Buffer.alloc(47)), { instanceOf: RangeError, message: 'keys must be 48 bytes. Received 47' });
  t.throws(() => wss.setTicketKeys(5), { instanceOf: TypeError, message: 'keys must be a string, a Buffer, a TypedArray or an array of them. Received a value of type number' });
});

test("events: 'secureConnection' comes before 'connection', with its socket", async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, SERVER);
    const seen = [];
    server.listener.on('secureConnection', (socket) => seen.push(socket));
    server.wss.on('connection', (ws, { socket }) => seen.push(socket));
    const { client } = await openSecure(t, server, wsClient);
    t.is(seen.length, 2);
    t.is(seen[0], seen[1]);
    t.is(seen[0].getProtocol(), 'TLSv1.3');
    client.terminate();
    await once(seen[0], 'close');
  }
});

test("events: 'secureConnection' may refuse, and its socket closes", async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, SERVER);
    server.listener.on('secureConnection', (socket) => socket.destroy());
    server.wss.on('connection', () => t.fail());
    const [socket] = await Promise.all([once(server.listener, 'secureConnection'), t.throwsAsync(openSecureOnly(t, server))]).then(([[socket]]) => [socket]);
    if (!socket.closed) await once(socket, 'close');
    t.true(socket.destroyed);
  }
});

test("events: what a listener of 'secureConnection' writes leaves, and its callback is called", async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, SERVER);
    const left = new Promise((resolve) => server.listener.once('secureConnection', (socket) => socket.write('bye', resolve)));
    const client = await connectTls(t, server.port);
    const [data] = await once(client, 'data');
    t.is(String(data), 'bye');
    await left;
    client.destroy();
  }
});

/** Fails with the client. */
async function openSecureOnly(t, { url }) {
  const client = new wsClient(url, { ca: authority });
  t.teardown(() => client.terminate());
  await once(client, 'open');
}

test("events: 'secureConnection' of a client that leaves before its request", async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, SERVER);
    const connected = once(server.listener, 'secureConnection');
    const client = await connectTls(t, server.port);
    // A reset, on Windows.
    client.on('error', () => {});
    const [socket] = await connected;
    t.is(socket.remotePort, client.localPort);
    const closed = once(socket, 'close');
    client.destroy();
    await closed;
  }
});

test('the stand-in for the server of Node has the events too', async (t) => {
  const server = await startSecure(t);
  const [secured] = await Promise.all([once(server.wss._server, 'secureConnection'), connectTls(t, server.port)]);
  t.true(secured[0].encrypted);
  const failed = once(server.wss._server, 'tlsClientError');
  await t.throwsAsync(connectTls(t, server.port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
  await failed;
  t.pass();
});

test('after the end, a socket tells what it tells in Node', async (t) => {
  await alike(t, async (start) => {
    const server = await start(t, SERVER);
    const { client, request, ws } = await openSecure(t, server, wsClient);
    client.close();
    const { socket } = request;
    await once(ws, 'close');
    if (!socket.closed) await once(socket, 'close');
    t.throws(() => socket.exportKeyingMaterial(32, 'label'));
    return { ...told(socket), certificate: socket.getCertificate(), x509: socket.getPeerX509Certificate() };
  });
});

test('what a server of Node tells of its own certificate', async (t) => {
  await alike(t, async (start) => {
    const { request } = await openSecure(t, await start(t, SERVER), wsClient);
    return [request.socket.getCertificate(), request.socket.getX509Certificate().fingerprint256, request.socket.getSharedSigalgs().length >= 0];
  });
});

test('a handshake that fails for two reasons tells that of Node', async (t) => {
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' };
  const modern = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' };
  for (const [options, client, code] of [
    [{}, old, 'UNSUPPORTED_PROTOCOL'],
    [{}, { ...old, ALPNProtocols: ['other'] }, 'UNSUPPORTED_PROTOCOL'],
    [{ SNICallback: (name, done) => done(new Error('refused')) }, old, 'UNSUPPORTED_PROTOCOL'],
    [{}, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' }, 'NO_SHARED_CIPHER'],
    [{}, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA', ALPNProtocols: ['other'] }, 'NO_SHARED_CIPHER'],
    [{}, { maxVersion: 'TLSv1.2', ecdhCurve: 'X448' }, 'NO_SHARED_CIPHER'],
    [modern, { ...modern, ciphers: 'TLS_AES_256_GCM_SHA384', ecdhCurve: 'X448' }, 'NO_SHARED_CIPHER'],
    [modern, { maxVersion: 'TLSv1.2', ALPNProtocols: ['other'] }, 'UNSUPPORTED_PROTOCOL'],
  ]) {
    const server = await startSecure(t, { ...SERVER, ...options });
    const failed = once(server.listener, 'tlsClientError');
    const { code: alert } = await t.throwsAsync(connectTls(t, server.port, client));
    t.is((await failed)[0].code, `ERR_SSL_${code}`, inspect(client));
    t.regex(alert, code === 'UNSUPPORTED_PROTOCOL' ? /PROTOCOL_VERSION/ : /HANDSHAKE_FAILURE/);
  }
});

test('arguments of exportKeyingMaterial', async (t) => {
  const { request: { socket } } = await openSecure(t, await startSecure(t), wsClient);
  t.throws(() => socket.exportKeyingMaterial('1', 'label'), { instanceOf: TypeError, message: "length must be a number. Received '1'" });
  t.throws(() => socket.exportKeyingMaterial(0, 'label'), { instanceOf: RangeError });
  t.throws(() => socket.exportKeyingMaterial(8161, 'label'), { instanceOf: RangeError });
  t.is(socket.exportKeyingMaterial(8160, 'label').length, 8160);
  t.throws(() => socket.exportKeyingMaterial(1), { instanceOf: TypeError, message: 'label must be a string. Received undefined' });
  t.is(socket.exportKeyingMaterial(1, 'l'.repeat(249)).length, 1);
  t.throws(() => socket.exportKeyingMaterial(1, 'l'.repeat(250)), { instanceOf: TypeError, message: /^label must be at most 249 bytes/ });
  t.throws(() => socket.exportKeyingMaterial(1, 'label', 'text'), { instanceOf: TypeError, message: "context must be a Buffer, a TypedArray or undefined. Received 'text'" });
});

test('what there is not is nothing, in the form of Node', async (t) => {
  const { request: { socket } } = await openSecure(t, await startSecure(t), wsClient);
  t.is(socket.getSession(), undefined);
  t.is(socket.getTLSTicket(), undefined);
  t.is(socket.getFinished(), undefined);
  t.is(socket.getPeerFinished(), undefined);
  t.is(socket.setMaxSendFragment(1024), false);
  socket.disableRenegotiation();
  socket.enableTrace();
  const error = await new Promise((resolve) => t.false(socket.renegotiate({}, resolve)));
  t.is(error.code, 'ERR_TLS_RENEGOTIATION_DISABLED');
  t.regex(socket.getEphemeralKeyInfo().name, /^X25519/);
});
