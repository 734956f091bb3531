'use strict';

const tls = require('node:tls');

const { because, derOf, namesOf, pemOf } = require('./credentials');
const { checkGiven, credentialsOf } = require('./options');
const { SUITES, versionName } = require('./parameters');
const { addon } = require('../reactor/addon');

/** @import { X509Certificate } from 'node:crypto' */
/** @import { Credentials, Settings } from './options' */

/** Options about client certificates. @typedef {Pick<Settings, 'rejectUnauthorized' | 'requestCert'>} ClientAuth */

/** @typedef {import('../native/binding').SecureContext} Native */

/** As `tls.createSecureContext()` makes for a server of Node: keys, certificates and parameters. Immutable. */
class SecureContext {
  #credentials;
  #label;
  /** By the options about client certificates. @type {Map<string, Native>} */
  #made = new Map();

  /** @param {Credentials} credentials @param {string} label */
  constructor(credentials, label) {
    this.#credentials = credentials;
    this.#label = label;
  }

  get [Symbol.toStringTag]() {
    return /** @type {const} */ ('SecureContext');
  }

  /** @type {(context: SecureContext, clientAuth: ClientAuth) => Native} */
  static native(context, { rejectUnauthorized, requestCert }) {
    const authKey = requestCert ? `requested ${rejectUnauthorized}` : '';
    let native = context.#made.get(authKey);
    if (native === undefined) context.#made.set(authKey, (native = context.#make({ rejectUnauthorized, requestCert })));
    return native;
  }

  /** Options for a server of Node. @type {(context: SecureContext) => any} */
  static node(context) {
    const { ca, ciphers, crl, maxVersion, minVersion, pairs } = context.#credentials;
    return {
      cert: pairs.map(({ chain }) => chain.map(String).join('')),
      key: pairs.map(({ key }) => key.export({ type: 'pkcs8', format: 'pem' })),
      ...(ca.length === 0 ? {} : { ca: ca.map(String) }),
      ...(crl.length === 0 ? {} : { crl: crl.map((list) => pemOf('X509 CRL', list)) }),
      ...(ciphers.length === 0 ? {} : { ciphers: ciphers.map((number) => SUITES.get(number)?.name).join(':') }),
      minVersion: versionName(minVersion),
      maxVersion: versionName(maxVersion),
    };
  }

  /** @param {SecureContext} context */
  static credentials(context) {
    return context.#credentials;
  }

  /** @param {ClientAuth} clientAuth */
  #make(clientAuth) {
    const { ca, pairs, ...rest } = this.#credentials;
    const opened = pairs.map(({ chain, key }) => ({ chain: chain.map(({ raw }) => raw), key: key.export({ type: 'pkcs8', format: 'der' }) }));
    const trusted = clientAuth.requestCert && ca.length === 0 ? defaultRoots().map(derOf) : ca.map(({ raw }) => raw);
    try {
      return new (addon().SecureContext)({ ...rest, ...clientAuth, pairs: opened, ca: trusted });
    } catch (error) {
      const hosts = pairs.length === 0 ? '' : ` (of ${pairs.map(({ chain }) => namesOf(chain[0])).join('; ')})`;
      throw because(`${this.#label}${hosts} cannot be used by the reactors`, error);
    } finally {
      for (const { key } of opened) key.fill(0);
    }
  }
}

/** A context, or the options of one. @type {(given: unknown, label: string) => SecureContext} */
function contextOf(given, label) {
  if (given instanceof SecureContext) return given;
  return new SecureContext(credentialsOf(checkGiven(given, label), label), label);
}

/** @type {(options: import('../../types/tls').SecureContextOptions) => SecureContext} @throws {TypeError | RangeError | Error} */
function createSecureContext(options) {
  const context = contextOf(options, 'options');
  // Throws now for keys and certificates that the reactors cannot use.
  SecureContext.native(context, { rejectUnauthorized: true, requestCert: false });
  return context;
}

/** The certificate authorities that Node trusts. */
function defaultRoots() {
  /** @type {{ getCACertificates?: () => string[], rootCertificates: readonly string[] }} */
  const { getCACertificates, rootCertificates } = tls;
  return getCACertificates?.() ?? rootCertificates;
}

const { credentials: credentialsIn, native: nativeOf, node: nodeOptionsOf } = SecureContext;

module.exports = { SecureContext, contextOf, createSecureContext, credentialsIn, nativeOf, nodeOptionsOf };
