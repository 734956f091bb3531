'use strict';

// Not the global ones, which a test can replace.
const { clearInterval, setInterval } = require('node:timers');

const { CLIENT, ONE_BY_ONE, OWN_PONG } = require('../base/bits');
const { joinBroadcast } = require('../connection/clients');
const { engineOptions } = require('../connection/options');
const { open: beginOpen, startClosing } = require('../connection/state');
const { negotiatedDeflate } = require('../deflate/options');
const { opened } = require('../reactor/diagnostics');
const { turn } = require('../reactor/dispatch');
const { runOps } = require('../reactor/stream-ops');
const { open } = require('../reactor/start');
const table = require('../reactor/table');
const { Pump, kPump, onData } = require('./pump');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/** @typedef {'allowSynchronousEvents' | 'maxPayload' | 'maxFragments' | 'skipUTF8Validation' | 'generateMask'} Name */

/** @typedef {Pick<import('../..').ClientOptions, Name>} SocketOptions */

/** @this {AnySocket} */
function onDrain() {
  this[kPump].drained();
}

/** @this {AnySocket} */
function onEnd() {
  this[kPump].ended();
}

/** @this {AnySocket} */
function onError() {
  this.removeListener('error', onError);
  this.on('error', () => {});
  const pump = this[kPump];
  if (pump === undefined) return;
  startClosing(pump.ws);
  this.destroy();
}

/** @this {AnySocket} */
function onClose() {
  const pump = this[kPump];
  for (const [event, listener] of LISTENERS) this.removeListener(event, listener);
  this[kPump] = undefined;
  startClosing(pump.ws);
  pump.over();
}

/** Attached until the stream has closed. @type {Array<[event: string, listener: (this: AnySocket, chunk: Buffer) => void]>} */
const LISTENERS = [['close', onClose], ['data', onData], ['drain', onDrain], ['end', onEnd]];

/**
 * Makes a stream the connection of a WebSocket, which then opens.
 *
 * @type {(ws: WebSocket, socket: AnySocket, head: Buffer, options: SocketOptions) => void}
 */
function attachStream(ws, socket, head, options) {
  const native = open();
  const place = table.claimStream(ws);
  const { allowSynchronousEvents = true, generateMask } = options;
  // As in ws, the answer to a ping comes after what handlers of earlier messages send.
  ws._bits = (allowSynchronousEvents ? ws._bits & ~ONE_BY_ONE : ws._bits | ONE_BY_ONE) | OWN_PONG;
  const pump = new Pump(ws, socket, generateMask);
  ws._ensureExtra().stream = pump;
  socket[kPump] = pump;
  if (!native.isDriven) turnOften(native);
  const isServer = (ws._bits & CLIENT) === 0;
  const served = engineOptions({ closeTimeout: ws._closeTimeout }, options, ws._owner?._settings, false);
  served.deflate = negotiatedDeflate(ws);
  native.openStream(place, isServer, served, ws._owner?._rates);

  // Not every Duplex has these methods.
  if (socket.setTimeout) socket.setTimeout(0);
  if (socket.setNoDelay) socket.setNoDelay();
  if (head.length > 0) socket.unshift(head);
  for (const [event, listener] of LISTENERS) socket.on(event, listener);
  socket.on('error', onError);

  beginOpen(ws);
  joinBroadcast(ws);
  // Connections of servers have a request, and are reported with it.
  if (!isServer) opened(ws, null);
  ws.emit('open');
}

/** Milliseconds. Deadlines are exact to a tick of the reactor's wheel. */
const TICK = 16;

/** Calls the reactor while there are streams, in runtimes with another event loop. @type {NodeJS.Timeout | undefined} */
let clock;

/** @param {import('../reactor/reactors').Native} native */
function turnOften(native) {
  clock ??= setInterval(() => {
    native.turn();
    runOps();
    turn(true);
    if (table.hasStreams()) return;
    clearInterval(clock);
    clock = undefined;
  }, TICK).unref();
}

module.exports = { attachStream };
