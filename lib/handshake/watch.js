'use strict';

// Notices what a program changes on a server: its listeners, its methods.

/** Methods of an emitter that change its listeners; its other methods that do so call these. */
const METHODS = ['on', 'prependListener', 'removeListener', 'removeAllListeners'];

/** Aliases of two of them. */
const ALIASES = { addListener: 'on', off: 'removeListener' };

/**
 * Calls a function when the listeners of an emitter of a class change.
 *
 * @template {object} T
 * @param {T} prototype
 * @param {(this: T, event?: string | symbol) => void} changed Called after a change; without an
 *   event if it may be any
 */
function watchListeners(prototype, changed) {
  const base = Object.getPrototypeOf(prototype);
  for (const name of METHODS) {
    const own = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    define(prototype, name, function (...args) {
      // Looked up now: a program may have replaced it.
      (own ?? base[name]).apply(this, args);
      changed.call(this, args[0]);
      return this;
    });
  }
  for (const [alias, name] of Object.entries(ALIASES)) {
    define(prototype, alias, function (...args) {
      return /** @type {Record<string, Function>} */ (this)[name](...args);
    });
  }
}

/**
 * @template {object} T
 * @param {T} prototype
 * @param {string} name
 * @param {(this: T, event?: string | symbol, ...rest: unknown[]) => unknown} value
 */
function define(prototype, name, value) {
  Object.defineProperty(value, 'name', { value: name });
  Object.defineProperty(prototype, name, { configurable: true, value, writable: true });
}

/**
 * Calls `changed` after an assignment to a method, own or inherited, with the object that was
 * assigned to: an instance or a prototype. `Object.defineProperty` is not noticed.
 *
 * @template {object} T
 * @param {T} prototype
 * @param {string[]} names
 * @param {(this: unknown) => void} changed
 */
function watchMethods(prototype, names, changed) {
  const base = Object.getPrototypeOf(prototype);
  for (const name of names) {
    let own = Object.hasOwn(prototype, name) ? /** @type {Record<string, unknown>} */ (prototype)[name] : undefined;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: false,
      get: () => own ?? base[name],
      /**
       * @this {unknown}
       * @param {unknown} value
       */
      set(value) {
        if (this === prototype) own = value;
        else Object.defineProperty(this, name, { configurable: true, enumerable: true, value, writable: true });
        changed.call(this);
      },
    });
  }
}

module.exports = { watchListeners, watchMethods };
