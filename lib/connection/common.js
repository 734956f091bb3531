'use strict';

/** Subprotocols and our addresses are few, unless a peer makes some up. */
const MOST_VARIANTS = 16;

/** @import { Server, WebSocket } from './state' */

/**
 * @typedef {object} Changes
 * @property {string} [extensions] Of the answer
 * @property {number | string} [local] Our address, as `Peer` keeps it
 * @property {number} [localPort]
 * @property {unknown} [options]
 * @property {Server | null} [owner]
 * @property {string} [protocol]
 */

/**
 * The fields that the WebSockets of a server share: options, and mostly the subprotocol and the address at our end. It
 * never changes. The fields are private: a WebSocket may be printed, and they lead to the server and all that it has.
 */
class Common {
  #options;
  #owner;
  #protocol;
  #extensions;
  #local;
  #localPort;
  /** Made by `opened`, the latest last. @type {Common[] | null} */
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

  get extensions() {
    return this.#extensions;
  }

  /** Our address, as `Peer` of compat/socket.js keeps it. */
  get local() {
    return this.#local;
  }

  get localPort() {
    return this.#localPort;
  }

  /**
   * The variant for a connection of a server, with the subprotocol and the extensions of the answer; '' for none.
   *
   * @type {(owner: Server, protocol: string, extensions: string, local: number | string, localPort: number) => Common}
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

  /** @type {(changes: Changes) => Common} */
  with(changes) {
    const { extensions, local, localPort, options, owner, protocol } = this;
    return new Common({ extensions, local, localPort, options, owner, protocol, ...changes });
  }
}

/** The commons made for options that are objects. @type {WeakMap<object, Common>} */
const known = new WeakMap();

const NONE = new Common({});

/** @type {(options: unknown) => Common} */
function commonOf(options) {
  if (typeof options !== 'object' || options === null) return options === undefined ? NONE : new Common({ options });
  let common = known.get(options);
  if (common === undefined) known.set(options, (common = new Common({ options })));
  return common;
}

/**
 * The fields that a WebSocket would have without its `Common`.
 *
 * @type {Record<string, unknown> & ThisType<WebSocket & { _common: Common }>}
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

/** @param {object} prototype Prototype of WebSocket */
function install(prototype) {
  const descriptors = Object.getOwnPropertyDescriptors(fields);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

module.exports = { install, commonOf };
