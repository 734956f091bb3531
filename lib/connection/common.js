'use strict';

/**
 * Most variants that are remembered: subprotocols and our addresses are few, unless a peer makes
 * some up.
 */
const MOST_VARIANTS = 16;

/** @import { Server } from './state' */

/**
 * @typedef
 *   {{ extensions?: string, local?: number | string, localPort?: number, options?: any, owner?: Server | null, protocol?: string }}
 *   Changes
 */

/**
 * What a WebSocket has in common with others: those of a server have the same options, and most of
 * them the same subprotocol and the same address at our end. Never changed, so that all of them
 * refer to one. Private, for a WebSocket may be printed, or made JSON of, and this leads to the
 * server and all that it has.
 */
class Common {
  #options;
  #owner;
  #protocol;
  #extensions;
  #local;
  #localPort;
  /** Those made of it for connections. @type {Common[] | null} */
  #variants = null;

  /** @param {Changes} what */
  constructor({ extensions = '', local = 0, localPort = 0, options, owner = null, protocol = '' }) {
    this.#options = options;
    this.#owner = owner;
    this.#protocol = protocol;
    this.#extensions = extensions;
    this.#local = local;
    this.#localPort = localPort;
  }

  get options() {
    return this.#options;
  }

  /** @returns {Server | null} */
  get owner() {
    return this.#owner;
  }

  get protocol() {
    return this.#protocol;
  }

  /** As in the answer. */
  get extensions() {
    return this.#extensions;
  }

  /** Our address, as it came; see socket.js. */
  get local() {
    return this.#local;
  }

  get localPort() {
    return this.#localPort;
  }

  /**
   * The one for a connection of a server.
   *
   * @param {Server} owner
   * @param {string} protocol The subprotocol; '' for none
   * @param {string} extensions
   * @param {number | string} local
   * @param {number} localPort
   * @returns {Common}
   */
  opened(owner, protocol, extensions, local, localPort) {
    const variants = (this.#variants ??= []);
    for (let index = variants.length - 1; index >= 0; index--) {
      const variant = variants[index];
      if (
        variant.#local === local &&
        variant.#localPort === localPort &&
        variant.#protocol === protocol &&
        variant.#extensions === extensions &&
        variant.#owner === owner
      ) {
        return variant;
      }
    }
    const made = this.with({ extensions, local, localPort, owner, protocol });
    if (variants.length === MOST_VARIANTS) variants.shift();
    variants.push(made);
    return made;
  }

  /**
   * @param {Changes} changes
   * @returns {Common} Another one
   */
  with(changes) {
    const { extensions, local, localPort, options, owner, protocol } = this;
    return new Common({ extensions, local, localPort, options, owner, protocol, ...changes });
  }
}

/** By options. @type {WeakMap<object, Common>} */
const known = new WeakMap();

const NONE = new Common({});

/**
 * @param {any} options Those of the WebSockets of a server
 * @returns {Common}
 */
function commonOf(options) {
  if (typeof options !== 'object' || options === null) return options === undefined ? NONE : new Common({ options });
  let common = known.get(options);
  if (common === undefined) known.set(options, (common = new Common({ options })));
  return common;
}

/**
 * The fields that a WebSocket would have without it.
 *
 * @type {any}
 */
const fields = {
  get _local() {
    return this._common.local;
  },

  get _localPort() {
    return this._common.localPort;
  },

  get _options() {
    return this._common.options;
  },

  set _options(options) {
    this._common = this._common.with({ options });
  },

  get _owner() {
    return this._common.owner;
  },

  get _protocol() {
    return this._common.protocol;
  },

  set _protocol(protocol) {
    this._common = this._common.with({ protocol });
  },
};

/** @param {any} prototype Of WebSocket */
function install(prototype) {
  const descriptors = Object.getOwnPropertyDescriptors(fields);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

module.exports = { install, commonOf };
