'use strict';

/** Subprotocols and our addresses are few, unless a peer invents some. */
const MAX_VARIANTS = 16;

/** @import { Server } from './state' */

/**
 * `extensions` (of the answer) and `protocol` are '' for none; `local` is our address, as an Endpoint keeps its peer's,
 * and `tls` the result of the TLS handshake, as in tls/session.js; '' without TLS; `via` the server of its port, if that is
 * another one than `owner`.
 *
 * @typedef {{ extensions: string, local: number | string, localPort: number, options: unknown, owner: Server | null, protocol: string, tls: string, via: Server | undefined }} Shared
 */

/**
 * Data that WebSockets of a server share: options, and mostly the subprotocol, our address and TLS. Immutable, and private: a
 * WebSocket can be printed, and this refers to the server.
 */
class ConnectionProfile {
  #shared;
  /** Made by `variant`, latest last. @type {ConnectionProfile[] | null} */
  #variants = null;

  /** @param {Partial<Shared>} shared */
  constructor(shared) {
    /** @type {Shared} */
    this.#shared = { extensions: '', local: 0, localPort: 0, options: undefined, owner: null, protocol: '', tls: '', via: undefined, ...shared };
  }

  get shared() {
    return this.#shared;
  }

  /** @type {(changes: Partial<Shared>) => ConnectionProfile} */
  variant(changes) {
    const variants = (this.#variants ??= []);
    const fields = /** @type {Array<keyof Shared>} */ (Object.keys(changes));
    const known = variants.findLast((one) => fields.every((field) => one.#shared[field] === changes[field]));
    if (known !== undefined) return known;
    const made = this.with(changes);
    if (variants.length === MAX_VARIANTS) variants.shift();
    variants.push(made);
    return made;
  }

  /** @type {ConnectionProfile['variant']} */
  with(changes) {
    return new ConnectionProfile({ ...this.#shared, ...changes });
  }
}

/** By options that are objects. @type {WeakMap<object, ConnectionProfile>} */
const known = new WeakMap();

const NONE = new ConnectionProfile({});

/** @type {(options: unknown) => ConnectionProfile} */
function profileOf(options) {
  if (typeof options !== 'object' || options === null) return options === undefined ? NONE : new ConnectionProfile({ options });
  let profile = known.get(options);
  if (profile === undefined) known.set(options, (profile = new ConnectionProfile({ options })));
  return profile;
}

module.exports = { profileOf };
