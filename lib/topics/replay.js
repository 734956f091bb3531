'use strict';

const { GONE, SENDS_WAIT, TERMINATED } = require('../bits');
const { post } = require('../connection/post');
const { abandon, arrived, expect, sendFirst, sendLater } = require('../connection/waiting');
const { streamDestroyed } = require('../errors');
const { MOST_ENTRIES } = require('./arguments');
const { ofEntry } = require('./post');
const { askHistory } = require('./requests');

/** @import { WebSocket } from '../connection/state' */
/** @import { Waiting } from '../connection/waiting' */
/** @import { Entry, Past } from './requests' */
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
 */
function replay(ws, topic, mode, since, done) {
  /** The reactor has not answered; null: it never will. @type {Past | null | undefined} */
  let answer;
  let isTurn = false;
  const finish = () => {
    if ((ws._bits & (GONE | TERMINATED)) !== 0 || ws._extra?.stream?.socket.destroyed) {
      process.nextTick(abandon, ws, 0, undefined, streamDestroyed());
      done(false, 0);
      return;
    }
    arrived(ws, 0);
    const entries = answer?.recovered ? answer.entries : [];
    sendFirst(ws, entries.map(sendOf, ws));
    done(Boolean(answer?.recovered), entries.length);
  };
  const takeTurn = () => {
    isTurn = true;
    expect(ws, 0);
    if (answer !== undefined) finish();
  };
  askHistory(topic, mode, since, MOST_ENTRIES, (past) => {
    answer = past;
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
