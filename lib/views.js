'use strict';

const prototype = Object.getPrototypeOf(Uint8Array.prototype);

/**
 * The getter itself: an own property of the array must not decide what is sent.
 *
 * @param {string} name
 * @returns {() => any}
 */
function getter(name) {
  return /** @type {{ get: () => any }} */ (Object.getOwnPropertyDescriptor(prototype, name)).get;
}

const lengthOf = getter('length');
const offsetOf = getter('byteOffset');
const bufferOf = getter('buffer');

/**
 * @param {Uint8Array} view
 * @param {ArrayBufferLike} buffer
 * @param {number} offset
 * @param {number} length
 * @returns {boolean} Whether it is a view of these bytes
 */
function isViewOf(view, buffer, offset, length) {
  return lengthOf.call(view) === length && offsetOf.call(view) === offset && bufferOf.call(view) === buffer;
}

module.exports = { isViewOf, lengthOf };
