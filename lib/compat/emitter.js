'use strict';

const EventEmitter = require('node:events');

/**
 * The object in which an emitter keeps its listeners, in place of the dictionary that Node makes
 * for them. The object looks the same from outside, but emitters with the same listeners share
 * their layout: each emitter takes 150 bytes less, and listeners are found faster.
 */
function Listeners() {}
Listeners.prototype = Object.freeze(Object.create(null));

/** @type {(description: string) => symbol | undefined} */
function symbolOf(description) {
  return Object.getOwnPropertySymbols(new EventEmitter()).find((symbol) => symbol.description === description);
}

/**
 * Key: whether the emitter keeps the object of listeners that it found, which may hold `undefined`.
 */
const kShapeMode = symbolOf('shapeMode');

/** Key: whether the emitter catches rejections of its listeners. */
const kCapture = symbolOf('kCapture');

/**
 * @typedef {object} Emitting The private parts of Node's constructor
 * @property {Function} init Sets the fields of an emitter
 * @property {boolean} [usingDomains] Whether `node:domain` is loaded
 * @property {boolean} captureRejections The default of the option
 */

/** The `init` of Node's constructor, as long as `node:domain` has not put another in its place. */
const { init, usingDomains } = /** @type {Emitting} */ (/** @type {unknown} */ (EventEmitter));
const plainInit = usingDomains ? null : init;

/**
 * EventEmitter, for a class of which there are many instances. Where Node's constructor would only
 * record that an instance has nothing special, in 24 bytes of each, it is not called. The
 * constructor leaves alone the listeners that it finds, so that the dictionary, 250 bytes, is not
 * even made.
 *
 * @this {any}
 */
function Emitter() {
  this._events = new /** @type {new () => object} */ (/** @type {unknown} */ (Listeners))();
  this._eventsCount = 0;
  const { captureRejections, init: initNow } = /** @type {Emitting} */ (/** @type {unknown} */ (EventEmitter));
  if (initNow === plainInit && !captureRejections) return;
  /** @type {Function} */ (EventEmitter).call(this);
  // This object may be replaced, as Node's may: it keeps no event without listeners.
  if (kShapeMode !== undefined) this[kShapeMode] = false;
}
Emitter.prototype = EventEmitter.prototype;
Object.setPrototypeOf(Emitter, EventEmitter);
Object.defineProperty(Emitter, 'name', { value: EventEmitter.name });

/**
 * Keeps instances as they were made, whatever the prototype of all emitters says later.
 *
 * @type {(prototype: object) => void}
 */
function settle(prototype) {
  if (kCapture !== undefined) Object.defineProperty(prototype, kCapture, { value: false, writable: true });
}

module.exports = { Emitter: /** @type {typeof EventEmitter} */ (/** @type {unknown} */ (Emitter)), settle };
