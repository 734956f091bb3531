'use strict';

// Certificates as `getPeerCertificate()` of Node shows them.

const { X509Certificate } = require('node:crypto');

const { pemOf } = require('./credentials');

/** @typedef {import('node:tls').DetailedPeerCertificate} Detailed */

/** A line of the extension that says where the issuer is found. */
const ACCESS = /([^\n:]*):([^\n]*)(?:\n|$)/g;

/** @type {(certificate: X509Certificate) => Detailed} */
function legacy(certificate) {
  /** @type {any} */
  const shown = certificate.toLegacyObject();
  if (typeof shown.infoAccess !== 'string') return shown;
  /** @type {Record<string, string[]>} */
  const access = Object.create(null);
  for (const [, key, value] of shown.infoAccess.matchAll(ACCESS)) {
    // As Node does, text in quotation marks is JSON.
    (access[key] ??= []).push(value.startsWith('"') ? JSON.parse(value) : value);
  }
  shown.infoAccess = access;
  return shown;
}

/**
 * With `issuerCertificate` as far as issuers are known; a certificate that has issued itself refers to itself.
 *
 * @type {(chain: X509Certificate[], authorities: X509Certificate[]) => Detailed}
 */
function detailed([leaf, ...sent], authorities) {
  const known = new Set([...sent, ...authorities]);
  const first = legacy(leaf);
  for (let [certificate, shown] = [leaf, first]; ; ) {
    if (certificate.checkIssued(certificate)) {
      shown.issuerCertificate = shown;
      return first;
    }
    const issuer = [...known].find((one) => certificate.checkIssued(one));
    if (issuer === undefined) return first;
    // Each once: a peer can send certificates that have issued each other.
    known.delete(issuer);
    const next = legacy(issuer);
    shown.issuerCertificate = next;
    [certificate, shown] = [issuer, next];
  }
}

/** Passed as PEM: DER is tried as PEM first, and a certificate can have PEM in a name. @type {(der: Buffer) => X509Certificate} */
function parsed(der) {
  return new X509Certificate(pemOf('CERTIFICATE', der));
}

/** Whether OpenSSL reads it; once for each certificate of a peer. @param {Buffer} der */
function isReadable(der) {
  try {
    parsed(der);
    return true;
  } catch {
    return false;
  }
}

module.exports = { detailed, isReadable, legacy, parsed };
