'use strict';

/**
 * Has assignments to methods heard: to one of an instance, and to one of the class. They do what
 * they always do, and `Object.defineProperty` is not heard.
 *
 * @param {any} prototype Of the class
 * @param {string[]} names Its own methods, or inherited ones
 * @param {(this: any) => void} changed Called behind it, with what was assigned to: an instance, or
 *   a prototype
 */
function watchMethods(prototype, names, changed) {
  const base = Object.getPrototypeOf(prototype);
  for (const name of names) {
    let own = Object.hasOwn(prototype, name) ? prototype[name] : undefined;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: false,
      get: () => own ?? base[name],
      /** @this {any} @param {any} value */
      set(value) {
        if (this === prototype) own = value;
        else Object.defineProperty(this, name, { configurable: true, enumerable: true, value, writable: true });
        changed.call(this);
      },
    });
  }
}

module.exports = { watchMethods };
