'use strict';

const { isSharedArrayBuffer, isUint8Array } = require('node:util').types;

const { FastBuffer } = require('./constants');

const prototype = Object.getPrototypeOf(Uint8Array.prototype);

/**
 * A getter of all typed arrays: an own property of a view must not decide what is sent.
 *
 * @param {string} name Name of the getter, of every typed array
 * @returns {(this: ArrayBufferView) => any} The getter
 */
function getter(name) {
  return /** @type {{ get: () => unknown }} */ (Object.getOwnPropertyDescriptor(prototype, name)).get;
}

const lengthOf = getter('length');
const offsetOf = getter('byteOffset');
const bufferOf = getter('buffer');

/**
 * @param {Uint8Array} view Bytes
 * @param {ArrayBufferLike} buffer The memory that the view may have
 * @param {number} offset Where a view of it begins, in bytes
 * @param {number} length Length of that view, in bytes
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
 * @param {T} view A view; any other value is returned as it is
 * @returns {T | Buffer} The view itself, or a copy if its memory is shared
 */
function unshared(view) {
  return isUint8Array(view) && isSharedArrayBuffer(bufferOf.call(view)) ? new FastBuffer(new Uint8Array(view).buffer) : view;
}

module.exports = { isViewOf, lengthOf, unshared };
