'use strict';

const tls = require('node:tls');

const { contextOf, nodeOptionsOf } = require('./context');
const { checkedOf } = require('./listener');
const { ticketKeysOf } = require('./options');

/** @import { Given } from './options' */
/** @import { Tls } from './listener' */

/** @typedef {(error: unknown, given?: unknown) => void} Answer */

/** Fields in which a server of Node keeps secrets. */
const SECRETS = ['key', 'passphrase', 'ticketKeys'];

/** Where only Node can listen: the same options and the same faults. @implements {Tls} */
class NodeTls {
  #options;
  /** The server of Node. @type {any} */
  #server = null;

  /** @param {Given} given @param {number} handshakeTimeout Milliseconds, the default */
  constructor(given, handshakeTimeout) {
    const { context, settings } = checkedOf(given, handshakeTimeout);
    const { ALPNCallback, SNICallback, alpn, ticketKeys, ...rest } = settings;
    this.#options = {
      ...rest,
      ...nodeOptionsOf(context),
      ...(ticketKeys === null ? {} : { ticketKeys: Buffer.from(ticketKeys) }),
      ...(ALPNCallback === null ? { ALPNProtocols: alpn } : { ALPNCallback }),
      ...(SNICallback === null ? {} : { SNICallback: forNode(SNICallback) }),
    };
  }

  /**
   * @template {tls.Server} Kind
   * @template Listener
   * @param {object} options
   * @param {Listener} listener
   * @param {(options: object, listener: Listener) => Kind} create
   * @returns {Kind}
   */
  createServer(options, listener, create) {
    const server = create({ ...options, ...this.#options }, listener);
    this.#server = server;
    for (const name of SECRETS) {
      Object.defineProperty(server, name, { configurable: true, enumerable: false, value: this.#server[name], writable: true });
    }
    return server;
  }

  /** @type {Tls['setContext']} */
  setContext(options) {
    const context = nodeOptionsOf(contextOf(options, 'options'));
    const { ticketKeys } = Object(options);
    const isGiven = ticketKeys !== undefined && ticketKeys !== null;
    this.#server.setSecureContext({ ...context, ...(isGiven ? { ticketKeys: Buffer.from(ticketKeysOf(ticketKeys, 'options.ticketKeys')) } : {}) });
  }

  /** @type {Tls['addContext']} */
  addContext(host, options) {
    this.#server.addContext(host, nodeOptionsOf(contextOf(options, `addContext('${host}'): options`)));
  }

  update() {}

  ticketKeys() {
    return this.#server.getTicketKeys();
  }

  /** @type {Tls['setTicketKeys']} */
  setTicketKeys(keys) {
    this.#server.setTicketKeys(Buffer.from(ticketKeysOf(keys, 'keys')));
  }
}

/** Translates its answers, which are made for the reactors. @param {Function} SNICallback */
function forNode(SNICallback) {
  return (/** @type {string} */ servername, /** @type {Answer} */ done) => {
    SNICallback(servername, (/** @type {unknown} */ error, /** @type {unknown} */ given) => {
      if (error || given === undefined || given === null) return done(error);
      let context;
      try {
        context = tls.createSecureContext(nodeOptionsOf(contextOf(given, `SNICallback('${servername}'): options`)));
      } catch (wrong) {
        return done(wrong);
      }
      done(null, context);
    });
  };
}

module.exports = { NodeTls };
