// Certificates of clients that rustls lets in and OpenSSL reads otherwise, or not at all: no handler meets one that it
// cannot show, or that shows another.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';
import { present } from '../helpers/raw-tls.mjs';
import { SERVER, SERVERS, authority, openSecure, pair, read } from '../helpers/secure.mjs';

const ASKING = { ...SERVER, requestCert: true, ca: authority };
const { key } = pair('client');
const [leaf, issuer] = ['client.crt', 'authority.crt'].map((name) => new X509Certificate(read(name)).raw);

/** What handlers of a server learn of clients; an error of theirs fails the test. */
function watch(t, { wss, listener }) {
  const seen = [];
  const look = (socket) => {
    const shown = [socket.getPeerCertificate(), socket.getPeerCertificate(true), socket.getPeerX509Certificate()];
    return { authorized: socket.authorized, name: shown[0].subject?.CN, shown };
  };
  listener.on('secureConnection', (socket) => t.notThrows(() => look(socket)));
  listener.on('tlsClientError', (error, socket) => t.notThrows(() => [socket.getPeerCertificate(true), socket.getPeerX509Certificate()]));
  wss.on('connection', (socket, request) => {
    t.notThrows(() => seen.push(look(request.socket)));
    socket.on('error', () => {});
  });
  return seen;
}

/** Each byte changed once. */
function* damaged(der) {
  for (let at = 0; at < der.length; at++) {
    const copy = Buffer.from(der);
    copy[at] ^= 1 << at % 8;
    yield copy;
  }
}

/** A hundred at once. @param {Iterable<Buffer>} all */
async function inCrowds(all, act) {
  const rest = [...all];
  while (rest.length !== 0) await Promise.all(rest.splice(0, 100).map(act));
}

for (const rejectUnauthorized of [true, false]) {
  test(`damaged certificates: rejectUnauthorized ${rejectUnauthorized}`, async (t) => {
    const server = await SERVERS.port(t, { ...ASKING, rejectUnauthorized });
    const seen = watch(t, server);
    const show = (...chain) => present(server.port, { chain, key, request: upgradeRequest() });
    t.regex(await show(leaf, issuer), /^HTTP\/1.1 101 /);
    t.true(seen.pop().authorized);
    for (const garbage of ['', '3003020105', '308006', '30823fff', leaf.toString('hex').slice(2), `${leaf.toString('hex')}00`]) {
      t.is(await show(leaf, Buffer.from(garbage, 'hex')), '', garbage);
      t.is(await show(Buffer.from(garbage, 'hex'), issuer), '', garbage);
    }
    t.deepEqual(seen, []);
    await inCrowds(damaged(leaf), (copy) => show(copy, issuer));
    t.true(seen.every(({ authorized }) => !authorized));
    t.is(seen.length === 0, rejectUnauthorized);
    await inCrowds(damaged(issuer), (copy) => show(leaf, copy));
  });
}

test('a certificate in the comment of another one is not the client', async (t) => {
  for (const start of Object.values(SERVERS)) {
    const server = await start(t, ASKING);
    const { request } = await openSecure(t, server, wsClient, { key, cert: read('client-in-client.crt') });
    const { subject, issuerCertificate } = request.socket.getPeerCertificate(true);
    t.deepEqual([request.socket.authorized, subject.CN, issuerCertificate.subject.CN], [true, 'client-in-client', 'authority']);
    t.regex(request.socket.getPeerX509Certificate().subject, /^CN=client-in-client$/m);
  }
});

test('a refusal of SNICallback that comes late has the address of its client', async (t) => {
  const answers = [];
  const server = await SERVERS.port(t, { ...SERVER, SNICallback: (name, done) => (name === 'refused' ? answers.push(done) : done(null)) });
  const { client } = await openSecure(t, server, wsClient);
  for (let round = 0; round < 3; round++) {
    void present(server.port, { chain: [], key, request: '', servername: 'refused' });
    while (answers.length === 0) await new Promise(setImmediate);
    // Records of another client that look like addresses.
    for (let count = 0; count < 50; count++) client.send(Buffer.from(new Uint32Array(2000).fill(4).buffer));
    client.ping();
    await once(client, 'pong');
    const told = once(server.listener, 'tlsClientError');
    answers.pop()(new Error('refused'));
    const [, socket] = await told;
    t.is(socket.remoteAddress, '127.0.0.1');
    t.true(socket.remotePort > 1024);
  }
});
