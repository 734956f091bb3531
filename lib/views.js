'use strict';

const { isSharedArrayBuffer, isUint8Array } = require('node:util').types;

const { FastBuffer } = require('./constants');

const prototype = Object.getPrototypeOf(Uint8Array.prototype);

/**
 * A getter of all typed arrays: an own property of a view must not decide what is sent.
 *
 * @type {(name: string) => (this: ArrayBufferView) => any}
 */
function getter(name) {
  return /** @type {{ get: () => unknown }} */ (Object.getOwnPropertyDescriptor(prototype, name)).get;
}

const lengthOf = getter('length');
const offsetOf = getter('byteOffset');
const bufferOf = getter('buffer');

/** @type {(view: Uint8Array, buffer: ArrayBufferLike, offset: number, length: number) => boolean} */
function isViewOf(view, buffer, offset, length) {
  return lengthOf.call(view) === length && offsetOf.call(view) === offset && bufferOf.call(view) === buffer;
}

/**
 * Another thread may write to a SharedArrayBuffer at any time, and native code must not look at
 * bytes that change meanwhile.
 *
 * @template {Uint8Array} T
 * @param {T} view
 * @returns {T | Buffer} The view itself, or a copy if its memory is shared
 */
function unshared(view) {
  return isUint8Array(view) && isSharedArrayBuffer(bufferOf.call(view)) ? new FastBuffer(new Uint8Array(view).buffer) : view;
}

module.exports = { isViewOf, lengthOf, unshared };
