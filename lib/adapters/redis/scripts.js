'use strict';

// Each script is one step of Redis, so that messages, their positions and the history have one order.
//
// A topic has a stream of its messages, with offsets as ids, and a hash: the epoch (`e`), the offset of the last message (`o`)
// and how that begins (`c`), the life of Redis in which the epoch was found to be right (`r`) and the last offset before it (`b`),
// and earlier epochs with their last offsets (`l`).
//
// Redis that starts with an older file, and a replica that takes over, give out positions again that a client has seen. Each such life of
// the data has another `master_replid`. In a new life, a node that remembers the last message it has seen shows whether that is still
// there: if not, a history begins; if so, and the node follows the topic, the epoch stays. Other nodes do not know of the messages after it:
// without one that follows the topic the epoch changes, and earlier positions are valid up to here. A position of an earlier life that was
// given in this one is lost, too, also when the stream no longer has it.

const { createHash } = require('node:crypto');

/** Seconds for which the last message of each node is remembered: one that is sent again later is a new one. */
const REMEMBERED = 3600;

/** What comes before a message: with its position, or without. */
const WITH_POSITION = '1';
const PLAIN = '0';

/** Bytes with which a message begins that no other begins with: the version, and the numbers of its node and of itself. */
const CHECK_BYTES = 14;

/** Characters of earlier epochs. */
const MAX_EARLIER = 2048;

/**
 * Sets `epoch`, `top`, `last`, and `earlier`. KEYS: stream, hash; ARGV: a new epoch; the last position that the node has seen, and
 * how its message begins; 0 if the node follows the topic, 1 to wait for one that does, 2 if none has done so; the life in which
 * the node has seen it.
 */
const POSITION = `
local epoch, top, last, life, earlier, base = unpack(redis.call('HMGET', KEYS[2], 'e', 'o', 'c', 'r', 'l', 'b'))
local now = string.sub(string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or '', 1, 16)
top, last, earlier = tonumber(top or 0), last or '', earlier or ''
base = life == now and tonumber(base) or top
local isKnown, isLost = epoch == ARGV[2], false
if isKnown then
  local seen, kept = tonumber(ARGV[3]), last
  if seen < top and ARGV[4] ~= '' then
    local id = string.format('%.0f', seen) .. '-0'
    local found = redis.call('XRANGE', KEYS[1], id, id)
    kept = found[1] and string.sub(found[1][2][2], 1, ${CHECK_BYTES}) or ''
  end
  local isOther = kept ~= ARGV[4]
  if kept == '' then isOther = seen > base and ARGV[6] ~= '' and ARGV[6] ~= now end
  isLost = seen > top or (ARGV[4] ~= '' and isOther)
end
if not epoch or isLost then
  epoch, top, last, earlier = ARGV[1], 0, '', ''
  redis.call('HSET', KEYS[2], 'e', epoch, 'o', 0, 'c', last, 'r', now, 'l', earlier, 'b', 0)
  redis.call('DEL', KEYS[1])
elseif life ~= now then
  if not isKnown or ARGV[5] ~= '0' then
    if ARGV[5] == '1' then return {} end
    earlier = string.sub(earlier .. ' ' .. epoch .. ':' .. string.format('%.0f', top), -${MAX_EARLIER})
    epoch = ARGV[1]
  end
  redis.call('HSET', KEYS[2], 'e', epoch, 'r', now, 'l', earlier, 'b', top)
end
`;

/**
 * KEYS also: the record of the node. ARGV also: most messages, milliseconds for which they and the position stay, the
 * command that publishes, the channel, the number of the first message, and the messages. Returns the epoch and the
 * offset of the last message, and the life, or nothing if it must wait. Messages that were there already are not published again.
 */
const PUBLISH = `${POSITION}
local first, count = tonumber(ARGV[12]), #ARGV - 12
local number = first + count - 1
local known, was, at = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+):([^:]*):(%d+)$')
if known and tonumber(known) >= number then
  if tonumber(known) == number then return { was, at, now } end
  return { '', '0', now }
end
for index = 13, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[7], string.format('%.0f', top + index - 12) .. '-0', 'm', ARGV[index])
end
local offset = string.format('%.0f', top + count)
redis.call('HSET', KEYS[2], 'o', offset, 'c', string.sub(ARGV[#ARGV], 1, ${CHECK_BYTES}))
redis.call('SET', KEYS[3], string.format('%.0f', number) .. ':' .. epoch .. ':' .. offset, 'EX', ${REMEMBERED})
redis.call('PEXPIRE', KEYS[1], ARGV[8])
redis.call('PEXPIRE', KEYS[2], ARGV[9])
for index = 13, #ARGV do
  redis.call(ARGV[10], ARGV[11], '${WITH_POSITION}' .. epoch .. ':' .. string.format('%.0f', top + index - 12) .. ':' .. ARGV[index])
end
return { epoch, offset, now }
`;

/**
 * ARGV also: the range ('since' the position, 'oldest', 'latest'), the position, most messages of the answer, most that are kept, and
 * milliseconds for which the position stays. Returns the epoch, the offset of the last message, 1 unless something is
 * missing, the messages with their ids, how the last message begins, earlier epochs, and the life; or nothing if it must wait.
 */
const HISTORY = `${POSITION}
redis.call('PEXPIRE', KEYS[2], ARGV[12])
local offset = string.format('%.0f', top)
local function answer(isWhole, found) return { epoch, offset, isWhole, found, last, earlier, now } end
if ARGV[7] == 'latest' then return answer(1, {}) end
local least = math.max(top - tonumber(ARGV[11]) + 1, 1)
local from = least
if ARGV[7] == 'since' then
  local valid = top
  if ARGV[8] ~= epoch then
    local _, before = string.find(earlier, ' ' .. ARGV[8] .. ':', 1, true)
    valid = before and tonumber(string.match(earlier, '^%d+', before + 1)) or -1
  end
  from = tonumber(ARGV[9]) + 1
  if from > valid + 1 or (from < least and from <= top) then return answer(0, {}) end
end
local found = redis.call('XRANGE', KEYS[1], string.format('%.0f', from) .. '-0', '+', 'COUNT', ARGV[10])
if ARGV[7] == 'since' and from <= top and (not found[1] or found[1][1] ~= string.format('%.0f', from) .. '-0') then return answer(0, {}) end
return answer(1, found)
`;

/** ARGV: the command that publishes, and channels with their messages. */
const PUBLISH_PLAIN = `for index = 2, #ARGV, 2 do redis.call(ARGV[1], ARGV[index], ARGV[index + 1]) end`;

/** @typedef {{ text: string, hash: string }} Script */

/** @type {(text: string) => Script} */
const script = (text) => ({ text, hash: createHash('sha1').update(text).digest('hex') });

/** How a message begins: no two are the same. @param {Buffer} bytes */
function checkOf(bytes) {
  return bytes.toString('latin1', 0, CHECK_BYTES);
}

module.exports = { HISTORY: script(HISTORY), PLAIN, PUBLISH: script(PUBLISH), PUBLISH_PLAIN, WITH_POSITION, checkOf };
