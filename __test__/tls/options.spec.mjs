// Option tls: its values, its errors, and how it is printed.
import { X509Certificate, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import tls from 'node:tls';
import { inspect } from 'node:util';

import test from 'ava';

import { WebSocketServer } from '../helpers/impl.mjs';
import { SERVER, authority, connectTls, pair, read, startSecure } from '../helpers/secure.mjs';

const RSA = pair('server-rsa');
const WAY_OUT = 'The way out is server: https.createServer(options)';
const make = (options) => new WebSocketServer({ port: 0, host: '127.0.0.1', tls: options });

/** The kinds of the certificate that a client sees. */
async function seen(t, options, client = {}) {
  const { port } = await startSecure(t, options);
  const socket = await connectTls(t, port, client);
  const { asn1Curve = 'RSA', subjectaltname } = socket.getPeerCertificate();
  return [asn1Curve, subjectaltname];
}

const ecdsa = createPrivateKey(SERVER.key);
const der = new X509Certificate(SERVER.cert).raw;
const rsaDer = createPrivateKey(RSA.key);

for (const [form, options, kind = 'prime256v1'] of [
  ['Buffers in PEM', SERVER],
  ['text in PEM', { key: String(SERVER.key), cert: String(SERVER.cert) }],
  ['typed arrays', { key: new Uint8Array(SERVER.key), cert: new Uint8Array(SERVER.cert) }],
  ['a DataView', { key: new DataView(new Uint8Array(SERVER.key).buffer), cert: SERVER.cert }],
  ['arrays', { key: [SERVER.key], cert: [SERVER.cert] }],
  ['one text for both', { key: Buffer.concat([SERVER.cert, SERVER.key]), cert: Buffer.concat([SERVER.key, SERVER.cert]) }],
  ['DER, PKCS #8', { key: ecdsa.export({ type: 'pkcs8', format: 'der' }), cert: der }],
  ['DER, SEC 1', { key: ecdsa.export({ type: 'sec1', format: 'der' }), cert: der }],
  ['DER, PKCS #1', { key: rsaDer.export({ type: 'pkcs1', format: 'der' }), cert: RSA.cert }, 'RSA'],
  ['PEM, PKCS #1', { key: read('server-rsa.pkcs1.key'), cert: RSA.cert }, 'RSA'],
  ['PEM, SEC 1', { key: read('server-ecdsa.sec1.key'), cert: SERVER.cert }],
  ['encrypted PKCS #8', { key: read('server-ecdsa.encrypted.key'), cert: SERVER.cert, passphrase: 'secret' }],
  ['encrypted PKCS #8 with a passphrase of its own', { key: [{ pem: read('server-ecdsa.encrypted.key'), passphrase: 'secret' }], cert: SERVER.cert, passphrase: 'wrong' }],
  ['the old encryption of PEM', { key: read('server-rsa.legacy.key'), cert: RSA.cert, passphrase: 'secret' }, 'RSA'],
  ['a key of 384 bits', pair('server-p384'), 'secp384r1'],
  ['what must be so anyway', { ...SERVER, honorCipherOrder: true, ecdhCurve: 'auto', enableTrace: false, dhparam: undefined, pfx: null }],
]) {
  test(`key and cert: ${form}`, async (t) => {
    t.deepEqual(await seen(t, options), [kind, 'DNS:localhost, IP Address:127.0.0.1']);
  });
}

test('ciphers by names of OpenSSL and of IANA', async (t) => {
  for (const ciphers of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256:!aNULL']) {
    const { port } = await startSecure(t, { ...SERVER, ciphers });
    t.is((await connectTls(t, port, { maxVersion: 'TLSv1.2' })).getCipher().name, 'ECDHE-ECDSA-AES128-GCM-SHA256');
    t.is((await connectTls(t, port)).getCipher().name, 'TLS_AES_256_GCM_SHA384');
  }
});

test('several pairs, in whatever order: the client decides', async (t) => {
  const options = { cert: [RSA.cert, SERVER.cert], key: [SERVER.key, RSA.key] };
  const { port } = await startSecure(t, options);
  for (const [sigalgs, kind] of [['ecdsa_secp256r1_sha256', 'prime256v1'], ['rsa_pss_rsae_sha256', undefined]]) {
    const socket = await connectTls(t, port, { sigalgs });
    t.is(socket.getPeerCertificate().asn1Curve, kind, sigalgs);
  }
});

test('a chain: its authority is enough for the client', async (t) => {
  const { port } = await startSecure(t, pair('server-intermediate', 'intermediate'));
  const socket = await connectTls(t, port);
  t.is(socket.getPeerCertificate(true).issuerCertificate.subject.CN, 'intermediate');
});

for (const [name, value, reason] of [
  ['pfx', read('server-ecdsa.pfx'), 'files of PKCS #12 are not read; give the key and cert in it (openssl pkcs12)'],
  ['dhparam', 'auto', 'keys are agreed on by ECDHE only'],
  ['pskCallback', () => null, 'there are no pre-shared keys'],
  ['pskIdentityHint', 'hint', 'there are no pre-shared keys'],
  ['secureOptions', 1, 'they are flags of OpenSSL'],
  ['secureProtocol', 'TLS_method', 'minVersion and maxVersion choose the version'],
  ['sessionIdContext', 'a', 'sessions are kept by clients, in tickets; other ticketKeys keep servers apart'],
  ['sigalgs', 'ed25519', 'the kind of the key decides'],
  ['clientCertEngine', 'engine', 'there are no engines'],
  ['privateKeyEngine', 'engine', 'there are no engines'],
  ['privateKeyIdentifier', 'id', 'there are no engines'],
  ['certificateCompression', ['zlib'], 'certificates are sent as they are'],
  ['enableTrace', true, 'there is no trace; listen for tlsClientError'],
  ['ecdhCurve', 'P-521', "only 'auto' is possible: X25519MLKEM768, X25519, P-256 and P-384"],
  ['honorCipherOrder', false, 'the order of the server counts'],
  ['minVersion', 'TLSv1', 'TLSv1 is broken, and there are TLSv1.2 and TLSv1.3 only'],
  ['minVersion', 'TLSv1.1', 'TLSv1.1 is broken, and there are TLSv1.2 and TLSv1.3 only'],
  ['maxVersion', 'TLSv1.1', 'TLSv1.1 is broken, and there are TLSv1.2 and TLSv1.3 only'],
  ['ciphers', 'ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256', 'DHE-RSA-AES128-GCM-SHA256 is none of the suites of TLS 1.3, or of ECDHE with AES-GCM or ChaCha20'],
  ['ciphers', 'HIGH:!aNULL', 'HIGH is none of the suites of TLS 1.3, or of ECDHE with AES-GCM or ChaCha20'],
]) {
  test(`what only Node can: ${name}: ${String(value).slice(0, 20)}`, (t) => {
    const message = `options.tls.${name} is not possible with a port: ${reason}. ${WAY_OUT}`;
    t.throws(() => make({ ...SERVER, [name]: value }), { instanceOf: TypeError, message });
  });
}

for (const [type, options, named] of [
  ['rsa', { modulusLength: 1024 }, 'RSA of 1024 bits'],
  ['rsa-pss', { modulusLength: 2048 }, 'RSA-PSS'],
  ['ec', { namedCurve: 'secp256k1' }, 'EC with secp256k1'],
  ['ed448', {}, 'ED448'],
  ['dsa', { modulusLength: 1024, divisorLength: 160 }, 'DSA'],
]) {
  test(`a key with which only Node signs: ${named}`, (t) => {
    const key = generateKeyPairSync(type, options).privateKey.export({ type: 'pkcs8', format: 'pem' });
    const message = `options.tls.key is not possible with a port: it is ${named}, and the reactors sign with RSA of 2048 to 8192 bits, EC with P-256, P-384 or P-521, and Ed25519. ${WAY_OUT}`;
    t.throws(() => make({ ...SERVER, key }), { instanceOf: TypeError, message });
  });
}

/** An element of DER. */
function element(tag, ...parts) {
  const contents = Buffer.concat(parts);
  const { length } = contents;
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : [0x82, length >> 8, length & 0xff])]), contents]);
}

test('the longest RSA keys', (t) => {
  for (const [bits, message] of [[8192, /matches no options\.tls\.cert/], [8200, /it is RSA of 8200 bits/]]) {
    // As long as a key, which would take a minute to make.
    const number = element(2, Buffer.from([0]), Buffer.alloc(bits / 8, 0xff));
    const [zero, exponent] = [[0], [1, 0, 1]].map((bytes) => element(2, Buffer.from(bytes)));
    const rsa = element(0x30, element(6, Buffer.from('2a864886f70d010101', 'hex')), element(5));
    const key = element(0x30, zero, rsa, element(4, element(0x30, zero, number, exponent, ...Array(6).fill(number))));
    t.throws(() => make({ ...SERVER, key: [SERVER.key, key] }), { message });
  }
});

for (const [title, options, expected] of [
  ['no object', 'pem', { instanceOf: TypeError, message: 'options.tls must be an object, as https.createServer() takes it. Received a value of type string' }],
  ['nothing', {}, { instanceOf: TypeError, message: 'options.tls needs key and cert, or SNICallback' }],
  ['an unknown name', { ...SERVER, noDelay: true }, { instanceOf: TypeError, message: /^options\.tls\.noDelay is not an option\. There are: / }],
  ['no key', { cert: SERVER.cert }, { message: 'options.tls.key is missing: options.tls.cert needs one' }],
  ['no certificate', { key: SERVER.key }, { message: 'options.tls.cert is missing: options.tls.key needs one' }],
  ['a key of another certificate', { ...SERVER, key: RSA.key }, { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH', message: 'options.tls.cert of localhost, 127.0.0.1 matches no options.tls.key' }],
  ['a key too many', { ...SERVER, key: [SERVER.key, RSA.key] }, { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH', message: 'options.tls.key matches no options.tls.cert' }],
  ['an expired certificate', pair('server-expired'), { code: 'CERT_HAS_EXPIRED', message: 'options.tls.cert of localhost, 127.0.0.1 has expired: it was valid until 2021-01-01T00:00:00.000Z' }],
  ['a certificate that is none', { ...SERVER, cert: 'hello' }, { message: /^options\.tls\.cert is no certificate in PEM or DER: / }],
  ['a damaged certificate', { ...SERVER, cert: String(SERVER.cert).replace('MII', 'AAA') }, { message: /^options\.tls\.cert is no certificate in PEM or DER: / }],
  ['a key as a certificate', { ...SERVER, cert: SERVER.key }, { message: 'options.tls.cert has no certificate in PEM or DER' }],
  ['a key that is none', { ...SERVER, key: 'hello' }, { message: /^options\.tls\.key is no private key in PEM or DER: / }],
  ['a certificate as a key', { ...SERVER, key: SERVER.cert }, { message: /^options\.tls\.key is no private key in PEM or DER: / }],
  ['a damaged authority', { ...SERVER, ca: ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'] }, { message: /^options\.tls\.ca is no certificate in PEM or DER: / }],
  ['a damaged list of revoked certificates', { ...SERVER, requestCert: true, ca: authority, crl: 'hello' }, { message: /^options\.tls \(of localhost, 127\.0\.0\.1\) cannot be used by the reactors: crl: / }],
  ['an encrypted key', { ...SERVER, key: read('server-ecdsa.encrypted.key') }, { message: /^options\.tls\.key is encrypted, and has no passphrase: / }],
  ['a wrong passphrase', { ...SERVER, key: read('server-ecdsa.encrypted.key'), passphrase: 'no' }, { message: /^options\.tls\.key cannot be decrypted with its passphrase: / }],
  ['a passphrase that is no text', { ...SERVER, passphrase: 5 }, { instanceOf: TypeError, message: 'options.tls.passphrase must be a string. Received a value of type number' }],
  ['a key of another type', { ...SERVER, key: { secret: 'hidden' } }, { instanceOf: TypeError, message: 'options.tls.key must be a string, a Buffer, a TypedArray or an array of them. Received a value of type object' }],
  ['a version that there is not', { ...SERVER, minVersion: 'SSLv3' }, { instanceOf: TypeError, message: "options.tls.minVersion must be 'TLSv1.2' or 'TLSv1.3'. Received 'SSLv3'" }],
  ['versions upside down', { ...SERVER, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.2' }, { instanceOf: RangeError, message: 'options.tls.minVersion must not be above maxVersion' }],
  ['no ciphers', { ...SERVER, ciphers: '' }, { instanceOf: TypeError, message: 'options.tls.ciphers has no suite' }],
  ['ciphers that are no text', { ...SERVER, ciphers: ['a'] }, { instanceOf: TypeError, message: 'options.tls.ciphers must be a string. Received a value of type object' }],
  ['ALPNProtocols that are no list', { ...SERVER, ALPNProtocols: 'h2' }, { instanceOf: TypeError, message: 'options.tls.ALPNProtocols must be a list of names, each of 1 to 255 bytes. Received a value of type string' }],
  ['a protocol without a name', { ...SERVER, ALPNProtocols: [''] }, { instanceOf: TypeError, message: 'options.tls.ALPNProtocols must be a list of names, each of 1 to 255 bytes. Received a value of type string' }],
  ['ALPNProtocols and ALPNCallback', { ...SERVER, ALPNProtocols: ['h2'], ALPNCallback() {} }, { instanceOf: TypeError, code: 'ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS', message: 'The ALPNCallback and ALPNProtocols TLS options are mutually exclusive' }],
  ['SNICallback that is no function', { ...SERVER, SNICallback: 1 }, { instanceOf: TypeError, message: 'options.tls.SNICallback must be a function. Received 1' }],
  ['requestCert that is no boolean', { ...SERVER, requestCert: 'true' }, { instanceOf: TypeError, message: "options.tls.requestCert must be a boolean. Received 'true'" }],
  ['short ticketKeys', { ...SERVER, ticketKeys: Buffer.alloc(47) }, { instanceOf: RangeError, message: 'options.tls.ticketKeys must be 48 bytes. Received 47' }],
  ['handshakeTimeout', { ...SERVER, handshakeTimeout: 0 }, { instanceOf: RangeError, message: 'options.tls.handshakeTimeout must be an integer from 1 to 2147483647. Received 0' }],
  ['sessionTimeout', { ...SERVER, sessionTimeout: -1 }, { instanceOf: RangeError, message: 'options.tls.sessionTimeout must be an integer from 0 to 2147483647. Received -1' }],
]) {
  test(`wrong: ${title}`, (t) => {
    t.throws(() => make(options), expected);
  });
}

test('tls beside server and noServer', (t) => {
  const message = 'options.tls needs a port. The TLS of options.server is that of https.createServer()';
  for (const where of [{ noServer: true }, { server: http.createServer() }]) {
    t.throws(() => new WebSocketServer({ ...where, tls: SERVER }), { instanceOf: TypeError, message });
    t.notThrows(() => new WebSocketServer({ ...where, tls: null }));
  }
});

test('a key, a passphrase and ticket keys are not printed, whatever is printed', async (t) => {
  const ticketKeys = Buffer.alloc(48, 'T');
  const options = { key: read('server-ecdsa.encrypted.key'), cert: SERVER.cert, passphrase: 'secret', ticketKeys, requestCert: true, ca: authority };
  const { wss } = await startSecure(t, options);
  const context = WebSocketServer.createSecureContext({ key: options.key, cert: options.cert, passphrase: 'secret' });
  for (const shown of [wss, wss.options, wss.options.tls, context]) {
    for (const text of [inspect(shown, { depth: 20, showHidden: true, maxStringLength: Infinity }), JSON.stringify(shown)]) {
      t.notRegex(text, /PRIVATE KEY|secret|TTTT|54 54 54|84,84,84/);
    }
  }
  t.true(wss.options.tls.requestCert);
  // One file may have the certificate and its key.
  const { wss: combined } = await startSecure(t, { key: SERVER.key, cert: `${SERVER.cert}${SERVER.key}` });
  t.notRegex(inspect(combined, { depth: 20 }) + JSON.stringify(combined.options), /PRIVATE KEY/);
});

test('errors do not show a key either', (t) => {
  const error = t.throws(() => make({ key: { pem: SERVER.key, passphrase: { secret: 1 } }, cert: SERVER.cert }));
  t.notRegex(inspect(error), /PRIVATE KEY/);
});

test('a context of ours, and one of Node', async (t) => {
  const context = WebSocketServer.createSecureContext(SERVER);
  const { port, wss } = await startSecure(t, context);
  t.is((await connectTls(t, port)).getPeerCertificate().subject.CN, 'localhost');
  wss.addContext('a.example.com', WebSocketServer.createSecureContext(pair('host-a')));
  t.is((await connectTls(t, port, { servername: 'a.example.com' })).getPeerCertificate().subject.CN, 'a.example.com');
  const nodes = tls.createSecureContext(SERVER);
  const message = (label) => `${label} must not be a SecureContext of node:tls, which only Node can read: give its options, or WebSocketServer.createSecureContext(options)`;
  t.throws(() => make(nodes), { instanceOf: TypeError, message: message('options.tls') });
  t.throws(() => wss.addContext('b.example.com', nodes), { instanceOf: TypeError, message: message("addContext('b.example.com'): options") });
  await t.throwsAsync(wss.setSecureContext(nodes), { instanceOf: TypeError, message: message('options') });
  t.throws(() => WebSocketServer.createSecureContext(nodes), { instanceOf: TypeError, message: message('options') });
});

test('methods of TLS need option tls', async (t) => {
  const wss = new WebSocketServer({ noServer: true });
  const message = 'The server has no option tls';
  await t.throwsAsync(wss.setSecureContext(SERVER), { message });
  for (const [name, ...args] of [['addContext', 'a', SERVER], ['getTicketKeys'], ['setTicketKeys', Buffer.alloc(48)]]) t.throws(() => wss[name](...args), { message });
});

test('addContext without a name', async (t) => {
  const { wss } = await startSecure(t);
  t.throws(() => wss.addContext('', SERVER), { code: 'ERR_TLS_REQUIRED_SERVER_NAME', message: '"servername" is required parameter for Server.addContext' });
});

test('a failed port leaves nothing open', async (t) => {
  t.throws(() => make({ ...SERVER, key: RSA.key }));
  const { wss } = await startSecure(t);
  wss.close();
  await once(wss, 'close');
  t.pass();
});
