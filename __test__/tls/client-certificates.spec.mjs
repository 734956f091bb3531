// Clients with certificates: good, none, expired, of a wrong authority, revoked and self-signed.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, wsClient } from '../helpers/clients.mjs';
import { isReference } from '../helpers/impl.mjs';
import { SERVER, SERVERS, authority, connectTls, openSecure, pair, read, startNode, startSecure } from '../helpers/secure.mjs';

const CRLS = [read('authority.crl'), read('intermediate.crl')];
const ASKING = { ...SERVER, requestCert: true, ca: authority };

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

test('several authorities, in one file or in several', async (t) => {
  const all = [authority, read('other-authority.crt')];
  for (const ca of [all, Buffer.concat(all), all.map(String)]) {
    const server = await startSecure(t, { ...ASKING, ca });
    for (const name of ['client', 'client-other']) {
      t.true((await openSecure(t, server, wsClient, pair(name))).request.socket.authorized);
    }
  }
});
