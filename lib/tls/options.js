'use strict';

// Option `tls`, as `https.createServer()` takes it. No message shows a value: it can be a key.

const tls = require('node:tls');
const { isAnyArrayBuffer } = require('node:util').types;

const { MAX_DELAY, checkOptions, checkValue, readOptions, wrongSecret } = require('../base/checks');
const { certificatesIn, listsIn, pairsOf, privateKey } = require('./credentials');
const { MODERN_SUITES, TLS_1_2, VERSIONS, suiteOf } = require('./parameters');

/** @import { KeyObject } from 'node:crypto' */
/** @import { Pair } from './credentials' */

/**
 * Settings of a secure context. Versions and `ciphers` are numbers; no `ciphers`: all.
 *
 * @typedef {{ pairs: Pair[], ca: import('node:crypto').X509Certificate[], crl: Buffer[], minVersion: number, maxVersion: number, ciphers: number[] }} Credentials
 */

/**
 * Settings of a server; times in milliseconds, but `sessionTimeout` in seconds. An empty `alpn`: any protocol, or none.
 *
 * @typedef {object} Settings
 * @property {string[]} alpn
 * @property {number} handshakeTimeout
 * @property {boolean} rejectUnauthorized
 * @property {boolean} requestCert
 * @property {number} sessionTimeout
 * @property {Uint8Array | null} ticketKeys null: made anew
 * @property {Function | null} SNICallback
 * @property {Function | null} ALPNCallback
 */

/** @typedef {Record<string, any>} Given */

/** @type {Record<string, import('../base/checks').Range & { initial: unknown }>} */
const OWN = {
  ALPNCallback: { type: 'function', initial: null },
  SNICallback: { type: 'function', initial: null },
  // The server's.
  handshakeTimeout: { type: 'number', initial: null, min: 1, max: MAX_DELAY },
  rejectUnauthorized: { type: 'boolean', initial: true },
  requestCert: { type: 'boolean', initial: false },
  // Seconds.
  sessionTimeout: { type: 'number', initial: 300, max: MAX_DELAY },
};

const OF_CONTEXT = ['allowPartialTrustChain', 'ca', 'cert', 'ciphers', 'crl', 'ecdhCurve', 'honorCipherOrder', 'key', 'maxVersion', 'minVersion', 'passphrase'];
const KNOWN = [...OF_CONTEXT, ...Object.keys(OWN), 'ALPNProtocols', 'ticketKeys'];

/** @type {import('../base/checks').Range} */
const SECRET = { type: 'string', isSecret: true };

/** Options of Node that the reactors lack, with reasons. @type {Record<string, string>} */
const IMPOSSIBLE = {
  certificateCompression: 'certificates are sent as they are',
  clientCertEngine: 'there are no engines',
  dhparam: 'keys are agreed on by ECDHE only',
  enableTrace: 'there is no trace; listen for tlsClientError',
  pfx: 'files of PKCS #12 are not read; give the key and cert in it (openssl pkcs12)',
  privateKeyEngine: 'there are no engines',
  privateKeyIdentifier: 'there are no engines',
  pskCallback: 'there are no pre-shared keys',
  pskIdentityHint: 'there are no pre-shared keys',
  secureOptions: 'they are flags of OpenSSL',
  secureProtocol: 'minVersion and maxVersion choose the version',
  sessionIdContext: 'sessions are kept by clients, in tickets; other ticketKeys keep servers apart',
  sigalgs: 'the kind of the key decides',
};

/** Every TLS option of a server of Node. */
const NAMES = [...KNOWN, ...Object.keys(IMPOSSIBLE)];

const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];

/** Versions of Node that the reactors do not have. @type {unknown[]} */
const OLD_VERSIONS = ['TLSv1', 'TLSv1.1'];

/** Bytes: a name, and two keys. */
const TICKET_KEYS_LENGTH = 48;

/** Bytes of a protocol's name (RFC 7301, 3.1). */
const MAX_PROTOCOL = 255;

/** @type {(given: any, label: string) => Given} */
function checkGiven(given, label) {
  if (typeof given !== 'object' || given === null) throw wrongSecret(label, 'an object, as https.createServer() takes it', given);
  if (typeof given.context === 'object') {
    throw new TypeError(`${label} must not be a SecureContext of node:tls, which only Node can read: give its options, or WebSocketServer.createSecureContext(options)`);
  }
  const wanted = Object.entries(given).filter(([, value]) => isGiven(value));
  for (const [name, value] of wanted) {
    if (Object.hasOwn(IMPOSSIBLE, name) && value !== false) throw impossible(`${label}.${name}`, IMPOSSIBLE[name]);
  }
  checkOptions(Object.fromEntries(wanted.filter(([name]) => !Object.hasOwn(IMPOSSIBLE, name))), KNOWN, label);
  return given;
}

/** @type {(given: Given, label: string) => Credentials} */
function credentialsOf(given, label) {
  const keys = listOf(given.key).map((one) => {
    const { pem, passphrase = given.passphrase } = Object(one).pem === undefined ? { pem: one } : one;
    if (isGiven(passphrase)) checkValue(SECRET, passphrase, `${label}.passphrase`);
    return checkKey(privateKey(bytesOf(pem, `${label}.key`), passphrase ?? undefined, `${label}.key`), `${label}.key`);
  });
  const chains = listOf(given.cert).map((one) => certificatesIn(bytesOf(one, `${label}.cert`), `${label}.cert`));
  const minVersion = versionOf(given.minVersion, `${label}.minVersion`) ?? VERSIONS.get(tls.DEFAULT_MIN_VERSION) ?? TLS_1_2;
  const maxVersion = versionOf(given.maxVersion, `${label}.maxVersion`) ?? VERSIONS.get(tls.DEFAULT_MAX_VERSION) ?? minVersion;
  if (minVersion > maxVersion) throw new RangeError(`${label}.minVersion must not be above maxVersion`);
  // These must be as they are anyway.
  if (given.honorCipherOrder === false) throw impossible(`${label}.honorCipherOrder`, 'the order of the server counts');
  if ((given.ecdhCurve ?? 'auto') !== 'auto') throw impossible(`${label}.ecdhCurve`, "only 'auto' is possible: X25519MLKEM768, X25519, P-256 and P-384");
  return {
    pairs: pairsOf(chains, keys, label),
    ca: listOf(given.ca).flatMap((one) => certificatesIn(bytesOf(one, `${label}.ca`), `${label}.ca`)),
    crl: listOf(given.crl).flatMap((one) => listsIn(bytesOf(one, `${label}.crl`), `${label}.crl`)),
    minVersion,
    maxVersion,
    ciphers: ciphersOf(given.ciphers, label),
  };
}

/** @type {(key: KeyObject, label: string) => KeyObject} */
function checkKey(key, label) {
  const { asymmetricKeyDetails = {}, asymmetricKeyType: type } = key;
  const { modulusLength = 0, namedCurve = 'explicit parameters' } = asymmetricKeyDetails;
  if (type === 'ed25519' || (type === 'ec' && CURVES.includes(namedCurve))) return key;
  if (type === 'rsa' && modulusLength >= 2048 && modulusLength <= 8192) return key;
  const detail = type === 'ec' ? ` with ${namedCurve}` : type === 'rsa' ? ` of ${modulusLength} bits` : '';
  throw impossible(label, `it is ${String(type).toUpperCase()}${detail}, and the reactors sign with RSA of 2048 to 8192 bits, EC with P-256, P-384 or P-521, and Ed25519`);
}

/** `handshakeTimeout`: the default. @type {(given: Given, label: string, handshakeTimeout: number) => Settings} */
function settingsOf(given, label, handshakeTimeout) {
  const { ALPNProtocols, ticketKeys } = given;
  /** @type {any} */
  const own = readOptions(OWN, given, label);
  if (own.ALPNCallback !== null && ALPNProtocols) {
    const error = new TypeError('The ALPNCallback and ALPNProtocols TLS options are mutually exclusive');
    throw Object.assign(error, { code: 'ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS' });
  }
  return {
    ...own,
    // As of https.createServer().
    alpn: own.ALPNCallback === null ? protocolsOf(ALPNProtocols ?? ['http/1.1'], label) : [],
    handshakeTimeout: own.handshakeTimeout ?? handshakeTimeout,
    ticketKeys: isGiven(ticketKeys) ? ticketKeysOf(ticketKeys, `${label}.ticketKeys`) : null,
  };
}

/**
 * Options that a program can read: no key, no reference to one, and no file that might have one beside a
 * certificate.
 *
 * @param {Given} given
 */
function shownOf({ ca: _ca, cert: _cert, key: _key, passphrase: _passphrase, ticketKeys: _ticketKeys, ...shown }) {
  return shown;
}

/** @type {(keys: unknown, label: string) => Uint8Array} */
function ticketKeysOf(keys, label) {
  const bytes = bytesOf(keys, label);
  if (bytes.length === TICKET_KEYS_LENGTH) return bytes;
  throw new RangeError(`${label} must be ${TICKET_KEYS_LENGTH} bytes. Received ${bytes.length}`);
}

/** @type {(name: any, label: string) => number | undefined} */
function versionOf(name, label) {
  if (!isGiven(name)) return undefined;
  if (OLD_VERSIONS.includes(name)) throw impossible(label, `${name} is broken, and there are TLSv1.2 and TLSv1.3 only`);
  return VERSIONS.get(checkValue({ type: 'string', values: [...VERSIONS.keys()] }, name, label));
}

/** Numbers, in this order; none: all. @type {(ciphers: unknown, label: string) => number[]} */
function ciphersOf(ciphers, label) {
  if (!isGiven(ciphers) || ciphers === tls.DEFAULT_CIPHERS) return [];
  // Exclusions name no suite of ours.
  const names = String(checkValue(SECRET, ciphers, `${label}.ciphers`)).split(':').filter((name) => /^[^!-]/.test(name));
  if (names.length === 0) throw new TypeError(`${label}.ciphers has no suite`);
  const wanted = names.map((name) => {
    const number = suiteOf(name);
    if (number !== undefined) return number;
    throw impossible(`${label}.ciphers`, `${name} is none of the suites of TLS 1.3, or of ECDHE with AES-GCM or ChaCha20`);
  });
  // As in Node, a list for TLS 1.2 leaves TLS 1.3 as it is.
  return [...new Set([...(wanted.some((number) => MODERN_SUITES.includes(number)) ? [] : MODERN_SUITES), ...wanted])];
}

/** Names as latin1. Also in the form of ALPN: each name after its length. @type {(protocols: unknown, label: string) => string[]} */
function protocolsOf(protocols, label) {
  const names = ArrayBuffer.isView(protocols) ? namesIn(bytesOf(protocols, `${label}.ALPNProtocols`)) : protocols;
  const wanted = 'a list of names, each of 1 to 255 bytes';
  if (!Array.isArray(names)) throw wrongSecret(`${label}.ALPNProtocols`, wanted, protocols);
  return names.map((name) => {
    const text = (typeof name === 'string' ? Buffer.from(name) : bytesOf(name, `${label}.ALPNProtocols`)).toString('latin1');
    if (text.length === 0 || text.length > MAX_PROTOCOL) throw wrongSecret(`${label}.ALPNProtocols`, wanted, name);
    return text;
  });
}

/** Each after its length. @param {Buffer} bytes */
function namesIn(bytes) {
  const names = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]) names.push(bytes.toString('latin1', at + 1, at + 1 + bytes[at]));
  return names;
}

/** @param {unknown} value */
function isGiven(value) {
  return value !== undefined && value !== null;
}

/** @type {(value: unknown) => any[]} */
function listOf(value) {
  return isGiven(value) ? [value].flat() : [];
}

/** A copy. @type {(value: unknown, label: string) => Buffer} */
function bytesOf(value, label) {
  if (typeof value === 'string') return Buffer.from(value, 'latin1');
  if (ArrayBuffer.isView(value)) return Buffer.from(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  if (isAnyArrayBuffer(value)) return Buffer.from(Buffer.from(value));
  throw wrongSecret(label, 'a string, a Buffer, a TypedArray or an array of them', value);
}

/** @type {(label: string, reason: string) => TypeError} */
function impossible(label, reason) {
  return new TypeError(`${label} is not possible with a port: ${reason}. The way out is server: https.createServer(options)`);
}

module.exports = { NAMES, OF_CONTEXT, checkGiven, credentialsOf, namesIn, settingsOf, shownOf, ticketKeysOf };
