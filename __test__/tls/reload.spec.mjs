// setSecureContext: certificates that change while clients come.
import { once } from 'node:events';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { SERVER, SERVERS, authority, connectTls, openSecure, pair, read, startSecure } from '../helpers/secure.mjs';

const certified = async (t, port, options) => (await connectTls(t, port, { checkServerIdentity() {}, ...options })).getPeerCertificate();

test('new connections get the new certificate, and open ones stay', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t);
    const { client, ws } = await openSecure(t, server, wsClient);
    t.is(await server.listener.setSecureContext(pair('server-rsa')), undefined);
    t.is((await certified(t, server.port)).asn1Curve, undefined);
    await server.listener.setSecureContext(pair('server-ecdsa'));
    t.is((await certified(t, server.port)).asn1Curve, 'prime256v1');
    client.send('still here');
    t.is(String((await once(ws, 'message'))[0]), 'still here');
  }
});

test('a context that cannot be used is a rejection, and the old one stays', async (t) => {
  const { listener, port } = await startSecure(t);
  for (const [options, expected] of [
    [pair('server-expired'), { code: 'CERT_HAS_EXPIRED', message: 'options.cert of localhost, 127.0.0.1 has expired: it was valid until 2021-01-01T00:00:00.000Z' }],
    [{ ...SERVER, key: read('server-rsa.key') }, { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH', message: 'options.cert of localhost, 127.0.0.1 matches no options.key' }],
    [{ ...SERVER, cert: 'hello' }, { message: /^options\.cert is no certificate in PEM or DER: / }],
    [{ ...SERVER, pfx: 'a' }, { instanceOf: TypeError, message: /^options\.pfx is not possible with a port: / }],
    [undefined, { instanceOf: TypeError, message: /^options must be an object, / }],
    [{ ...SERVER, crl: 'hello', ca: authority, minVersion: 'TLSv1.1' }, { instanceOf: TypeError }],
  ]) {
    const promise = listener.setSecureContext(options);
    t.true(promise instanceof Promise);
    await t.throwsAsync(promise, expected);
    t.is((await certified(t, port)).asn1Curve, 'prime256v1');
  }
});

test('whoever reads all options again may pass them', async (t) => {
  const all = { ...SERVER, requestCert: true, ca: authority, ALPNProtocols: ['http/1.1'], handshakeTimeout: 5000, ticketKeys: Buffer.alloc(48, 1) };
  const { listener, port } = await startSecure(t, all);
  await listener.setSecureContext({ ...all, ...pair('server-rsa'), ticketKeys: Buffer.alloc(48, 2) });
  t.deepEqual(listener.getTicketKeys(), Buffer.alloc(48, 2));
  t.is((await certified(t, port, pair('client'))).asn1Curve, undefined);
});

test('the authorities of clients change with it', async (t) => {
  const server = await startSecure(t, { ...SERVER, requestCert: true, ca: authority });
  await openSecure(t, server, wsClient, pair('client'));
  await server.listener.setSecureContext({ ...SERVER, ca: read('other-authority.crt') });
  const { request } = await openSecure(t, server, wsClient, pair('client-other'));
  t.true(request.socket.authorized);
  t.is(request.socket.getPeerCertificate(true).issuerCertificate.subject.CN, 'other-authority');
  const client = new wsClient(server.url, { ca: authority, ...pair('client') });
  await once(client, 'error');
});

test('a session of the old certificate', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t);
    const socket = await connectTls(t, server.port);
    const [session] = await once(socket, 'session');
    await server.listener.setSecureContext(pair('server-rsa'));
    // Whether it is resumed or not, the client gets in.
    const { client } = await openSecure(t, server, wsClient, { session });
    t.is(client._socket.getProtocol(), 'TLSv1.3');
  }
});

test('reload under load: no connection fails, full or resumed', async (t) => {
  const server = await startSecure(t);
  server.listener.addContext('a.example.com', pair('host-a'));
  server.listener.on('tlsClientError', (error) => t.fail(error.message));
  server.wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  let isOver = false;
  let reloads = 0;
  const reload = (async () => {
    for (; !isOver; reloads++) {
      await server.listener.setSecureContext(pair(reloads % 2 === 0 ? 'server-rsa' : 'server-ecdsa'));
      server.listener.addContext('a.example.com', pair('host-a'));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  let session;
  const lane = async (index) => {
    for (let i = 0; i < 25; i++) {
      const { client } = await openSecure(t, server, wsClient, { session: i % 3 === 0 ? undefined : session });
      client._socket.on('session', (next) => (session = next));
      client.send(`${index} ${i}`);
      t.is(String((await once(client, 'message'))[0]), `${index} ${i}`);
      client.terminate();
    }
  };
  // One after the other: `openSecure` takes the next connection that comes.
  for (let index = 0; index < 4; index++) await lane(index);
  isOver = true;
  await reload;
  t.true(reloads > 1);
});
