'use strict';

const EventEmitter = require('node:events');

/**
 * Replaces Node's dictionary of listeners. Emitters with the same listeners share a layout: each takes 150 bytes less,
 * and finds listeners faster.
 */
/** @type {any} */
const Listeners = function () {};
Listeners.prototype = Object.freeze(Object.create(null));

/** @type {(description: string) => symbol | undefined} */
function symbolOf(description) {
  return Object.getOwnPropertySymbols(new EventEmitter()).find((symbol) => symbol.description === description);
}

/** Key: whether the emitter keeps its `_events`, which can hold `undefined`. */
const kShapeMode = symbolOf('shapeMode');

/** Key: whether the emitter catches its listeners' rejections. */
const kCapture = symbolOf('kCapture');

/**
 * With private parts of Node's constructor; `usingDomains`: whether `node:domain` is loaded.
 *
 * @type {any}
 */
const Original = EventEmitter;

/** Node's own, unless `node:domain` has replaced it. */
const { init, usingDomains } = Original;
const plainInit = usingDomains ? null : init;

/**
 * EventEmitter for a class with many instances. Node's constructor is skipped if it would only record, in 24 bytes,
 * that nothing is special. It keeps existing `_events`, so its dictionary of 250 bytes is never made.
 *
 * @this {any}
 */
function Emitter() {
  this._events = new Listeners();
  this._eventsCount = 0;
  if (Original.init === plainInit && !Original.captureRejections) return;
  Original.call(this);
  // Node can replace this object: it keeps no event without listeners.
  if (kShapeMode !== undefined) this[kShapeMode] = false;
}
Emitter.prototype = EventEmitter.prototype;
Object.setPrototypeOf(Emitter, EventEmitter);
Object.defineProperty(Emitter, 'name', { value: EventEmitter.name });

const ADDERS = ['addListener', 'on', 'prependListener'];

/** Calls `added` when a listener was added to an emitter. @type {(prototype: object, added: (emitter: any, event: unknown) => void) => void} */
function watchListeners(prototype, added) {
  for (const name of ADDERS) {
    const add = Reflect.get(EventEmitter.prototype, name);
    /** @type {(this: object, ...args: unknown[]) => object} */
    const value = function (...args) {
      Reflect.apply(add, this, args);
      added(this, args[0]);
      return this;
    };
    Object.defineProperty(prototype, name, { configurable: true, value, writable: true });
  }
}

/** Keeps instances as they were made, whatever `EventEmitter.prototype` says later. @param {object} prototype */
function fixCapture(prototype) {
  if (kCapture !== undefined) Object.defineProperty(prototype, kCapture, { value: false, writable: true });
}

module.exports = { ADDERS, Emitter: /** @type {any} */ (Emitter), fixCapture, watchListeners };
