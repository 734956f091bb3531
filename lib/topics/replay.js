'use strict';

const { GONE, SENDS_WAIT, TERMINATED } = require('../bits');
const { post } = require('../connection/post');
const { abandon, arrived, expect, sendFirst, sendLater } = require('../connection/waiting');
const { streamDestroyed } = require('../errors');
const { MOST_ENTRIES } = require('./arguments');
const { ofEntry } = require('./post');
const { askHistory } = require('./requests');
const { PIECE } = require('./stream-member');

/** @import { WebSocket } from '../connection/state' */
/** @import { Waiting } from '../connection/waiting' */
/** @import { Entry, Past } from './requests' */
/** @import { AnyMember } from './stream-member' */
/** @import { AnyTopic } from './topic' */

/**
 * Sends a connection the messages that it has missed, published until now, in the place of this
 * call among its sends. Later sends wait for them, as they do for a Blob.
 *
 * @param {WebSocket} ws The connection that gets it
 * @param {AnyTopic} topic The topic, which has a history
 * @param {number} mode One of FROM
 * @param {number} since Offset
 * @param {(recovered: boolean, replayed: number) => void} done Called with whether nothing is
 *   missing, and the number of messages
 * @param {Pick<AnyMember, 'start'> | null} member It sends the messages, as many as may wait, and
 *   the others when there is room; null: all are sent at once
 */
function replay(ws, topic, mode, since, done, member) {
  /** Without it the reactor has not answered. @type {Past | undefined} */
  let answer;
  const offset = topic.ring?.offset ?? 0;
  let isTurn = false;
  const finish = () => {
    if ((ws._bits & (GONE | TERMINATED)) !== 0 || ws._extra?.stream?.socket.destroyed) {
      process.nextTick(abandon, ws, 0, undefined, streamDestroyed());
      done(false, 0);
      return;
    }
    arrived(ws, 0);
    const past = /** @type {Past} */ (answer);
    const { recovered, top } = past;
    const entries = recovered ? past.entries : [];
    if (member === null) {
      sendFirst(ws, entries.map(sendOf, ws));
      done(recovered, entries.length);
      return;
    }
    sendFirst(ws, [{ size: 0, send: (error) => error === undefined && member.start(past) }]);
    done(recovered, entries.length === 0 ? 0 : top + 1 - entries[0].offset);
  };
  const takeTurn = () => {
    isTurn = true;
    expect(ws, 0);
    // Not in the middle of the sends that wait: the callback would be called before those behind.
    if (answer !== undefined) process.nextTick(finish);
  };
  askHistory(topic, mode, since, member === null ? MOST_ENTRIES : PIECE, (past) => {
    // The reactors have died, and the history with them.
    answer = past ?? { entries: [], recovered: false, top: offset };
    if (isTurn) finish();
  });
  if ((ws._bits & SENDS_WAIT) === 0) takeTurn();
  else sendLater(ws, 0, (error) => (error === undefined ? takeTurn() : done(false, 0)));
}

/**
 * @this {WebSocket} The connection
 * @param {Entry} entry A message that the connection has missed
 * @returns {Waiting} A function that sends it, and its bytes
 */
function sendOf(entry) {
  const { data, tag } = ofEntry(entry);
  return { size: data.length, send: (error) => error === undefined && post(this, tag, data) };
}

module.exports = { replay };
