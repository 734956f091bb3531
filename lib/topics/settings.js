'use strict';

// The settings that `topicOptions` returns for a topic.

const {
  HIGH_WATER_MARK,
  SLOW_CATCH_UP,
  SLOW_CLOSE,
  SLOW_DROP,
  SLOW_LATEST,
  SLOW_QUEUE,
} = require('../reactor/layout');
const { checkInteger, checkOptions, wrong } = require('./arguments');

/** @import { TopicOptions } from '../../types/topics' */

/** The ways to treat a message to a connection for which more than `limit` bytes wait. */
const SLOW = /** @type {const} */ ({
  queue: SLOW_QUEUE,
  drop: SLOW_DROP,
  latest: SLOW_LATEST,
  'catch-up': SLOW_CATCH_UP,
  close: SLOW_CLOSE,
});

const U32 = 2 ** 32 - 1;

/** The longest delay a timer takes, in milliseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Milliseconds. */
const DAY = 24 * 60 * 60 * 1000;

/** Least and greatest value of each number. @type {Record<string, [number, number]>} */
const RANGES = {
  history: [0, U32],
  limit: [0, U32],
  maxBytes: [1, U32],
  positionTtl: [1, Number.MAX_SAFE_INTEGER],
  ttl: [1, LONGEST_DELAY],
};

/**
 * @typedef {object} Settings
 * @property {number} slow One of SLOW
 * @property {number} limit Bytes that may wait for a connection before it is slow
 * @property {number} history Messages that are kept; 0: there are no positions
 * @property {number} ttl Milliseconds for which a message is kept; 0 is without end
 * @property {number} maxBytes Bytes of the messages that are kept; 0 is no limit
 * @property {number} positionTtl Milliseconds for which a topic without subscribers keeps its
 *   position, since the last message
 * @property {{ before: string, after: string } | null} stamp
 */

/** @type {Readonly<Settings>} */
const DEFAULTS = Object.freeze({
  slow: SLOW.queue,
  limit: HIGH_WATER_MARK,
  history: 0,
  ttl: 0,
  maxBytes: 0,
  positionTtl: DAY,
  stamp: null,
});

/**
 * The settings of a topic.
 *
 * @param {unknown} given The result of `topicOptions`
 * @returns {Readonly<Settings>} The settings over the defaults
 * @throws {TypeError | RangeError}
 */
function settingsOf(given) {
  if (given === undefined || given === null) return DEFAULTS;
  const options = /** @type {TopicOptions & { then?: unknown }} */ (given);
  // Its settings come when the topic has been made.
  if (typeof options.then === 'function') throw wrong(TypeError, 'topicOptions()', 'an object, not a Promise', given);
  checkOptions(given, Object.keys(DEFAULTS), 'topicOptions()');
  const settings = {
    slow: slowOf(options.slow),
    limit: number('limit', options.limit),
    history: number('history', options.history),
    ttl: number('ttl', options.ttl),
    maxBytes: number('maxBytes', options.maxBytes),
    positionTtl: number('positionTtl', options.positionTtl),
    stamp: stampOf(options.stamp),
  };
  if (settings.history === 0) {
    if (settings.slow === SLOW['catch-up']) throw wrong(RangeError, label('history'), "1 or more for slow: 'catch-up'", 0);
    if (settings.stamp !== null) throw wrong(RangeError, label('history'), '1 or more for a stamp', 0);
  }
  return settings;
}

/** @param {string} name Name of a setting */
function label(name) {
  return `topicOptions().${name}`;
}

/**
 * @param {string} name Name of a setting
 * @param {unknown} value Its value
 * @returns {number} The number
 */
function number(name, value) {
  if (value === undefined || value === null) return /** @type {Record<string, number>} */ (/** @type {unknown} */ (DEFAULTS))[name];
  if (typeof value !== 'number') throw wrong(TypeError, label(name), 'a number', value);
  const [least, most] = RANGES[name];
  checkInteger(label(name), value, least, most);
  return value;
}

/**
 * @param {unknown} value The value of the setting
 * @returns {number} Its number in records
 */
function slowOf(value) {
  if (value === undefined || value === null) return DEFAULTS.slow;
  if (typeof value !== 'string') throw wrong(TypeError, label('slow'), 'a string', value);
  if (Object.hasOwn(SLOW, value)) return SLOW[/** @type {keyof typeof SLOW} */ (value)];
  throw wrong(RangeError, label('slow'), `one of ${Object.keys(SLOW).join(', ')}`, value);
}

/**
 * @param {TopicOptions['stamp']} value The value of the setting, not checked yet
 * @returns {{ before: string, after: string } | null} The text before and after the message; null:
 *   nothing is written
 */
function stampOf(value) {
  if (value === undefined || value === null) return null;
  checkOptions(value, ['before', 'after'], label('stamp'));
  const { before = '', after = '' } = value;
  if (typeof before !== 'string') throw wrong(TypeError, label('stamp.before'), 'a string', before);
  if (typeof after !== 'string') throw wrong(TypeError, label('stamp.after'), 'a string', after);
  return { before, after };
}

module.exports = { DEFAULTS, SLOW, settingsOf };
