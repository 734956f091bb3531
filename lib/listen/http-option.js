'use strict';

// The program's HTTP server that gets connections of a WebSocketServer's port.

const { Server } = require('node:http');
const { inspect } = require('node:util');

const { wrongType } = require('../base/checks');
const { kPort, kSession } = require('../base/constants');
const { isHttp2, outliveGoaway } = require('./http2');
const { TLS_FIELDS, TLS_METHODS } = require('../sockets/tls-socket');

/** @import EventEmitter from 'node:events' */
/** @import { AnySocket } from '../connection/state' */

// Not the global one, which a test can replace.
const { queueMicrotask } = globalThis;

/** Key, of an option: the server is the port of an HTTP server, and takes no upgrades. */
const kAll = Symbol('all');

const MAJOR = Number.parseInt(process.versions.node, 10);

/** In Node 20, clients that leave corrupt the memory of the process, if their session is on a stream of JavaScript. */
const HTTP2_SINCE = 22;

/** A kind of server, by the event that gives it a connection. @typedef {'connection' | 'secureConnection' | null} Kind */

/** Null for a server that cannot take connections. @type {(server: unknown) => Kind} */
function kindOf(server) {
  if (server instanceof Server) return 'connection';
  if (isHttps(server)) return 'secureConnection';
  const constructor = Object(server).constructor;
  // Loaded only for servers of other modules than node:http.
  const { createSecureServer, createServer } = require('node:http2');
  if (constructor === createServer().constructor) return 'connection';
  // Its 'connection' would begin with TLS. By ALPN, it also serves HTTP/1 if the program allows that.
  return constructor === createSecureServer().constructor ? 'secureConnection' : null;
}

/** @param {unknown} server */
function isHttps(server) {
  return server instanceof require('node:https').Server;
}

/** Servers that were checked, with their kinds. @type {WeakMap<object, string>} */
const kinds = new WeakMap();

/** @type {(server: any, label: string, tls: unknown) => void} @throws {TypeError} */
function checkHttp(server, label, tls) {
  if (process.versions.bun) {
    throw new TypeError(`${label} does not work in Bun: its HTTP servers take only connections of their own. Let the server listen, and give it as options.server`);
  }
  if (isHttps(server) && !tls) {
    throw new TypeError(
      `${label} must not be an https.Server without options.tls: TLS ends at the port, and its own would not be used`,
    );
  }
  const kind = kindOf(server);
  if (kind === null) throw wrongType(label, 'an http.Server', server);
  if (isHttp2(server) && MAJOR < HTTP2_SINCE) {
    throw new TypeError(`${label} must not be an HTTP/2 server with Node ${MAJOR}: its HTTP/2 is safe only on sockets of its own. Give it as 'server', or take Node ${HTTP2_SINCE}`);
  }
  kinds.set(server, kind);
  if (server.listening) {
    const place = inspect(server.address(), { breakLength: Infinity });
    throw new TypeError(`${label} must not listen by itself: it gets connections of options.port. It listens on ${place}`);
  }
}

/** Those of the sockets that the server would accept. Over TLS, the end of one side is the end of both. @type {(server: any, tls: unknown) => { allowHalfOpen: boolean, highWaterMark: number }} */
function optionsFor(server, tls) {
  return { allowHalfOpen: tls === null && server.allowHalfOpen, highWaterMark: server.highWaterMark };
}

/**
 * The server gets a connection, as if it had accepted it, and the bytes that were read of it.
 *
 * @type {(server: EventEmitter, socket: AnySocket, read: Buffer) => void}
 */
function connect(server, socket, read) {
  socket.server = server;
  const event = String(kinds.get(server));
  const isSession = isHttp2(server);
  /** @type {Session | undefined} */
  let session;
  const onSession = (/** @type {Session} */ begun) => {
    session = begun;
    outliveGoaway(begun);
    socket[kSession] = begun;
    begun[kPort] = socket[kPort];
    if (!socket._owner) return;
    socket._owner.serveSession();
    show(begun, socket);
  };
  const unshift = () => {
    if (session?.destroyed || socket.destroyed) return;
    // Node's parser reads the handle, also while the stream is paused: it must not get the next bytes first.
    if (socket.parser?._consumed && socket.isPaused()) socket.emit('data', read);
    else socket.unshift(read);
  };
  if (socket._owner) unshift();
  // Before the tick in which a session reads these bytes, even if it has been destroyed.
  else if (isSession) process.nextTick(unshift);
  // Over TLS Node has a listener, also where HTTP has left the socket to the program; and a connection of another protocol has no session.
  if (isSession || event === 'secureConnection') socket.on('error', () => {});
  if (isSession) server.prependOnceListener('session', onSession);
  try {
    if (event === 'secureConnection') emitConnection(server, socket);
  } finally {
    try {
      server.emit(event, socket);
    } finally {
      server.removeListener('session', onSession);
      // After 'resume', for which Node's parser makes the handle read, also if it has paused the stream before; and after the
      // promises of listeners, which can destroy the socket. The handle reads after all ticks.
      if (!socket._owner && !isSession) queueMicrotask(() => process.nextTick(unshift));
    }
  }
}

/** Programs track sockets by it, also of https: for all listeners but Node's, which would begin TLS. @type {(server: EventEmitter, socket: AnySocket) => void} */
function emitConnection(server, socket) {
  for (const listener of server.rawListeners('connection')) {
    if (listener.name !== 'tlsConnectionListener') Reflect.apply(listener, server, [socket]);
  }
}

/** @typedef {import('node:http2').ServerHttp2Session & { socket: AnySocket, [kPort]?: import('../connection/state').Server }} Session */

/** Node wraps a stream without a handle, for a session, in a socket that hides everything else. @type {(session: Session, socket: AnySocket) => void} */
function show(session, socket) {
  const { socket: wrapper } = session;
  wrapper._peername = { address: socket.remoteAddress, family: socket.remoteFamily, port: socket.remotePort };
  if (!socket.encrypted) return;
  for (const name of TLS_FIELDS) wrapper[name] = socket[name];
  for (const name of TLS_METHODS) wrapper[name] = socket[name].bind(socket);
  for (const name of ['alpnProtocol', 'encrypted']) Object.defineProperty(session, name, { configurable: true, value: socket[name] });
}

/** Starts Node's checks for slow requests: they begin with 'listening', which this server does not emit. @param {EventEmitter} server */
function startChecks(server) {
  for (const listener of server.listeners('listening')) {
    if (listener.name === 'setupConnectionsTracking') Reflect.apply(listener, server, []);
  }
}

/**
 * The option `tls`, for a server of node:http2 with the protocols that it expects.
 *
 * @type {(tls: any, server: unknown) => any}
 */
function withProtocols(tls, server) {
  const isGiven = tls.ALPNProtocols !== undefined || tls.ALPNCallback !== undefined;
  return !isHttp2(server) || isGiven ? tls : { ...tls, ALPNProtocols: ['h2', 'http/1.1'] };
}

module.exports = { checkHttp, connect, kAll, kindOf, optionsFor, startChecks, withProtocols };
