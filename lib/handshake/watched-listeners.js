'use strict';

/** Of an emitter, those that change its listeners; the others call them. */
const METHODS = ['on', 'prependListener', 'removeListener', 'removeAllListeners'];

/** Other names of two of them. */
const ALIASES = { addListener: 'on', off: 'removeListener' };

/**
 * Has the emitters of a class hear when their listeners change.
 *
 * @param {any} prototype Of the class
 * @param {(this: any, event?: string | symbol) => void} changed Called then, without event if it
 *   may be any
 */
function watchListeners(prototype, changed) {
  const base = Object.getPrototypeOf(prototype);
  for (const name of METHODS) {
    const own = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    define(prototype, name, function (...args) {
      // Looked up now: somebody may have put another in its place.
      (own ?? base[name]).apply(this, args);
      changed.call(this, args[0]);
      return this;
    });
  }
  for (const [alias, name] of Object.entries(ALIASES)) {
    define(prototype, alias, function (...args) {
      return this[name](...args);
    });
  }
}

/**
 * @param {any} prototype
 * @param {string} name
 * @param {(this: any, ...args: any[]) => any} value
 */
function define(prototype, name, value) {
  Object.defineProperty(value, 'name', { value: name });
  Object.defineProperty(prototype, name, { configurable: true, value, writable: true });
}

module.exports = { watchListeners };
