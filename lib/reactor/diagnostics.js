'use strict';

// Channels of node:diagnostics_channel, for tracers, loggers and tests. Nothing is made for a channel without
// subscribers.

const { channel, tracingChannel } = require('node:diagnostics_channel');
const EventEmitter = require('node:events');
const { Writable } = require('node:stream');

const { kWebSocket } = require('../base/constants');

/** @import { WebSocket } from '../connection/state' */

const opening = channel('reactor-ws:open');
const closing = channel('reactor-ws:close');
const failing = channel('reactor-ws:error');
const refusing = channel('reactor-ws:refused');
const handling = tracingChannel('reactor-ws:message');
const { end, error, start } = handling;

/** The requests of connections that opened while a channel had subscribers. @type {WeakMap<WebSocket, object>} */
const requests = new WeakMap();

/** The request of a connection; null for a client, too. @type {(ws: WebSocket) => object | null} */
const requestOf = (ws) => requests.get(ws) ?? null;

/** A tracer's wrapper of our listener of 'message', as around the one of a Receiver of ws. @type {Function | null} */
let onMessage = null;

/** A tracer might have replaced `on` of Receiver to see messages, as with ws. @param {Writable} receiver */
function handleWith(receiver) {
  if (receiver.on === Writable.prototype.on) return;
  const listened = new EventEmitter();
  Reflect.apply(receiver.on, listened, ['message', handle]);
  onMessage = /** @type {Function} */ (listened.listeners('message')[0]);
}

/** @type {(this: any, data: unknown, isBinary: boolean) => void} */
function handle(data, isBinary) {
  this[kWebSocket].emit('message', data, isBinary);
}

/** Whether a subscriber or a tracer sees messages. */
function isTraced() {
  return onMessage !== null || start.hasSubscribers || end.hasSubscribers || error.hasSubscribers;
}

function areRefusalsSeen() {
  return refusing.hasSubscribers;
}

function isRequestSeen() {
  return opening.hasSubscribers || closing.hasSubscribers || failing.hasSubscribers || isTraced();
}

/** Before 'connection' or, of a client, 'open'. @type {(ws: WebSocket, request: object | null) => void} */
function opened(ws, request) {
  if (!isRequestSeen()) return;
  if (request !== null) requests.set(ws, request);
  if (opening.hasSubscribers) opening.publish({ ws, request });
}

/** Before 'close'. @type {(ws: WebSocket, code: number, reason: Buffer, cause: string | null) => void} */
function closed(ws, code, reason, cause) {
  if (closing.hasSubscribers) closing.publish({ ws, request: requestOf(ws), code, reason, cause });
}

/** Before 'error'. @type {(ws: WebSocket, reason: Error) => Error} */
function failed(ws, reason) {
  if (failing.hasSubscribers) failing.publish({ ws, request: requestOf(ws), error: reason });
  return reason;
}

/** Before the answer. @type {(request: object, server: unknown, status: number) => void} */
function refused(request, server, status) {
  if (refusing.hasSubscribers) refusing.publish({ request, server, status });
}

/** Reports the beginning and end of handlers to subscribers. @type {(ws: WebSocket, data: unknown, isBinary: boolean) => void} */
function emitMessage(ws, data, isBinary) {
  if (!isTraced()) return void ws.emit('message', data, isBinary);
  const receiver = onMessage === null ? null : /** @type {{ _receiver?: object }} */ (ws)._receiver;
  const message = { ws, request: requestOf(ws), data, isBinary };
  if (receiver === null) handling.traceSync(ws.emit, message, ws, 'message', data, isBinary);
  else handling.traceSync(/** @type {typeof handle} */ (onMessage), message, receiver, data, isBinary);
}

module.exports = { areRefusalsSeen, closed, emitMessage, failed, handleWith, isRequestSeen, isTraced, opened, refused };
