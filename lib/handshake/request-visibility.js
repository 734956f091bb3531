'use strict';

const EventEmitter = require('node:events');
const { isProxy } = require('node:util').types;

const { apply } = Reflect;
const { toString } = Function.prototype;

/** A function of exactly one parameter, an identifier without default: an arrow or a function, async or not. */
const ONE_PARAMETER =
  /^(?:async\s+)?(?:(?:[A-Za-z_$][\w$]*|\(\s*[A-Za-z_$][\w$]*\s*,?\s*\))\s*=>|function(?:\s+[A-Za-z_$][\w$]*)?\s*\(\s*[A-Za-z_$][\w$]*\s*,?\s*\)\s*\{)/;

/** Ways to the other arguments, and the escapes that these names could be written with. */
const BACK_DOOR = /\b(?:arguments|eval)\b|\\u/;

/**
 * What `once()` of Node's emitters registers: a bound function or, since Node 24, a closure. It hands every argument to its
 * `listener`. Only Node's own counts: what it looks like elsewhere is not known.
 */
const wrapper = /** @type {any} */ (new EventEmitter().once('connection', () => {}).rawListeners('connection')[0]);
const wrapperSource = sourceOf(wrapper);
const isWrapperKnown =
  wrapper.name === 'bound onceWrapper' || (wrapper.name === 'wrapper' && wrapperSource.includes('ReflectApply(listener, target, args)'));

/**
 * `emit` of Node, which shows the arguments to nobody but the listeners; null when somebody replaced it before this
 * module was loaded. Only Node's own looks for error monitors.
 */
const plainEmit = sourceOf(EventEmitter.prototype.emit).includes('kErrorMonitor') ? EventEmitter.prototype.emit : null;

/** Where an emitter keeps whether it catches rejections of its listeners; it then passes the arguments on itself. */
const kCapture = /** @type {any} */ (
  Object.getOwnPropertySymbols(new EventEmitter()).find(({ description }) => description === 'kCapture')
);

/** @type {WeakMap<Function, boolean>} */
const judged = new WeakMap();

/**
 * @param {Function} callable
 * @returns {string}
 */
function sourceOf(callable) {
  return apply(toString, callable, []);
}

/**
 * Whether a listener may look at its second argument. False only when its source proves that it cannot.
 *
 * @param {any} listener As `rawListeners()` shows it
 * @returns {boolean}
 */
function seesSecond(listener) {
  let sees = judged.get(listener);
  if (sees === undefined) {
    sees = judge(listener);
    judged.set(listener, sees);
  }
  return sees;
}

/**
 * @param {any} listener
 * @returns {boolean}
 */
function judge(listener) {
  if (isProxy(listener)) return true;
  const source = sourceOf(listener);
  if (isWrapper(listener, source)) return seesSecond(listener.listener);
  return !ONE_PARAMETER.test(source) || BACK_DOOR.test(source);
}

/**
 * @param {any} listener
 * @param {string} source
 * @returns {boolean} Whether `once()` has made it
 */
function isWrapper(listener, source) {
  return (
    isWrapperKnown &&
    source === wrapperSource &&
    listener.name === wrapper.name &&
    typeof listener.listener === 'function'
  );
}

/**
 * Whether anybody could see the second argument of an event: if not, it need not be made.
 *
 * @param {any} emitter
 * @param {string} event
 * @returns {boolean}
 */
function isSecondSeen(emitter, event) {
  if (emitter.emit !== plainEmit || emitter[kCapture] !== false) return true;
  // Not `rawListeners()`: its array would be garbage of every connection that opens.
  const listeners = emitter._events[event];
  if (listeners === undefined) return false;
  return typeof listeners === 'function' ? seesSecond(listeners) : listeners.some(seesSecond);
}

/**
 * `emit`, without the array of arguments that it makes where a single plain listener wants them.
 *
 * @param {any} emitter
 * @param {string} event
 * @param {any} first
 * @param {any} second
 */
function emitTwo(emitter, event, first, second) {
  const listener = emitter._events[event];
  if (typeof listener === 'function' && emitter.emit === plainEmit && emitter[kCapture] === false) {
    apply(listener, emitter, [first, second]);
  } else {
    emitter.emit(event, first, second);
  }
}

/**
 * Whether anybody could notice an event.
 *
 * @param {any} emitter
 * @param {string} event
 * @returns {boolean}
 */
function isHeard(emitter, event) {
  return emitter.emit !== plainEmit || emitter._events[event] !== undefined;
}

module.exports = { emitTwo, isHeard, isSecondSeen, plainEmit, seesSecond };
