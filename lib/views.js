'use strict';

const { isSharedArrayBuffer, isUint8Array } = require('node:util').types;

const { FastBuffer } = require('./constants');

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

/**
 * Another thread may write to a SharedArrayBuffer at any time, and native code must not look at
 * bytes that change meanwhile.
 *
 * @template {Uint8Array} T
 * @param {T} view What is none is returned as it is
 * @returns {T | Buffer} The view; of shared memory, a copy
 */
function unshared(view) {
  return isUint8Array(view) && isSharedArrayBuffer(bufferOf.call(view)) ? new FastBuffer(new Uint8Array(view).buffer) : view;
}

module.exports = { isViewOf, lengthOf, unshared };
