'use strict';

const { isSharedArrayBuffer, isUint8Array } = require('node:util').types;

const { FastBuffer } = require('./constants');

const prototype = Object.getPrototypeOf(Uint8Array.prototype);

/**
 * A getter of all typed arrays: a property of the view itself must not decide what is sent.
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
 * Copies shared memory: native code must not look at bytes that another thread may change.
 *
 * @template {Uint8Array} T
 * @param {T} view
 * @returns {T | Buffer}
 */
function unshared(view) {
  return isUint8Array(view) && isSharedArrayBuffer(bufferOf.call(view)) ? new FastBuffer(new Uint8Array(view).buffer) : view;
}

module.exports = { isViewOf, lengthOf, unshared };
