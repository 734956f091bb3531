'use strict';

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

module.exports = { watchMethods };
