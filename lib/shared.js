'use strict';

/** Most variants that are remembered: subprotocols and our addresses are few, unless a peer makes some up. */
const MOST_VARIANTS = 16;

/**
 * What a WebSocket has in common with others: those of a server have the same options, and most of them the same subprotocol and
 * the same address at our end. Never changed, so that all of them refer to one.
 */
class Shared {
  /** @param {any} options */
  constructor(options) {
    this.options = options;
    /** The server. @type {any} */
    this.owner = null;
    this.protocol = '';
    /** As in the answer. */
    this.extensions = '';
    /** Our address, as it came; see socket.js. @type {number | string} */
    this.local = 0;
    this.localPort = 0;
    /** Those made of it for connections. @type {Shared[] | null} */
    this.variants = null;
  }

  /**
   * The one for a connection of a server.
   *
   * @param {any} owner
   * @param {string} protocol
   * @param {string} extensions
   * @param {number | string} local
   * @param {number} localPort
   * @returns {Shared}
   */
  opened(owner, protocol, extensions, local, localPort) {
    const variants = (this.variants ??= []);
    for (let index = variants.length - 1; index >= 0; index--) {
      const variant = variants[index];
      if (
        variant.local === local &&
        variant.localPort === localPort &&
        variant.protocol === protocol &&
        variant.extensions === extensions &&
        variant.owner === owner
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
   * @param {Partial<Shared>} changes
   * @returns {Shared} Another one
   */
  with(changes) {
    return Object.assign(new Shared(this.options), this, { variants: null }, changes);
  }
}

/** By options. @type {WeakMap<object, Shared>} */
const known = new WeakMap();

const NONE = new Shared(undefined);

/**
 * @param {any} options Those of the WebSockets of a server
 * @returns {Shared}
 */
function sharedBy(options) {
  if (typeof options !== 'object' || options === null) return options === undefined ? NONE : new Shared(options);
  let shared = known.get(options);
  if (shared === undefined) known.set(options, (shared = new Shared(options)));
  return shared;
}

/**
 * The fields that a WebSocket would have without it.
 *
 * @type {any}
 */
const fields = {
  get _local() {
    return this._shared.local;
  },

  get _localPort() {
    return this._shared.localPort;
  },

  get _options() {
    return this._shared.options;
  },

  set _options(options) {
    this._shared = this._shared.with({ options });
  },

  get _owner() {
    return this._shared.owner;
  },

  get _protocol() {
    return this._shared.protocol;
  },

  set _protocol(protocol) {
    this._shared = this._shared.with({ protocol });
  },
};

/** @param {any} prototype Of WebSocket */
function install(prototype) {
  const descriptors = Object.getOwnPropertyDescriptors(fields);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

module.exports = { install, sharedBy };
