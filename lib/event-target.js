'use strict';

const kListener = Symbol('kListener');
const kAttribute = Symbol('kAttribute');
const kFields = Symbol('kFields');

/** The argument of handlers of `on*` and `addEventListener`. */
class Event {
  /** @type {Record<string, unknown>} */
  [kFields];

  /** @param {string} type */
  constructor(type) {
    this[kFields] = { target: null, type };
  }
}

class CloseEvent extends Event {
  /** @param {string} type @param {{ code?: number, reason?: string, wasClean?: boolean }} [options] */
  constructor(type, { code = 0, reason = '', wasClean = false } = {}) {
    super(type);
    Object.assign(this[kFields], { code, reason, wasClean });
  }
}

class ErrorEvent extends Event {
  /** @param {string} type @param {{ error?: unknown, message?: string }} [options] */
  constructor(type, { error = null, message = '' } = {}) {
    super(type);
    Object.assign(this[kFields], { error, message });
  }
}

class MessageEvent extends Event {
  /** @param {string} type @param {{ data?: unknown }} [options] */
  constructor(type, { data = null } = {}) {
    super(type);
    this[kFields].data = data;
  }
}

/** @type {(constructor: typeof Event, names: string[]) => void} */
function expose({ prototype }, names) {
  for (const name of names) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      /** @this {Event} */
      get() {
        return this[kFields][name];
      },
    });
  }
}

expose(Event, ['target', 'type']);
expose(CloseEvent, ['code', 'reason', 'wasClean']);
expose(ErrorEvent, ['error', 'message']);
expose(MessageEvent, ['data']);

/** @import EventEmitter from 'node:events' */

/** @typedef {((event: Event) => void) | { handleEvent?: (event: Event) => void }} Handler */

/** @typedef {{ _closeFrameReceived: boolean, _closeFrameSent: boolean }} Closing */

/** @typedef {((...list: unknown[]) => void) & { [kListener]?: unknown, [kAttribute]?: boolean }} Listener */

/** @type {Record<string, (target: Closing, first: any, second: any) => Event>} */
const makers = {
  __proto__: /** @type {never} */ (/** @type {unknown} */ (null)),
  open: () => new Event('open'),
  message: (_target, data, isBinary) => new MessageEvent('message', { data: isBinary ? data : data.toString() }),
  close: (target, code, reason) =>
    new CloseEvent('close', {
      code,
      reason: reason.toString(),
      wasClean: target._closeFrameReceived && target._closeFrameSent,
    }),
  error: (_target, error) => new ErrorEvent('error', { error, message: error.message }),
};

/** @type {(emitter: EventEmitter, type: string, handler: unknown, isAttribute: boolean) => Listener | undefined} */
function find(emitter, type, handler, isAttribute) {
  const listeners = /** @type {Listener[]} */ (emitter.listeners(type));
  return listeners.find((one) => one[kAttribute] === isAttribute && (isAttribute || one[kListener] === handler));
}

/** @type {(emitter: EventEmitter, type: string, handler: Handler, once: boolean, isAttribute: boolean) => void} */
function add(emitter, type, handler, once, isAttribute) {
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
  listener[kAttribute] = isAttribute;
  if (once) emitter.once(type, listener);
  else emitter.on(type, listener);
}

/**
 * Types other than open, message, close and error are ignored.
 *
 * @type {(this: EventEmitter, type: string, handler: Handler, options?: { once?: boolean }) => void}
 */
function addEventListener(type, handler, options = {}) {
  if (find(this, type, handler, false) === undefined) add(this, type, handler, !!options.once, false);
}

/** @type {(this: EventEmitter, type: string, handler: unknown) => void} */
function removeEventListener(type, handler) {
  const listener = find(this, type, handler, false);
  if (listener !== undefined) this.removeListener(type, listener);
}

/** @param {EventEmitter} prototype */
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
  Object.assign(prototype, { addEventListener, removeEventListener });
}

module.exports = { CloseEvent, ErrorEvent, Event, MessageEvent, install };
