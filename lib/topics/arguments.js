'use strict';

// Checks arguments of topic methods before anything has changed.

const { checkValue, wrongType } = require('../base/checks');
const { PRESENCE_CHANNEL } = require('../nodes/envelope');

/** The start of a subscription that is no position. */
const OLDEST = 'oldest';

/** @typedef {import('../base/checks').Range} Range */

const STRING = /** @type {Range} */ ({ type: 'string' });
const OFFSET = /** @type {Range} */ ({ type: 'number', min: 0, max: Number.MAX_SAFE_INTEGER });

const ADAPTER_METHODS = ['start', 'publish', 'subscribe', 'unsubscribe', 'close'];

/** @import { Position, SubscribeOptions } from '../../types/topics' */

/** @param {unknown} topic */
function checkTopic(topic) {
  if (isReserved(String(checkValue(STRING, topic, 'topic')))) throw new RangeError(`topic must not begin with ${JSON.stringify(PRESENCE_CHANNEL)}: nodes use such names`);
}

/** Whether the name is reserved for presence. @param {string} name */
function isReserved(name) {
  return name.startsWith(PRESENCE_CHANNEL);
}

/** Undefined: not in the past. @type {(options: SubscribeOptions | null | undefined) => Position | 'oldest' | undefined} */
function sinceOf(options) {
  const since = options?.since;
  if (since === undefined || since === null) return undefined;
  if (since === OLDEST) return since;
  if (typeof since !== 'object') throw wrongType('options.since', "a position or 'oldest'", since);
  const { epoch, offset } = since;
  checkValue(STRING, epoch, 'options.since.epoch');
  checkValue(OFFSET, offset, 'options.since.offset');
  return { epoch, offset };
}

/** Null without an adapter. @type {(options: any) => import('../../types/adapter').Adapter | null} */
function adapterOf({ adapter }) {
  if (adapter === undefined || adapter === null) return null;
  if (typeof adapter !== 'object') throw wrongType('options.adapter', 'an adapter', adapter);
  for (const name of ADAPTER_METHODS) {
    if (typeof adapter[name] !== 'function') throw wrongType(`options.adapter.${name}`, 'a function', adapter[name]);
  }
  if (adapter.history !== undefined && typeof adapter.history !== 'function') throw wrongType('options.adapter.history', 'a function', adapter.history);
  return adapter;
}

module.exports = { adapterOf, checkTopic, isReserved, sinceOf };
