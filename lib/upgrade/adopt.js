'use strict';

const net = require('node:net');

const { GONE, OWN_PONG } = require('../base/bits');
const { hasDescriptors } = require('../base/descriptors');
const { become } = require('../sockets/adopted-socket');
const { isRelayed } = require('../sockets/relayed-socket');
const { NO_SLOT, kPort, kWebSocket } = require('../base/constants');
const { attachStream } = require('../transport/attach');
const { hasOwnPong, servedOptions, socketOptions } = require('../options');
const { ref } = require('../reactor/lifetime');
const { start, want } = require('../reactor/start');
const { state } = require('../reactor/reactors');
const outbox = require('../reactor/outbox');
const { claim, forget } = require('../reactor/table');
const { OUT_ACCEPT, OUT_HEAD } = require('../base/layout');
const { unshared } = require('../base/views');
const WebSocket = require('../websocket');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket, Server, WebSocket as Connection } from '../connection/state' */

const { setSocket } = WebSocket.prototype;

/** A socket is not adopted if the program has replaced one of these, which must be called. */
const METHODS = ['_destroy', '_final', '_read', '_write', '_writev', 'destroy', 'emit', 'end', 'push', 'read', 'write'];

/** Bytes that the reactor can inflate in one piece: each can become a thousand. */
const MAX_COMPRESSED = 8 * 1024;

/** Milliseconds until a failed start is repeated. */
const RETRY_MILLISECONDS = 1000;
let retryAt = 0;

/**
 * Makes a socket the connection of a WebSocket: adopted by a reactor if possible, otherwise served on this thread.
 *
 * @type {(ws: Connection, request: IncomingMessage, socket: AnySocket, head: Buffer, response: string, server: Server) => void}
 */
function attach(ws, request, socket, head, response, server) {
  const { options } = server;
  socket[kWebSocket] = ws;
  // A program's `setSocket()` gets the socket itself, after the 101.
  if (ws.setSocket !== setSocket) {
    socket.write(response);
    ws.setSocket(socket, head, socketOptions(options));
    return;
  }
  // A reactor relays its bytes, and nothing else needs them.
  if (isRelayed(socket) && (socket._owner._bits & GONE) === 0 && isUntouched(socket)) return handBack(ws, request, socket, head, response, server);
  const isBomb = head.length + socket.readableLength > MAX_COMPRESSED && 'permessage-deflate' in ws._extensions;
  if (isAdoptable(socket) && !isBomb && adopt(ws, request, socket, head, Buffer.from(response), server)) return;
  socket.write(response);
  want(server._settings.reactor);
  attachStream(ws, socket, head, socketOptions(options));
}

/**
 * Whether a socket is just a descriptor: the kernel has everything written, it has no other reader, and nothing, such as
 * TLS, changes its bytes.
 *
 * @param {AnySocket} socket
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
    isUntouched(socket)
  );
}

/** Whether nothing waits in it, and it has no reader. @param {AnySocket} socket */
function isUntouched(socket) {
  return (
    !socket.writableEnded &&
    socket.writableLength === 0 &&
    socket.writableCorked === 0 &&
    socket.readableEncoding === null &&
    socket.listenerCount('data') === 0 &&
    socket.listenerCount('readable') === 0 &&
    !METHODS.some((name) => Object.hasOwn(socket, name))
  );
}

/** The reactors; null if no descriptors or threads are left. @type {(server: Server) => typeof state.native | null} */
function startReactor(server) {
  if (performance.now() < retryAt) return null;
  try {
    return start(server._settings.reactor);
  } catch {
    retryAt = performance.now() + RETRY_MILLISECONDS;
    return null;
  }
}

/**
 * The request of a connection that can move to another process; undefined: it cannot.
 *
 * @type {(request: IncomingMessage, socket: AnySocket) => import('../native/binding').AskedOptions | undefined}
 */
function askedOf({ httpVersion, method, rawHeaders, url }, socket) {
  /** @type {Server | undefined} */
  const port = socket[kPort];
  if (!port?._accepts()) return undefined;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  const { remoteAddress: address, remoteFamily: family, remotePort } = socket;
  const host = family === 'IPv6' ? `[${address}]` : address;
  const client = port.options.proxyProtocol && address ? `${host}:${remotePort}` : undefined;
  return { listener: port._listenerId, request: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), client };
}

/**
 * Returns false if nothing has changed.
 *
 * @type {(ws: Connection, request: IncomingMessage, socket: AnySocket, head: Buffer, response: Buffer, server: Server) => boolean}
 */
function adopt(ws, request, socket, head, response, server) {
  const native = startReactor(server);
  // No reactor would ever serve it.
  if (native === null || state.failure !== null) return false;
  const prefix = readAll(socket, head);
  const early = prefix.length === 1 ? unshared(head) : Buffer.concat(prefix);
  const readBefore = socket.bytesRead - early.length;
  const writtenBefore = socket.bytesWritten + response.length;
  if (hasOwnPong(server.options)) ws._bits |= OWN_PONG;
  socket.setNoDelay();
  const place = claim(ws);
  try {
    native.adopt(socket._handle.fd, place, response, early, servedOptions(server, ws), server._rates, askedOf(request, socket));
  } catch {
    // Out of descriptors, but this thread can still serve it.
    forget(place.slot);
    ws._slot = NO_SLOT;
    for (const chunk of prefix.slice(1).reverse()) socket.unshift(chunk);
    return false;
  }
  ref();
  become(socket, ws, readBefore, writtenBefore);
  ws._open();
  return true;
}

/** Bytes read after the request, in pieces. @type {(socket: AnySocket, head: Buffer) => Buffer[]} */
function readAll(socket, head) {
  const pieces = [head];
  while (socket.readableLength !== 0) pieces.push(socket.read());
  return pieces;
}

/**
 * The reactor that relays it serves it from now on. Bytes on their way to the stream are handed back when they come
 * (IN_DATA in connection/receive.js).
 *
 * @type {(ws: Connection, request: IncomingMessage, socket: AnySocket, head: Buffer, response: string, server: Server) => void}
 */
function handBack(ws, request, socket, head, response, server) {
  const { _owner: relay } = socket;
  const { _generation: generation, _slot: slot } = relay;
  if (hasOwnPong(server.options)) ws._bits |= OWN_PONG;
  state.native.serve(slot, generation, servedOptions(server, ws), server._rates, askedOf(request, socket));
  for (const piece of [...readAll(socket, head), ...relay.leave()]) {
    if (piece.length !== 0) outbox.push(slot, generation, OUT_HEAD, piece);
  }
  outbox.push(slot, generation, OUT_ACCEPT, response);
  relay._moveTo(ws, { via: socket[kPort] });
  become(socket, ws, 0, Buffer.byteLength(response));
  ws._open();
}

module.exports = { attach };
