'use strict';

/** Subprotocols and our addresses are few, unless a peer invents some. */
const MOST_VARIANTS = 16;

/** @import { Server } from './state' */

/**
 * `extensions` (of the answer) and `protocol` are '' for none; `local` is our address, as an Endpoint keeps its peer's,
 * and `tls` what the handshake of TLS has agreed on, as in tls/session.js; '' without TLS.
 *
 * @typedef {{ extensions: string, local: number | string, localPort: number, options: unknown, owner: Server | null, protocol: string, tls: string }} Shared
 */

/**
 * What WebSockets of a server share: options, and mostly the subprotocol, our address and TLS. Immutable, and private: a
 * WebSocket may be printed, and this leads to the server and all that it has.
 */
class Common {
  #shared;
  /** Made by `opened`, latest last. @type {Common[] | null} */
  #variants = null;

  /** @param {Partial<Shared>} shared */
  constructor(shared) {
    /** @type {Shared} */
    this.#shared = { extensions: '', local: 0, localPort: 0, options: undefined, owner: null, protocol: '', tls: '', ...shared };
  }

  get shared() {
    return this.#shared;
  }

  /** @type {(changes: Partial<Shared>) => Common} */
  opened(changes) {
    const variants = (this.#variants ??= []);
    const fields = /** @type {Array<keyof Shared>} */ (Object.keys(changes));
    const known = variants.findLast((one) => fields.every((field) => one.#shared[field] === changes[field]));
    if (known !== undefined) return known;
    const made = this.with(changes);
    if (variants.length === MOST_VARIANTS) variants.shift();
    variants.push(made);
    return made;
  }

  /** @type {Common['opened']} */
  with(changes) {
    return new Common({ ...this.#shared, ...changes });
  }
}

/** By options that are objects. @type {WeakMap<object, Common>} */
const known = new WeakMap();

const NONE = new Common({});

/** @type {(options: unknown) => Common} */
function commonOf(options) {
  if (typeof options !== 'object' || options === null) return options === undefined ? NONE : new Common({ options });
  let common = known.get(options);
  if (common === undefined) known.set(options, (common = new Common({ options })));
  return common;
}

module.exports = { commonOf };
