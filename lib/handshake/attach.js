'use strict';

const net = require('node:net');

const { OWN_PONG } = require('../bits');
const { become } = require('../compat/adopted-socket');
const { negotiatedDeflate } = require('../deflate/options');
const { attachStream } = require('../duplex/attach');
const { connectionOptions, hasOwnPong, reactorOptions, socketOptions } = require('../options');
const { hold } = require('../reactor/lifetime');
const { start } = require('../reactor/start');
const { claim, forget, state } = require('../reactor/table');
const { unshared } = require('../views');
const { WebSocket } = require('../websocket');

/** @import { WebSocket as Connection } from '../connection/state' */
/** @import { ServerOptions } from '../options' */

const { setSocket } = WebSocket.prototype;

/** The WebSocket that a socket belongs to. */
const kWebSocket = Symbol('kWebSocket');

/** Methods that must be called where a program has replaced them on a socket. */
const METHODS = ['destroy', 'emit', 'end', 'push', 'read', 'write'];

/** Bytes that are inflated before others have their turn: one of them can become a thousand. */
const MOST_COMPRESSED = 8 * 1024;

/** Milliseconds after which a reactor that could not be started is tried again. */
const RETRY_MILLISECONDS = 1000;
let retryAt = 0;

/**
 * Node on POSIX: elsewhere a handle has no descriptor, or one that another event loop holds on to.
 */
const hasDescriptors = process.platform !== 'win32' && !process.versions.bun && !process.versions.deno;

/**
 * Makes the connection of a socket a WebSocket: the reactor adopts it if it can, else it is served
 * on this thread.
 *
 * @param {Connection} ws Its owner is the server
 * @param {any} socket Any Duplex
 * @param {Buffer} head What was read behind the request
 * @param {string} response The 101, to be written before anything else
 * @param {ServerOptions} options The options of the server
 */
function attach(ws, socket, head, response, options) {
  socket[kWebSocket] = ws;
  // Whose own it is gets the socket as it is, with the 101 on its way.
  if (ws.setSocket !== setSocket) {
    socket.write(response);
    ws.setSocket(socket, head, socketOptions(options));
    return;
  }
  if (isAdoptable(socket) && !isBomb(ws, socket, head) && adopt(ws, socket, head, Buffer.from(response), options)) return;
  socket.write(response);
  attachStream(ws, socket, head, socketOptions(options));
}

/**
 * Whether a socket is nothing but a descriptor: what it has written is in the kernel, only the
 * WebSocket reads it, and its bytes are those on the wire.
 *
 * @param {any} socket
 * @returns {boolean}
 */
function isAdoptable(socket) {
  return (
    hasDescriptors &&
    Object.getPrototypeOf(socket) === net.Socket.prototype &&
    !socket.encrypted &&
    !socket.connecting &&
    socket._handle !== null &&
    typeof socket._handle === 'object' &&
    socket._handle.fd >= 0 &&
    !socket.writableEnded &&
    socket.writableLength === 0 &&
    socket.writableCorked === 0 &&
    socket.readableEncoding === null &&
    socket.listenerCount('data') === 0 &&
    socket.listenerCount('readable') === 0 &&
    !METHODS.some((name) => Object.hasOwn(socket, name))
  );
}

/**
 * Whether more has come behind the request than may be inflated in one piece, which the reactor
 * would do.
 *
 * @param {Connection} ws
 * @param {any} socket
 * @param {Buffer} head What was read behind the request
 * @returns {boolean}
 */
function isBomb(ws, socket, head) {
  return ws.extensions !== '' && head.length + socket.readableLength > MOST_COMPRESSED;
}

/**
 * @param {ServerOptions} options
 * @returns {any} null: the process has no descriptors or threads left for it
 */
function startReactor(options) {
  if (state.native === null && performance.now() < retryAt) return null;
  try {
    return start(reactorOptions(options));
  } catch {
    retryAt = performance.now() + RETRY_MILLISECONDS;
    return null;
  }
}

/**
 * @param {Connection} ws
 * @param {any} socket
 * @param {Buffer} head What was read behind the request
 * @param {Buffer} response
 * @param {ServerOptions} options
 * @returns {boolean} False: nothing has changed
 */
function adopt(ws, socket, head, response, options) {
  const native = startReactor(options);
  // No reactor would ever serve it.
  if (native === null || state.failure !== null) return false;
  const prefix = [head];
  while (socket.readableLength !== 0) prefix.push(socket.read());
  const early = prefix.length === 1 ? unshared(head) : Buffer.concat(prefix);
  const readBefore = socket.bytesRead - early.length;
  const writtenBefore = socket.bytesWritten + response.length;
  if (hasOwnPong(options)) ws._bits |= OWN_PONG;
  const { generation, slot } = claim(ws);
  try {
    const served = { ...connectionOptions(options), deflate: negotiatedDeflate(ws) };
    native.adopt(socket._handle.fd, slot, generation, response, early, served);
  } catch {
    // Out of descriptors: the one that there is can still be served.
    forget(slot);
    for (const chunk of prefix.slice(1).reverse()) socket.unshift(chunk);
    return false;
  }
  hold();
  ws._slot = slot;
  ws._generation = generation;
  ws._ensureExtra().socket = socket;
  become(socket, ws, readBefore, writtenBefore);
  ws._open();
  return true;
}

module.exports = { attach, kWebSocket };
