'use strict';

// The end of an OPEN, REQUEST or SECURE record of a TLS connection, which is kept as it is: one string for all
// connections that are alike.

const { TLS_ALPN_LENGTH, TLS_AUTHORIZED, TLS_CERTIFICATES, TLS_ERROR_LENGTH, TLS_FLAGS, TLS_GROUP } = require('../base/layout');
const { TLS_REUSED, TLS_SERVERNAME_LENGTH, TLS_SUITE, TLS_TEXTS, TLS_VERSION } = require('../base/layout');

/** Bytes of the length before a certificate. */
const LENGTH_BYTES = 4;

/**
 * `error`: as OpenSSL names it; texts are '' for none.
 *
 * @typedef {{ version: number, suite: number, group: number, isReused: boolean, isAuthorized: boolean, error: string, servername: string, protocol: string, certificates: Buffer[] }} Session
 */

/** @type {(text: string) => Session} */
function sessionOf(text) {
  const bytes = Buffer.from(text, 'latin1');
  const flags = bytes.readUInt16LE(TLS_FLAGS);
  let at = TLS_TEXTS;
  const next = (/** @type {number} */ length) => bytes.subarray(at, (at += length));
  const [error, servername, protocol] = [TLS_ERROR_LENGTH, TLS_SERVERNAME_LENGTH, TLS_ALPN_LENGTH].map((field) => next(bytes.readUInt16LE(field)).toString('latin1'));
  return {
    version: bytes.readUInt16LE(TLS_VERSION),
    suite: bytes.readUInt16LE(TLS_SUITE),
    group: bytes.readUInt16LE(TLS_GROUP),
    isReused: (flags & TLS_REUSED) !== 0,
    isAuthorized: (flags & TLS_AUTHORIZED) !== 0,
    error,
    servername,
    protocol,
    certificates: Array.from({ length: bytes.readUInt16LE(TLS_CERTIFICATES) }, () => next(next(LENGTH_BYTES).readUInt32LE())),
  };
}

module.exports = { sessionOf };
