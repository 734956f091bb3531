'use strict';

const { isSharedArrayBuffer, isUint8Array } = require('node:util').types;

const { FastBuffer } = require('./constants');

const prototype = Object.getPrototypeOf(Uint8Array.prototype);

/** A getter of the prototype: an own property of the view must not decide which bytes are sent. @type {(name: string) => (this: ArrayBufferView) => any} */
function getter(name) {
  /** @type {any} */
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return get;
}

const lengthOf = getter('length');
const offsetOf = getter('byteOffset');
const bufferOf = getter('buffer');

/** For views of the same length. @type {(one: Uint8Array, other: Uint8Array) => boolean} */
function isSameMemory(one, other) {
  return one === other || (offsetOf.call(one) === offsetOf.call(other) && bufferOf.call(one) === bufferOf.call(other));
}

/** Copies shared memory: another thread can change it while native code reads it. @type {(view: Uint8Array) => Uint8Array} */
function unshared(view) {
  return isUint8Array(view) && isSharedArrayBuffer(bufferOf.call(view)) ? new FastBuffer(new Uint8Array(view).buffer) : view;
}

module.exports = { isSameMemory, lengthOf, unshared };
