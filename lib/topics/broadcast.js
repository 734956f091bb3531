'use strict';

const { clientsOf } = require('../connection/clients');
const { SENDS_WAIT } = require('../bits');
const { post } = require('../connection/post');
const { PreparedMessage, prepare } = require('../connection/prepared');
const { sendInTurn } = require('../connection/send');
const { OPEN } = require('../constants');
const { state } = require('../reactor/table');
const { messageOf } = require('./message');
const { targetOf } = require('./publish');
const { KIND_MASK, OUT_BINARY, OUT_FLAG_COMPRESS } = require('../reactor/layout');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { BroadcastOptions, Published } from '../../types/topics' */
/** @import { Message } from './message' */

/**
 * Sends a message to all open connections of a server, in the order of `send()`.
 *
 * @param {Server} server The server whose connections get it
 * @param {Published} data See `messageOf`
 * @param {BroadcastOptions | null | undefined} options `except`, and those of `messageOf`
 * @returns {number} To how many
 * @throws {TypeError} Also without `clientTracking`, unless the server listens by itself
 */
function broadcast(server, data, options) {
  const { except } = targetOf(options, null);
  const message = messageOf(data, options);
  const content = contentOf(server, message);
  let count = 0;
  for (const ws of connectionsOf(server)) {
    if (ws._readyState !== OPEN || except.has(ws)) continue;
    if ((ws._bits & SENDS_WAIT) === 0 && !(content instanceof PreparedMessage)) post(ws, message.tag, content);
    else sendInTurn(ws, message.tag, content, undefined);
    count++;
  }
  return count;
}

/**
 * @param {Server} server The server whose connections get it
 * @param {Message} message What is sent
 */
function contentOf(server, { data, prepared, tag }) {
  if (prepared !== null) return prepared;
  const compress = (tag & OUT_FLAG_COMPRESS) !== 0;
  // Compressed once for all with the same parameters.
  if (compress && server.options.perMessageDeflate) return prepare(data, { binary: (tag & KIND_MASK) === OUT_BINARY });
  return data;
}

/**
 * @param {Server} server The server
 * @returns {WebSocket[]} Its open connections
 */
function connectionsOf(server) {
  const clients = /** @type {Set<WebSocket> | null | undefined} */ (clientsOf(server));
  if (clients) return [...clients];
  if (clients === undefined && !server._listens) {
    throw new TypeError('broadcast() needs clientTracking, unless the server listens on a port of its own');
  }
  return state.connections.filter((one) => one !== undefined && one._owner === server && one._readyState === OPEN);
}

module.exports = { broadcast };
