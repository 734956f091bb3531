'use strict';

// Checks the result of `topicOptions` for a topic.

const { HIGH_WATER_MARK, SLOW } = require('../base/layout');
const { MAX_DELAY, checkOptions, checkValue, wrongType } = require('../base/checks');

/** @import { TopicOptions } from '../../types/topics' */

const U32 = 2 ** 32 - 1;

/** Milliseconds. */
const DAY = 24 * 60 * 60 * 1000;

/** @type {Array<[keyof TopicOptions, import('../base/checks').Range]>} */
const RANGES = [
  ['slow', { type: 'string', values: Object.keys(SLOW) }],
  ['history', { type: 'number', min: 0, max: U32 }],
  ['limit', { type: 'number', min: 0, max: U32 }],
  ['maxBytes', { type: 'number', min: 1, max: U32 }],
  ['positionTtl', { type: 'number', min: 1, max: Number.MAX_SAFE_INTEGER }],
  ['ttl', { type: 'number', min: 1, max: MAX_DELAY }],
];

/**
 * `slow`: one of SLOW. `limit`: bytes that can wait before a connection is slow. `history`: messages kept (0: no
 * positions), for `ttl` milliseconds (0: without end), up to `maxBytes` (0: no limit). `positionTtl`: milliseconds
 * since the last message for which a topic without subscribers keeps its position. `header`: the topic in JSON, if a line
 * with it and the position stands before each message.
 *
 * @typedef {Record<'slow' | 'limit' | 'history' | 'ttl' | 'maxBytes' | 'positionTtl', number> & { header: string | null }} Settings
 */

/** @type {Readonly<Settings>} */
const DEFAULTS = Object.freeze({
  slow: SLOW.queue,
  limit: HIGH_WATER_MARK,
  history: 0,
  ttl: 0,
  maxBytes: 0,
  positionTtl: DAY,
  header: null,
});

/** `header` is not for programs. */
const NAMES = Object.keys(DEFAULTS).filter((name) => name !== 'header');

/** @type {(given: unknown) => Readonly<Settings>} */
function settingsOf(given) {
  if (given === undefined || given === null) return DEFAULTS;
  const options = /** @type {TopicOptions & { then?: unknown }} */ (given);
  // The topic is made before a Promise resolves.
  if (typeof options.then === 'function') throw wrongType('topicOptions()', 'an object, not a Promise', given);
  checkOptions(given, NAMES, 'topicOptions()');
  const settings = /** @type {Settings} */ ({ ...DEFAULTS });
  for (const [name, range] of RANGES) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    checkValue(range, value, `topicOptions().${name}`);
    settings[name] = typeof value === 'string' ? SLOW[value] : value;
  }
  if (settings.history === 0 && settings.slow === SLOW['catch-up']) {
    throw new RangeError("topicOptions().history must be 1 or more for slow: 'catch-up'. Received 0");
  }
  return settings;
}

module.exports = { DEFAULTS, settingsOf };
