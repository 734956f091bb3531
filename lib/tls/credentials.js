'use strict';

// Keys and certificates. OpenSSL reads them here, so that a reactor gets one form of each, and a fault has a name before
// a client connects.

const { X509Certificate, createPrivateKey } = require('node:crypto');

/** @import { KeyObject } from 'node:crypto' */

/** Certificates, the server's own first, and its key. @typedef {{ chain: X509Certificate[], key: KeyObject }} Pair */

/** One section of PEM. OpenSSL takes these labels. */
const CERTIFICATE = section('(?:X509 |TRUSTED )?CERTIFICATE');
const LIST = section('X509 CRL');

/** Characters of a name in a message. */
const MAX_NAME = 100;

/**
 * Certificates in PEM, any number of them, or one in DER.
 *
 * @type {(bytes: Buffer, label: string) => X509Certificate[]}
 */
function certificatesIn(bytes, label) {
  const blocks = bytes.includes('-----BEGIN') ? (bytes.toString('latin1').match(CERTIFICATE) ?? []) : [bytes];
  if (blocks.length === 0) throw new Error(`${label} has no certificate in PEM or DER`);
  return blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw because(`${label} is no certificate in PEM or DER`, cause);
    }
  });
}

/** Lists of revoked certificates, likewise; in DER. @type {(bytes: Buffer, label: string) => Buffer[]} */
function listsIn(bytes, label) {
  if (!bytes.includes('-----BEGIN')) return [bytes];
  const blocks = bytes.toString('latin1').match(LIST) ?? [];
  if (blocks.length === 0) throw new Error(`${label} has no list of revoked certificates in PEM or DER`);
  return blocks.map(derOf);
}

/** @type {(bytes: Buffer, passphrase: string | undefined, label: string) => KeyObject} */
function privateKey(bytes, passphrase, label) {
  const isPem = bytes.includes('-----BEGIN');
  /** @type {(type: 'pkcs1' | 'pkcs8' | 'sec1' | undefined) => KeyObject} */
  const read = (type) => createPrivateKey({ key: bytes, format: isPem ? 'pem' : 'der', type, passphrase });
  // PEM names its type; DER does not.
  for (const type of isPem ? [] : /** @type {const} */ (['pkcs1', 'sec1'])) {
    try {
      return read(type);
    } catch {}
  }
  try {
    return read(isPem ? undefined : 'pkcs8');
  } catch (cause) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (cause);
    const isEncrypted = bytes.includes('ENCRYPTED') || ['ERR_MISSING_PASSPHRASE', 'ERR_OSSL_BAD_DECRYPT'].includes(code);
    if (!isEncrypted) throw because(`${label} is no private key in PEM or DER`, cause);
    throw because(passphrase === undefined ? `${label} is encrypted, and has no passphrase` : `${label} cannot be decrypted with its passphrase`, cause);
  }
}

/**
 * Each chain with its key, whatever the order of the keys. Throws for one without the other, and for an expired
 * certificate.
 *
 * @type {(chains: X509Certificate[][], keys: KeyObject[], label: string) => Pair[]}
 */
function pairsOf(chains, keys, label) {
  if (chains.length !== 0 && keys.length === 0) throw new Error(`${label}.key is missing: ${label}.cert needs one`);
  const unused = new Set(keys);
  const pairs = chains.map((chain) => {
    const [leaf] = chain;
    const key = keys.find((one) => leaf.checkPrivateKey(one));
    if (key === undefined) throw mismatch(`${label}.cert of ${namesOf(leaf)} matches no ${label}.key`);
    unused.delete(key);
    const until = new Date(leaf.validTo);
    if (until.getTime() < Date.now()) {
      const error = new Error(`${label}.cert of ${namesOf(leaf)} has expired: it was valid until ${until.toISOString()}`);
      throw Object.assign(error, { code: 'CERT_HAS_EXPIRED' });
    }
    return { chain, key };
  });
  if (unused.size === 0) return pairs;
  if (chains.length === 0) throw new Error(`${label}.cert is missing: ${label}.key needs one`);
  throw mismatch(`${label}.key matches no ${label}.cert`);
}

/** The hosts of a certificate. @param {X509Certificate} certificate */
function namesOf({ subject, subjectAltName }) {
  const names = subjectAltName?.replaceAll(/(?:DNS|IP Address):/g, '') ?? /^CN=(.*)$/m.exec(subject)?.[1] ?? 'an unnamed host';
  return names.length > MAX_NAME ? `${names.slice(0, MAX_NAME)}...` : names;
}

/** @param {string} label */
function section(label) {
  return new RegExp(`-----BEGIN ${label}-----[^]*?-----END ${label}-----`, 'g');
}

/** The label of one section. @param {string} pem */
function derOf(pem) {
  return Buffer.from(pem.replaceAll(/-----.*-----/g, ''), 'base64');
}

/** @type {(label: string, der: Buffer) => string} */
function pemOf(label, der) {
  return `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;
}

/** With the code of OpenSSL. @param {string} message */
function mismatch(message) {
  return Object.assign(new Error(message), { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' });
}

/** With the code of its cause. @type {(message: string, cause: any) => Error} */
function because(message, cause) {
  const { code, message: reason } = cause;
  return Object.assign(new Error(`${message}: ${reason}`, { cause }), code === undefined ? {} : { code });
}

module.exports = { because, certificatesIn, derOf, listsIn, namesOf, pairsOf, pemOf, privateKey };
