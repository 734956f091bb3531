'use strict';

const { addon } = require('../reactor/addon');
const { TLS_ASK_ALPN, TLS_ASK_ERRORS, TLS_ASK_SECURE, TLS_ASK_SNI } = require('../base/layout');
const { contextOf, credentialsIn, nativeOf } = require('./context');
const { settingsOf, ticketKeysOf } = require('./options');

/** @import { Server } from '../connection/state' */
/** @import { Given } from './options' */
/** @typedef {InstanceType<typeof import('./context').SecureContext>} SecureContext */

/**
 * The option `tls` of a server, wherever it listens.
 *
 * @typedef {object} Tls
 * @property {(options: unknown) => void} setContext
 * @property {(host: string, options: unknown) => void} addContext
 * @property {() => Buffer} ticketKeys
 * @property {(keys: unknown) => void} setTicketKeys
 * @property {() => void} update After a listener was added or removed
 */

/** TLS of a port on which the reactors listen. @implements {Tls} */
class ReactorTls {
  /** By host; '' is the default. @type {Map<string, SecureContext>} */
  #contexts;
  #server;
  #hooks;

  /** @param {Server} server @param {Given} given @param {number} handshakeTimeout Milliseconds, the default */
  constructor(server, given, handshakeTimeout) {
    const { context, settings } = checkedOf(given, handshakeTimeout);
    const { ticketKeys, ...printable } = settings;
    this.settings = printable;
    this.#server = server;
    this.#contexts = new Map([['', context]]);
    this.#hooks = (settings.SNICallback === null ? 0 : TLS_ASK_SNI) | (settings.ALPNCallback === null ? 0 : TLS_ASK_ALPN);
    const { alpn, sessionTimeout } = settings;
    const shared = { alpn, handshakeTimeout: settings.handshakeTimeout, sessionTimeout, ticketKeys };
    this.native = new (addon().TlsServer)(nativeOf(context, settings), { ...shared, ask: this.#hooks });
  }

  /** @type {Tls['setContext']} */
  setContext(options) {
    const context = contextOf(options, 'options');
    const native = nativeOf(context, this.settings);
    // A program that reads all options again passes these, too.
    const { ticketKeys } = Object(options);
    if (ticketKeys !== undefined && ticketKeys !== null) this.native.setTicketKeys(ticketKeysOf(ticketKeys, 'options.ticketKeys'));
    this.native.setContext(native);
    this.#contexts.set('', context);
  }

  /** @type {Tls['addContext']} */
  addContext(host, options) {
    const context = contextOf(options, `addContext('${host}'): options`);
    this.native.addContext(host, nativeOf(context, this.settings));
    this.#contexts.set(host, context);
  }

  ticketKeys() {
    return this.native.ticketKeys();
  }

  /** @type {Tls['setTicketKeys']} */
  setTicketKeys(keys) {
    this.native.setTicketKeys(ticketKeysOf(keys, 'keys'));
  }

  /** Events without listeners are not reported. */
  update() {
    // Read where the emitters keep them, as this runs for every connection that opens.
    /** @type {any[]} */
    const emitters = [this.#server, this.#server._listener];
    const hasListener = (/** @type {string} */ event) => emitters.some(({ _events: events }) => events[event] !== undefined);
    const wanted = (hasListener('tlsClientError') ? TLS_ASK_ERRORS : 0) | (hasListener('secureConnection') ? TLS_ASK_SECURE : 0);
    const hooks = (this.#hooks & (TLS_ASK_SNI | TLS_ASK_ALPN)) | wanted;
    if (hooks === this.#hooks) return;
    this.#hooks = hooks;
    this.native.setAsk(hooks);
  }

  /** Certificates of the authorities that can issue clients' certificates. */
  authorities() {
    return [...this.#contexts.values()].flatMap((context) => credentialsIn(context).ca);
  }

  /** The server's certificate, if there is only one. */
  certificate() {
    const contexts = this.settings.SNICallback === null ? [...this.#contexts.values()] : [];
    const pairs = contexts.flatMap((context) => credentialsIn(context).pairs);
    return pairs.length === 1 ? pairs[0].chain[0] : null;
  }
}

/** @type {(given: Given, handshakeTimeout: number) => { context: SecureContext, settings: import('./options').Settings }} */
function checkedOf(given, handshakeTimeout) {
  const context = contextOf(given, 'options.tls');
  const settings = settingsOf(given, 'options.tls', handshakeTimeout);
  if (credentialsIn(context).pairs.length !== 0 || settings.SNICallback !== null) return { context, settings };
  throw new TypeError('options.tls needs key and cert, or SNICallback');
}

module.exports = { ReactorTls, checkedOf };
