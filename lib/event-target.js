'use strict';

const kListener = Symbol('kListener');
const kAttribute = Symbol('kAttribute');
const kFields = Symbol('kFields');

/** The argument of the handlers of `on*` and `addEventListener`. */
class Event {
  /** @type {Record<string, unknown>} */
  [kFields];

  /** @param {string} type */
  constructor(type) {
    this[kFields] = { target: null, type };
  }

  get target() {
    return this[kFields].target;
  }

  get type() {
    return this[kFields].type;
  }
}

class CloseEvent extends Event {
  /**
   * @param {string} type
   * @param {{ code?: number, reason?: string, wasClean?: boolean }} [options]
   */
  constructor(type, { code = 0, reason = '', wasClean = false } = {}) {
    super(type);
    Object.assign(this[kFields], { code, reason, wasClean });
  }

  get code() {
    return this[kFields].code;
  }

  get reason() {
    return this[kFields].reason;
  }

  get wasClean() {
    return this[kFields].wasClean;
  }
}

class ErrorEvent extends Event {
  /**
   * @param {string} type
   * @param {{ error?: unknown, message?: string }} [options]
   */
  constructor(type, { error = null, message = '' } = {}) {
    super(type);
    Object.assign(this[kFields], { error, message });
  }

  get error() {
    return this[kFields].error;
  }

  get message() {
    return this[kFields].message;
  }
}

class MessageEvent extends Event {
  /**
   * @param {string} type
   * @param {{ data?: unknown }} [options]
   */
  constructor(type, { data = null } = {}) {
    super(type);
    this[kFields].data = data;
  }

  get data() {
    return this[kFields].data;
  }
}

/** @type {(constructor: Function, names: string[]) => void} */
function makeEnumerable({ prototype }, names) {
  for (const name of names) Object.defineProperty(prototype, name, { enumerable: true });
}

makeEnumerable(Event, ['target', 'type']);
makeEnumerable(CloseEvent, ['code', 'reason', 'wasClean']);
makeEnumerable(ErrorEvent, ['error', 'message']);
makeEnumerable(MessageEvent, ['data']);

/** @import EventEmitter from 'node:events' */

/** @typedef {((event: Event) => void) | { handleEvent?: (event: Event) => void }} Handler */

/** @typedef {{ addEventListener?: unknown, removeEventListener?: unknown }} Methods */

/** @typedef {{ _closeFrameReceived: boolean, _closeFrameSent: boolean }} Closing */

/**
 * @typedef {Function & { [kListener]?: unknown, [kAttribute]?: boolean }} Marked The listener that
 * stands for a handler
 */

/** @typedef {Marked & ((...list: unknown[]) => void)} Listener */

/**
 * Make an Event of the arguments of each event.
 *
 * @type {Record<string, (target: Closing, first: unknown, second: unknown) => Event>}
 */
const makers = {
  __proto__: /** @type {never} */ (/** @type {unknown} */ (null)),
  open: () => new Event('open'),
  message: (_target, data, isBinary) =>
    new MessageEvent('message', { data: isBinary ? data : /** @type {Buffer} */ (data).toString() }),
  close: (target, code, reason) =>
    new CloseEvent('close', /** @type {{ code: number, reason: string, wasClean: boolean }} */ ({
      code,
      reason: /** @type {Buffer} */ (reason).toString(),
      wasClean: target._closeFrameReceived && target._closeFrameSent,
    })),
  error: (_target, error) => new ErrorEvent('error', { error, message: /** @type {Error} */ (error).message }),
};

/**
 * @param {import('node:events')} emitter
 * @param {string} type
 * @param {unknown} handler
 * @param {boolean} attribute Of an `on*` attribute
 * @returns {Listener | undefined}
 */
function find(emitter, type, handler, attribute) {
  return emitter
    .listeners(type)
    .find(
      (/** @type {Marked} */ listener) =>
        listener[kListener] !== undefined &&
        listener[kAttribute] === attribute &&
        (attribute || listener[kListener] === handler),
    );
}

/**
 * @param {import('node:events')} emitter
 * @param {string} type
 * @param {Handler} handler
 * @param {boolean} once
 * @param {boolean} attribute Of an `on*` attribute
 */
function add(emitter, type, handler, once, attribute) {
  const make = makers[type];
  if (make === undefined) return;
  const listener = /** @type {Listener} */ (
    /** @this {Closing} */
    function (/** @type {unknown} */ first, /** @type {unknown} */ second) {
      const event = make(this, first, second);
      event[kFields].target = this;
      if (typeof handler === 'object' && handler.handleEvent) handler.handleEvent.call(handler, event);
      else /** @type {Function} */ (handler).call(this, event);
    }
  );
  listener[kListener] = handler;
  listener[kAttribute] = attribute;
  if (once) emitter.once(type, listener);
  else emitter.on(type, listener);
}

/**
 * `EventTarget.addEventListener` for the types open, message, close and error; others are ignored.
 *
 * @this {EventEmitter}
 * @param {string} type
 * @param {Handler} handler Function or object with `handleEvent`; adding it twice has no effect
 * @param {{ once?: boolean }} [options]
 */
function addEventListener(type, handler, options = {}) {
  if (find(this, type, handler, false) === undefined) add(this, type, handler, !!options.once, false);
}

/**
 * @this {EventEmitter}
 * @param {string} type
 * @param {unknown} handler
 */
function removeEventListener(type, handler) {
  const listener = find(this, type, handler, false);
  if (listener !== undefined) this.removeListener(type, listener);
}

/**
 * Gives a class `addEventListener`, `removeEventListener` and the `on*` attributes.
 *
 * @param {EventEmitter & Methods} prototype
 */
function install(prototype) {
  for (const type of Object.keys(makers)) {
    Object.defineProperty(prototype, `on${type}`, {
      configurable: true,
      enumerable: true,
      get() {
        const listener = find(this, type, null, true);
        return listener === undefined ? null : listener[kListener];
      },
      set(handler) {
        const listener = find(this, type, null, true);
        if (listener !== undefined) this.removeListener(type, listener);
        if (typeof handler === 'function') add(this, type, handler, false, true);
      },
    });
  }
  prototype.addEventListener = addEventListener;
  prototype.removeEventListener = removeEventListener;
}

module.exports = { CloseEvent, ErrorEvent, Event, MessageEvent, install };
