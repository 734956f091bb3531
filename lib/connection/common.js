'use strict';

/**
 * Most variants that are remembered: subprotocols and our addresses are few, unless a peer makes
 * some up.
 */
const MOST_VARIANTS = 16;

/** @import { Server, WebSocket } from './state' */

/**
 * The fields of a `Common` that are not defaults, or differ from another one.
 *
 * @typedef {object} Changes
 * @property {string} [extensions] The extensions of the answer; '' by default
 * @property {number | string} [local] Our address, as `Peer` keeps it; 0 by default
 * @property {number} [localPort] Our port; 0 by default
 * @property {unknown} [options] The options of the WebSocket; undefined by default
 * @property {Server | null} [owner] The server of the connection; null by default
 * @property {string} [protocol] The subprotocol; '' by default
 */

/**
 * The fields that WebSockets share: those of a server have the same options, and most of
 * them the same subprotocol and the same address at our end. It never changes, so that all of them
 * refer to one object. The fields are private: a WebSocket may be printed or made JSON of, and they
 * lead to the server and all that it has.
 */
class Common {
  #options;
  #owner;
  #protocol;
  #extensions;
  #local;
  #localPort;
  /**
   * The variants that `opened` has made of this object, the latest last. @type {Common[] | null}
   */
  #variants = null;

  /** @param {Changes} what The fields that are not defaults */
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

  /** @returns {Server | null} The server of the connection; null for a client */
  get owner() {
    return this.#owner;
  }

  get protocol() {
    return this.#protocol;
  }

  /** The extensions of the answer. */
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
   * The variant for a connection of a server.
   *
   * @param {Server} owner The server of the connection
   * @param {string} protocol The subprotocol; '' for none
   * @param {string} extensions The extensions of the answer; '' for none
   * @param {number | string} local Our address, as `Peer` keeps it
   * @param {number} localPort Our port
   * @returns {Common} The one variant with these fields
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
   * @param {Changes} changes The fields that differ
   * @returns {Common} A new `Common`
   */
  with(changes) {
    const { extensions, local, localPort, options, owner, protocol } = this;
    return new Common({ extensions, local, localPort, options, owner, protocol, ...changes });
  }
}

/** The commons made for options that are objects. @type {WeakMap<object, Common>} */
const known = new WeakMap();

const NONE = new Common({});

/**
 * @param {unknown} options The options of a WebSocket, of any type
 * @returns {Common} The `Common` of WebSockets with these options
 */
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
