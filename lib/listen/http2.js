'use strict';

// WebSockets over HTTP/2 (RFC 8441). A stream of Node is translated as a gateway would for a server of
// HTTP/1.1: an upgrade request, and a socket that takes an answer. So hooks, frameworks and refusals work as with HTTP/1.1.

const { randomBytes } = require('node:crypto');
const { IncomingMessage } = require('node:http');
// Not the global one, which a test can replace.
const { setImmediate } = require('node:timers');

const { wrongType } = require('../base/checks');
const { EMPTY_BUFFER } = require('../base/constants');
const { asSocket } = require('../sockets/http2-socket');

/** @import { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2' */
/** @import { AnySocket } from '../connection/state' */

const KEY_BYTES = 16;

const MAJOR = Number.parseInt(process.versions.node, 10);
const OUTLIVES_GOAWAY_SINCE = 24;

/** Code of a GOAWAY (RFC 9113, 7). */
const NO_ERROR = 0;

/** Fields that the request gets from the gateway. */
const REPLACED = new Set(['connection', 'host', 'sec-websocket-key', 'upgrade']);

/** Servers that emit 'upgrade', by a method of ours. @type {WeakMap<object, Function>} */
const emitting = new WeakMap();

/** Sessions that have sent the setting to their clients. @type {WeakSet<object>} */
const announced = new WeakSet();

/** @param {any} server */
function isHttp2(server) {
  return typeof server?.updateSettings === 'function' && typeof server.on === 'function';
}

/**
 * The arguments of 'upgrade'.
 *
 * @type {(stream: AnySocket, headers: IncomingHttpHeaders) => [request: IncomingMessage, socket: AnySocket, head: Buffer]}
 */
function upgradeOf(stream, headers) {
  if (typeof stream?.respond !== 'function') throw wrongType('stream', 'a stream of an HTTP/2 server', stream);
  if (typeof headers !== 'object' || headers === null) throw wrongType('headers', 'an object', headers);
  const socket = asSocket(stream);
  /** @type {any} */
  const request = new IncomingMessage(/** @type {any} */ (socket));
  const { ':method': method, ':path': path } = headers;
  // Extended CONNECT replaces the GET of HTTP/1.1 (RFC 8441, 5).
  request.method = method === 'CONNECT' ? 'GET' : String(method);
  request.url = String(path ?? '');
  request.httpVersionMajor = 2;
  request.httpVersionMinor = 0;
  request.httpVersion = '2.0';
  request.upgrade = true;
  const list = linesOf(headers);
  request._addHeaderLines(list, list.length);
  request.complete = true;
  request.push(null);
  return [request, socket, EMPTY_BUFFER];
}

/** Names and values in turn. @param {IncomingHttpHeaders} headers */
function linesOf(headers) {
  const { ':authority': authority = headers.host, ':method': method, ':protocol': protocol } = headers;
  const list = authority === undefined ? [] : ['host', String(authority)];
  if (method === 'CONNECT' && protocol !== undefined) list.push('connection', 'Upgrade', 'upgrade', String(protocol));
  list.push('sec-websocket-key', randomBytes(KEY_BYTES).toString('base64'));
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || REPLACED.has(name) || value === undefined) continue;
    for (const one of [value].flat()) list.push(name, String(one));
  }
  return list;
}

/**
 * Makes an HTTP/2 server emit 'upgrade' for a WebSocket, while it has a listener for that. Its 'stream' and 'request'
 * listeners see all other streams.
 *
 * @param {any} server
 * @throws {TypeError} For anything but an HTTP/2 server
 */
function emitUpgrades(server) {
  if (!isHttp2(server)) throw wrongType('server', 'an HTTP/2 server', server);
  if (emitting.has(server)) return;
  server.updateSettings({ enableConnectProtocol: true });
  const { emit } = server;
  /** @type {(this: any, event: string | symbol, ...args: any[]) => boolean} */
  const value = function (event, ...args) {
    if (event === 'session') outliveGoaway(args[0]);
    if (event !== 'stream') return Reflect.apply(emit, this, [event, ...args]);
    const [stream, headers] = args;
    const isWebSocket = headers[':method'] === 'CONNECT' && headers[':protocol'] === 'websocket';
    if (!isWebSocket || this.listenerCount('upgrade') === 0) {
      announceConnect(stream.session);
      // An error of a stream without listeners must not end the process.
      return Reflect.apply(emit, this, [event, ...args]) || stream.on('error', () => {});
    }
    // The client might have reset it by now. Then it reports that in a moment, so it needs its listener all the same.
    asSocket(stream);
    return stream.destroyed || stream.closed || Reflect.apply(emit, this, ['upgrade', ...upgradeOf(stream, headers)]);
  };
  emitting.set(server, value);
  Object.defineProperty(server, 'emit', { configurable: true, value, writable: true });
}

/** @param {{ emit: Function }} server */
function isOwnEmit(server) {
  return emitting.get(server) === server.emit;
}

/**
 * Before Node 24, data of a new stream that comes at once with a GOAWAY, which destroys the session, ends the process.
 *
 * @param {ServerHttp2Session} session
 */
function outliveGoaway(session) {
  if (MAJOR >= OUTLIVES_GOAWAY_SINCE) return;
  session.on('goaway', (code) => {
    if (code === NO_ERROR) return;
    let why = /** @type {Parameters<ServerHttp2Session['destroy']>} */ ([]);
    session.destroy = (...args) => void (why = args);
    // Ticks run between frames.
    setImmediate(() => {
      Reflect.deleteProperty(session, 'destroy');
      session.destroy(...why);
    });
  });
}

/** A session that began before its server knew: its client can be told at any time (RFC 8441, 3). @param {ServerHttp2Session | undefined} session */
function announceConnect(session) {
  if (session === undefined || announced.has(session)) return;
  // Settings that are under way can include it.
  if (session.destroyed || session.closed || session.pendingSettingsAck) return;
  announced.add(session);
  if (!session.localSettings.enableConnectProtocol) session.settings({ enableConnectProtocol: true });
}

module.exports = { emitUpgrades, isHttp2, isOwnEmit, outliveGoaway, upgradeOf };
