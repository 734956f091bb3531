'use strict';

// The settings that `topicOptions` returns for a topic.

const { HIGH_WATER_MARK, SLOW } = require('../base/layout');
const { LONGEST_DELAY, checkValue, wrongType } = require('../base/checks');
const { checkOptions } = require('./arguments');

/** @import { TopicOptions } from '../../types/topics' */

const U32 = 2 ** 32 - 1;

/** Milliseconds. */
const DAY = 24 * 60 * 60 * 1000;

/** @type {Array<[Exclude<keyof TopicOptions, 'stamp'>, import('../base/checks').Range]>} */
const RANGES = [
  ['slow', { type: 'string', values: Object.keys(SLOW) }],
  ['history', { type: 'number', least: 0, most: U32 }],
  ['limit', { type: 'number', least: 0, most: U32 }],
  ['maxBytes', { type: 'number', least: 1, most: U32 }],
  ['positionTtl', { type: 'number', least: 1, most: Number.MAX_SAFE_INTEGER }],
  ['ttl', { type: 'number', least: 1, most: LONGEST_DELAY }],
];

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

/** The settings of a topic. @type {(given: unknown) => Readonly<Settings>} @throws {TypeError | RangeError} */
function settingsOf(given) {
  if (given === undefined || given === null) return DEFAULTS;
  const options = /** @type {TopicOptions & { then?: unknown }} */ (given);
  // Its settings come when the topic has been made.
  if (typeof options.then === 'function') throw wrongType('topicOptions()', 'an object, not a Promise', given);
  checkOptions(given, Object.keys(DEFAULTS), 'topicOptions()');
  const settings = /** @type {Settings} */ ({ ...DEFAULTS, stamp: stampOf(options.stamp) });
  for (const [name, range] of RANGES) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    checkValue(range, value, `topicOptions().${name}`);
    settings[name] = typeof value === 'string' ? SLOW[value] : value;
  }
  if (settings.history === 0) {
    if (settings.slow === SLOW['catch-up']) throw new RangeError("topicOptions().history must be 1 or more for slow: 'catch-up'. Received 0");
    if (settings.stamp !== null) throw new RangeError('topicOptions().history must be 1 or more for a stamp. Received 0');
  }
  return settings;
}

/** @type {(value: TopicOptions['stamp']) => { before: string, after: string } | null} */
function stampOf(value) {
  if (value === undefined || value === null) return null;
  checkOptions(value, ['before', 'after'], 'topicOptions().stamp');
  const { before = '', after = '' } = value;
  checkValue({ type: 'string' }, before, 'topicOptions().stamp.before');
  checkValue({ type: 'string' }, after, 'topicOptions().stamp.after');
  return { before, after };
}

module.exports = { DEFAULTS, settingsOf };
