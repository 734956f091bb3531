// Clients with certificates: good, none, expired, of a wrong authority, revoked and self-signed.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, wsClient } from '../helpers/clients.mjs';
import { isReference } from '../helpers/impl.mjs';
import { SERVER, SERVERS, authority, connectTls, openSecure, pair, read, startNode, startSecure } from '../helpers/secure.mjs';

const CRLS = [read('authority.crl'), read('intermediate.crl')];
const ASKING = { ...SERVER, requestCert: true, ca: authority };

const ofClient = (name) => ({ ...pair('client'), cert: read(`${name}.crt`) });

/** What clients present, why a server may refuse it, and the certificates of which the server can tell. */
const PRESENTED = {
  good: [pair('client'), null, ['client', 'authority']],
  'good, by an intermediate authority': [pair('client-intermediate', 'intermediate'), null, ['client-intermediate', 'intermediate', 'authority']],
  none: [{}, 'UNABLE_TO_GET_ISSUER_CERT', []],
  expired: [pair('client-expired'), 'CERT_HAS_EXPIRED', ['client-expired', 'authority']],
  'of another authority': [pair('client-other'), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', ['client-other']],
  'of another authority, which is sent': [pair('client-other', 'other-authority'), 'SELF_SIGNED_CERT_IN_CHAIN', ['client-other', 'other-authority']],
  'self-signed': [pair('client-self-signed'), 'DEPTH_ZERO_SELF_SIGNED_CERT', ['client-self-signed']],
  'by an intermediate authority that is not sent': [pair('client-intermediate'), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', ['client-intermediate']],
};

/** Rules in which webpki and OpenSSL differ, and the code of two faults at once: the certificate, authorities, and the code of Node. */
const JUDGED = [
  ['client-for-servers', ['authority'], 'INVALID_PURPOSE'],
  ['client-to-encipher', ['authority'], 'INVALID_PURPOSE'],
  ['client-other-expired', ['authority'], 'CERT_HAS_EXPIRED'],
  ['client-other-for-servers', ['authority'], 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['client-by-expired', ['authority-expired'], 'CERT_HAS_EXPIRED'],
  ['client-by-expired', ['authority'], 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['client-own-authority', ['authority', 'client-own-authority'], null],
  ['client-own-authority', ['authority'], 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['client-own-authority', ['authority', 'client-own-authority'], 'UNABLE_TO_GET_CRL', CRLS],
  ['client-own-expired', ['client-own-expired'], 'CERT_HAS_EXPIRED'],
  ['client-own-expired', ['authority'], 'CERT_HAS_EXPIRED'],
  ['client-own-for-servers', ['client-own-for-servers'], 'INVALID_PURPOSE'],
  ['client-own-for-servers', ['authority'], 'INVALID_PURPOSE'],
];

/** The subjects of a certificate and its issuers, up to one that is its own. */
function namesOf(certificate) {
  const names = [];
  for (let one = certificate; one?.subject !== undefined; one = one.issuerCertificate) {
    names.push(one.subject.CN);
    if (one.issuerCertificate === one) break;
  }
  return names;
}

for (const version of ['TLSv1.2', 'TLSv1.3']) {
  for (const [name, [presented, code, chain]] of Object.entries(PRESENTED)) {
    test(`${version}, ${name}: rejectUnauthorized false`, async (t) => {
      const seen = [];
      for (const start of [startSecure, startNode]) {
        const server = await start(t, { ...ASKING, rejectUnauthorized: false });
        const { request: { socket } } = await openSecure(t, server, wsClient, { ...presented, maxVersion: version });
        seen.push([socket.authorized, socket.authorizationError, socket.getPeerCertificate(), socket.getPeerX509Certificate()?.fingerprint256]);
        // Node 24 does not tell of issuers that clients have sent.
        if (start === startSecure && !isReference) t.deepEqual(namesOf(socket.getPeerCertificate(true)), chain);
      }
      t.deepEqual(...seen);
      t.is(seen[0][0], code === null);
      if (code !== null) t.is(seen[0][1], code);
    });

    test(`${version}, ${name}: rejectUnauthorized`, async (t) => {
      for (const start of [startSecure, startNode]) {
        const server = await start(t, ASKING);
        if (code === null) {
          const { request: { socket } } = await openSecure(t, server, wsClient, { ...presented, maxVersion: version });
          t.true(socket.authorized);
          t.is(socket.authorizationError, null);
          continue;
        }
        server.wss.on('connection', () => t.fail());
        const failed = once(server.listener, 'tlsClientError');
        for (const Client of [wsClient, WebSocket]) {
          const client = new Client(server.url, { ca: authority, ...presented, maxVersion: version });
          const [error] = await once(client, 'error');
          t.truthy(error);
        }
        const [error, socket] = await failed;
        t.is(typeof error.code, 'string');
        if (start === startSecure && !isReference) t.is(socket.remoteAddress, '127.0.0.1');
      }
    });
  }

  test(`${version}: revoked`, async (t) => {
    for (const start of Object.values(SERVERS)) {
      const server = await start(t, { ...ASKING, crl: CRLS });
      const revoked = new wsClient(server.url, { ca: authority, ...pair('client-revoked'), maxVersion: version });
      await once(revoked, 'error');
      const { request } = await openSecure(t, server, wsClient, { ...pair('client'), maxVersion: version });
      t.true(request.socket.authorized);
      const lax = await start(t, { ...ASKING, crl: CRLS, rejectUnauthorized: false });
      const { request: { socket } } = await openSecure(t, lax, wsClient, { ...pair('client-revoked'), maxVersion: version });
      t.deepEqual([socket.authorized, socket.authorizationError], [false, 'CERT_REVOKED']);
      const careless = await start(t, ASKING);
      t.true((await openSecure(t, careless, wsClient, { ...pair('client-revoked'), maxVersion: version })).request.socket.authorized);
    }
  });

  test(`${version}: a resumed session keeps the certificate`, async (t) => {
    for (const start of Object.values(SERVERS)) {
      const server = await start(t, ASKING);
      const first = await connectTls(t, server.port, { ...pair('client'), maxVersion: version });
      const [session] = version === 'TLSv1.2' ? [first.getSession()] : await once(first, 'session');
      first.destroy();
      const { request: { socket } } = await openSecure(t, server, wsClient, { ...pair('client'), maxVersion: version, session });
      t.true(socket.isSessionReused());
      t.true(socket.authorized);
      t.is(socket.getPeerCertificate().subject.CN, 'client');
    }
  });
}

test('what a certificate is for, until when, and who has issued it, are judged as by Node', async (t) => {
  for (const [name, authorities, code, crl = []] of JUDGED) {
    for (const start of Object.values(SERVERS)) {
      const asking = { ...ASKING, ca: authorities.map((one) => read(`${one}.crt`)), ...(crl.length === 0 ? {} : { crl }) };
      const lax = await start(t, { ...asking, rejectUnauthorized: false });
      const { request: { socket } } = await openSecure(t, lax, wsClient, ofClient(name));
      t.deepEqual([socket.authorized, socket.authorizationError], [code === null, code], name);
      if (code === null) continue;
      const strict = await start(t, asking);
      strict.wss.on('connection', () => t.fail(name));
      const client = new wsClient(strict.url, { ca: authority, ...ofClient(name) });
      await once(client, 'error');
    }
  }
});

test('a certificate that a client has issued with its own makes nobody a client', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, { ...ASKING, ca: [authority, read('client-self-signed.crt')], rejectUnauthorized: false });
    t.true((await openSecure(t, server, wsClient, pair('client-self-signed'))).request.socket.authorized);
    for (const cert of [read('client-by-client.crt'), Buffer.concat([read('client-by-client.crt'), read('client-self-signed.crt')])]) {
      t.false((await openSecure(t, server, wsClient, { ...pair('client'), cert })).request.socket.authorized);
    }
  }
});

test('X.509 version 1: shown, and never authorized on a port', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
    const lax = await startSecure(t, { ...ASKING, rejectUnauthorized: false });
    const { request: { socket } } = await openSecure(t, lax, wsClient, { ...ofClient('client-v1'), maxVersion });
    t.is(socket.getPeerCertificate().subject.CN, 'client-v1');
    if (isReference) continue;
    t.deepEqual([socket.authorized, socket.authorizationError], [false, 'CERT_REJECTED']);
    const strict = await startSecure(t, ASKING);
    const failed = once(strict.listener, 'tlsClientError');
    await once(new wsClient(strict.url, { ca: authority, ...ofClient('client-v1'), maxVersion }), 'error');
    const [{ code, message }] = await failed;
    t.is(code, 'ERR_SSL_CERTIFICATE_VERIFY_FAILED');
    t.is(message, 'certificate verify failed (only certificates of X.509 version 3 can be verified)');
  }
  const { port } = await startSecure(t, { ...SERVER, cert: read('server-v1.crt') });
  t.is((await connectTls(t, port, { checkServerIdentity() {} })).getPeerCertificate().subject.CN, 'localhost');
});

test('without requestCert nobody is asked, and nobody is authorized', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, { ...SERVER, ca: authority });
    const { request: { socket } } = await openSecure(t, server, wsClient, pair('client'));
    t.deepEqual([socket.authorized, socket.authorizationError, socket.getPeerCertificate()], [false, null, {}]);
  }
});

test("without ca, Node's roots count", async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, { ...SERVER, requestCert: true, rejectUnauthorized: false });
    const { request: { socket } } = await openSecure(t, server, wsClient, pair('client'));
    t.deepEqual([socket.authorized, socket.authorizationError], [false, 'SELF_SIGNED_CERT_IN_CHAIN']);
  }
});
