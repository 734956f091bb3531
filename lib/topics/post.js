'use strict';

const { SENDS_WAIT } = require('../bits');
const { copyOf } = require('../connection/arguments');
const { post } = require('../connection/post');
const { attempt, sendLater } = require('../connection/waiting');
const { OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_TEXT } = require('../reactor/layout');

/** @import { SentCallback, WebSocket } from '../connection/state' */
/** @import { Message } from './message' */
/** @import { Entry } from './requests' */

/**
 * Sends a message to one connection, in its place among the connection's other sends.
 *
 * @param {WebSocket} ws The connection that gets it
 * @param {Message} message The message
 * @param {SentCallback} [written] Called when the kernel has it, or with an error when it never
 *   will
 */
function postTo(ws, message, written) {
  if ((ws._bits & SENDS_WAIT) === 0) {
    attempt(ws, 0, written, () => post(ws, message.tag, message.data, written));
    return;
  }
  const { data, tag } = owned(message);
  sendLater(ws, data.length, (error) => {
    if (error === undefined) post(ws, tag, data, written);
    else written?.(error);
  });
}

/**
 * @param {Message} message The message
 * @returns {Message} The message with bytes that the caller cannot change
 */
function owned(message) {
  const { data, tag } = message;
  if (message.owned === undefined) {
    message.owned = typeof data === 'string' ? message : { tag, data: copyOf(data), prepared: null };
    message.owned.owned = message.owned;
  }
  return message.owned;
}

/**
 * @param {Entry} entry A message of a history
 * @returns {Message} The message, to be sent
 */
function ofEntry({ data, isText }) {
  const tag = (isText ? OUT_TEXT : OUT_BINARY) | OUT_FLAG_FIN | OUT_FLAG_COMPRESS;
  return { tag, data, prepared: null };
}

module.exports = { ofEntry, owned, postTo };
