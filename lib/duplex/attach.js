'use strict';

const { CLIENT, GONE, ONE_BY_ONE, STREAM } = require('../bits');
const { OPEN } = require('../constants');
const { opened } = require('../reactor/diagnostics');
const { heedBinaryType } = require('../connection/binary-type');
const { streams, welcome } = require('../connection/clients');
const { startClosing } = require('../connection/state');
const { StreamConnection } = require('./connection');
const { pullAll } = require('./cork');
const { streamClosed } = require('./ending');
const { finishSome } = require('./compression');
const { sendBudget } = require('./send-budget');

/** @import { AnySocket, WebSocket } from '../connection/state' */
/** @import { SocketOptions } from './connection' */

const kConnection = Symbol('connection');

/**
 * @this {AnySocket}
 * @param {Buffer} chunk Bytes that the stream has read
 */
function onData(chunk) {
  this[kConnection].input(chunk);
}

/** @this {AnySocket} */
function onDrain() {
  const { ws } = this[kConnection];
  ws._extra.topics?.drained();
  ws.emit('drain');
}

/** @this {AnySocket} */
function onEnd() {
  startClosing(this[kConnection].ws);
  this.end();
}

/** @this {AnySocket} */
function onError() {
  this.removeListener('error', onError);
  this.on('error', () => {});
  const connection = this[kConnection];
  if (connection === undefined) return;
  startClosing(connection.ws);
  this.destroy();
}

/** @this {AnySocket} */
function onClose() {
  const connection = this[kConnection];
  const { ws } = connection;
  this.removeListener('close', onClose);
  this.removeListener('data', onData);
  this.removeListener('drain', onDrain);
  this.removeListener('end', onEnd);
  this[kConnection] = undefined;
  streams.delete(ws);
  if (streams.size === 0) process.removeListener('exit', writeAll);
  connection.silence?.stop();
  startClosing(ws);
  ws._bits |= GONE;
  try {
    connection.job?.abandon();
  } finally {
    streamClosed(connection);
  }
}

/** Writes the frames that wait: nothing runs after 'exit'. */
function writeAll() {
  finishSome();
  pullAll();
}

/**
 * Makes a stream the connection of a WebSocket, which is open then.
 *
 * @param {WebSocket} ws A WebSocket without a connection
 * @param {AnySocket} socket The stream, a Duplex: what only a net.Socket has is looked for
 * @param {Buffer} head The bytes read from the stream after the handshake
 * @param {SocketOptions} options As given to `setSocket()`
 */
function attachStream(ws, socket, head, options) {
  if (streams.size === 0) process.on('exit', writeAll);
  streams.add(ws);
  const given = ws._owner?.options;
  // An own property only: a program may have extended Object.prototype.
  sendBudget.use((given && Object.hasOwn(given, 'sendBudget') && given.sendBudget) || 0);
  const connection = new StreamConnection(ws, socket, options);
  const { allowSynchronousEvents = true } = options;
  ws._bits = (allowSynchronousEvents ? ws._bits & ~ONE_BY_ONE : ws._bits | ONE_BY_ONE) | STREAM;
  ws._ensureExtra().stream = connection;
  socket[kConnection] = connection;
  connection.reader = onData;

  // A plain Duplex has neither method.
  if (socket.setTimeout) socket.setTimeout(0);
  if (socket.setNoDelay) socket.setNoDelay();
  if (head.length > 0) socket.unshift(head);
  socket.on('close', onClose);
  socket.on('data', onData);
  socket.on('drain', onDrain);
  socket.on('end', onEnd);
  socket.on('error', onError);

  heedBinaryType(ws);
  ws._readyState = OPEN;
  welcome(ws);
  // Connections of servers have a request, and are reported with it.
  if ((ws._bits & CLIENT) !== 0) opened(ws, null);
  ws.emit('open');
}

module.exports = { attachStream };
