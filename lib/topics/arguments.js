'use strict';

// Checks of the arguments of topic methods, before anything has changed.

const { inspect } = require('node:util');

const { checkNames } = require('../checks');

/** The beginning of a subscription: a position, or the oldest message. */
const OLDEST = 'oldest';

/** Most messages that `history()` may be asked for. */
const MOST_ENTRIES = 2 ** 32 - 1;

/** @import { HistoryOptions, Position, SubscribeOptions } from '../../types/topics' */

/**
 * @param {typeof TypeError | typeof RangeError} Kind Class of the error
 * @param {string} label Name of the argument
 * @param {string} must The values allowed
 * @param {unknown} value Its value
 * @returns {Error} The error for the caller to throw
 */
function wrong(Kind, label, must, value) {
  return new Kind(`${label} must be ${must}. Received ${inspect(value, { depth: 0 })}`);
}

/** @param {unknown} topic The argument of that name */
function checkTopic(topic) {
  if (typeof topic !== 'string') throw wrong(TypeError, 'topic', 'a string', topic);
}

/**
 * @param {unknown} options The argument of that name
 * @param {string[]} known Names of the options that there are
 * @param {string} [label] Name of the argument
 */
function checkOptions(options, known, label = 'options') {
  if (options === undefined || options === null) return;
  if (typeof options !== 'object') throw wrong(TypeError, label, 'an object', options);
  checkNames(options, known, label);
}

/** @param {unknown} callback The argument of that name */
function checkCallback(callback) {
  if (callback === undefined || callback === null || typeof callback === 'function') return;
  throw wrong(TypeError, 'callback', 'a function', callback);
}

/**
 * @param {SubscribeOptions | null | undefined} options The options of a subscription or of
 *   `history()`
 * @returns {Position | 'oldest' | undefined} The position to begin at; undefined: not in the past
 * @throws {TypeError | RangeError} For a value that is not a position
 */
function sinceOf(options) {
  const since = options?.since;
  if (since === undefined || since === null) return undefined;
  if (since === OLDEST) return since;
  if (typeof since !== 'object') throw wrong(TypeError, 'options.since', "a position or 'oldest'", since);
  const { epoch, offset } = since;
  if (typeof epoch !== 'string') throw wrong(TypeError, 'options.since.epoch', 'a string', epoch);
  if (typeof offset !== 'number') throw wrong(TypeError, 'options.since.offset', 'a number', offset);
  checkInteger('options.since.offset', offset, 0, Number.MAX_SAFE_INTEGER);
  return { epoch, offset };
}

/**
 * @param {HistoryOptions | null | undefined} options The options of `history()`
 * @returns {number} The most messages wanted
 */
function limitOf(options) {
  const limit = options?.limit;
  if (limit === undefined || limit === null) return MOST_ENTRIES;
  if (typeof limit !== 'number') throw wrong(TypeError, 'options.limit', 'a number', limit);
  checkInteger('options.limit', limit, 1, MOST_ENTRIES);
  return limit;
}

/**
 * @param {string} label Name of the argument
 * @param {number} value Its value
 * @param {number} least The least value allowed
 * @param {number} most The greatest value allowed
 */
function checkInteger(label, value, least, most) {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw wrong(RangeError, label, `an integer from ${least} to ${most}`, value);
}

module.exports = {
  MOST_ENTRIES,
  checkCallback,
  checkInteger,
  checkOptions,
  checkTopic,
  limitOf,
  sinceOf,
  wrong,
};
