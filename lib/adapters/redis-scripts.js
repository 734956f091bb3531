'use strict';

// What Redis does in one step, so that the order of messages, their positions, and what is kept are the same.
//
// A topic has a stream of its messages, whose ids are their offsets, and a hash with the epoch (`e`) and the offset of the last
// message (`o`). Positions whose hash is gone, or that are above the last message, are of messages that Redis has lost.

const { createHash } = require('node:crypto');

/** Seconds for which the last message of each node is remembered: one that is sent again later is a new one. */
const REMEMBERED = 3600;

/** What comes before a message: with its position, or without. */
const WITH_POSITION = '1';
const PLAIN = '0';

/** Sets `epoch` and `top`. KEYS: stream, hash; ARGV: a new epoch, a position that somebody has seen. */
const POSITION = `
local epoch, top = redis.call('HGET', KEYS[2], 'e'), tonumber(redis.call('HGET', KEYS[2], 'o') or 0)
if not epoch or (epoch == ARGV[2] and tonumber(ARGV[3]) > top) then
  epoch, top = ARGV[1], 0
  redis.call('HSET', KEYS[2], 'e', epoch, 'o', 0)
  redis.call('DEL', KEYS[1])
end
`;

/**
 * KEYS also: what is remembered of the node. ARGV also: most messages, milliseconds for which they and the position stay, the
 * command that publishes, the channel, the number of the first message, and the messages. Returns the epoch and the
 * offset of the last message. Messages that were there already are not published again.
 */
const PUBLISH = `${POSITION}
local first, count = tonumber(ARGV[9]), #ARGV - 9
local last = first + count - 1
local known, was, at = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+):([^:]*):(%d+)$')
if known and tonumber(known) >= last then
  if tonumber(known) == last then return { was, at } end
  return { '', '0' }
end
for index = 10, #ARGV do
  top = top + 1
  local offset = string.format('%.0f', top)
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], offset .. '-0', 'm', ARGV[index])
  redis.call(ARGV[7], ARGV[8], '${WITH_POSITION}' .. epoch .. ':' .. offset .. ':' .. ARGV[index])
end
local offset = string.format('%.0f', top)
redis.call('HSET', KEYS[2], 'o', offset)
redis.call('SET', KEYS[3], string.format('%.0f', last) .. ':' .. epoch .. ':' .. offset, 'EX', ${REMEMBERED})
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return { epoch, offset }
`;

/**
 * ARGV also: what is wanted ('since' the position, 'oldest', 'latest'), most messages of the answer, most that are kept, and
 * milliseconds for which the position stays. Returns the epoch, the offset of the last message, 1 unless something is
 * missing, and the messages with their ids.
 */
const HISTORY = `${POSITION}
redis.call('PEXPIRE', KEYS[2], ARGV[7])
local offset = string.format('%.0f', top)
if ARGV[4] == 'latest' then return { epoch, offset, 1, {} } end
local least = math.max(top - tonumber(ARGV[6]) + 1, 1)
local from = least
if ARGV[4] == 'since' then
  from = tonumber(ARGV[3]) + 1
  if epoch ~= ARGV[2] or from > top + 1 or (from < least and from <= top) then return { epoch, offset, 0, {} } end
end
local found = redis.call('XRANGE', KEYS[1], string.format('%.0f', from) .. '-0', '+', 'COUNT', ARGV[5])
if ARGV[4] == 'since' and from <= top and (not found[1] or found[1][1] ~= string.format('%.0f', from) .. '-0') then
  return { epoch, offset, 0, {} }
end
return { epoch, offset, 1, found }
`;

/** @typedef {{ text: string, hash: string }} Script */

/** @type {(text: string) => Script} */
const script = (text) => ({ text, hash: createHash('sha1').update(text).digest('hex') });

module.exports = { HISTORY: script(HISTORY), PLAIN, PUBLISH: script(PUBLISH), WITH_POSITION };
