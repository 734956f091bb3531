'use strict';

// `listen()` of Node's http and https servers, on ports of the reactors.

const { createSocket } = require('node:dgram');
const http = require('node:http');
const https = require('node:https');
const { Server: TlsServer } = require('node:tls');

const { warn } = require('../base/log');
const { listen } = require('../listen');
const { isShared } = require('../listen/listen-target');
const { upgradesOf } = require('../listen/routes');
const { connections } = require('../reactor/table');
const { NAMES, OF_CONTEXT } = require('../tls/options');

/** @import { Listener, PortOptions } from '../../types/server' */

const OF_PORT = ['backlog', 'host', 'ipv6Only', 'port', 'reusePort'];

/** Options of `listen()` that only Node knows. */
const OF_NODE = ['_handle', 'fd', 'handle', 'path', 'signal'];

/** Events for which TLS must be Node's. */
const TLS_EVENTS = ['OCSPRequest', 'keylog', 'newSession', 'resumeSession'];

/** The options of https servers. @type {WeakMap<object, object>} */
const secured = new WeakMap();

/** Ports of servers that listen. @type {WeakMap<object, any>} */
const ports = new WeakMap();

/** @type {any} */
const prototype = TlsServer.prototype;
const { addContext, setSecureContext } = prototype;

// The constructor calls it, with all options.
/** @type {(this: any, options: any) => void} */
prototype.setSecureContext = function (options) {
  Reflect.apply(setSecureContext, this, [options]);
  if (!isHttps(this)) return;
  secured.set(this, options);
  ports.get(this)?.setSecureContext(pick(options, OF_CONTEXT)).catch((/** @type {Error} */ { message }) => warn('REACTOR_WS_REGISTER', `setSecureContext() has no effect: ${message}`));
};

/** @type {(this: any, host: string, context: any) => void} */
prototype.addContext = function (host, context) {
  Reflect.apply(addContext, this, [host, context]);
  ports.get(this)?.addContext(host, context);
};

for (const { prototype: servers } of /** @type {any[]} */ ([http.Server, https.Server])) {
  const { listen: listenWithNode } = servers;
  /** @type {(this: any, ...args: any[]) => any} */
  servers.listen = function (...args) {
    const options = optionsOf(args);
    const reason = options === null || this.listening || isShared(options) ? null : moves(this, options, args.at(-1));
    if (reason !== undefined) Reflect.apply(listenWithNode, this, args);
    if (reason) warn('REACTOR_WS_REGISTER', `the port of a server stays Node's: ${reason}`);
    return this;
  };
}

/** Null if only Node can listen there. @type {(args: any[]) => PortOptions | null} */
function optionsOf([first, ...rest]) {
  if (typeof first === 'object' && first !== null) {
    return first.port == null || isText(first.port) || OF_NODE.some((name) => first[name] != null) ? null : pick(first, OF_PORT);
  }
  if (isText(first)) return null;
  const port = first == null || typeof first === 'function' ? 0 : first;
  const [host] = rest.filter((/** @type {unknown} */ one, /** @type {number} */ index) => index === 0 && typeof one === 'string');
  const backlog = rest.slice(0, 2).find((/** @type {unknown} */ one) => Number(one) > 0);
  return { port, ...(host && { host }), ...(backlog && { backlog: Number(backlog) }) };
}

/** In Node such a text is a path, and as an option wrong; the option `port` of ours takes it for a path. @param {unknown} port */
function isText(port) {
  return typeof port === 'string' && !(Number(port) >= 0);
}

/** The result: why not; undefined if it does. @type {(server: any, options: PortOptions, callback: unknown) => string | null | undefined} */
function moves(server, options, callback) {
  const isTls = isHttps(server);
  const { _contexts: contexts = [] } = server;
  if (contexts.length !== 0) return 'addContext() was called before listen()';
  const event = isTls ? TLS_EVENTS.find((name) => server.listenerCount(name) !== 0) : undefined;
  if (event !== undefined) return `it has a listener of '${event}'`;
  const tls = isTls ? { tls: pick(secured.get(server), NAMES) } : {};
  try {
    const { keepAlive, keepAliveInitialDelay = 0, noDelay } = server;
    const tcp = { keepAlive, keepAliveInitialDelay: keepAliveInitialDelay * 1000, noDelay };
    represent(server, listen(server, { ...options, ...tcp, ...tls }));
  } catch (error) {
    // Node says the same, or has more.
    return /** @type {Error} */ (error).message;
  }
  if (typeof callback === 'function') server.once('listening', callback);
  return undefined;
}

/** `address()`, `close()`, `listening` and so on of the server, by what its methods ask for. @type {(server: any, port: any) => void} */
function represent(server, port) {
  const { _server: listener } = port;
  const handle = Object.assign(closedHandle(), {
    close() {
      // WebSockets that a reactor has accepted for it.
      for (const one of connections()) if (one._profile.shared.via === port) waitFor(server, one);
      port.close();
    },
    getsockname: (/** @type {object} */ out) => (Object.assign(out, listener.address()), 0),
    ref: () => listener.ref(),
    unref: () => listener.unref(),
  });
  const hold = () => {
    server._handle = handle;
    ports.set(server, port);
    if (server._unref) listener.unref();
  };
  // With the name of a host, it listens later, unless `close()` comes before.
  const { _listeningId: turn } = server;
  if (port.address() !== null) hold();
  port.once('listening', () => {
    if (server._listeningId !== turn) return port.close();
    hold();
    server.emit('listening');
  });
  port.on('error', (/** @type {Error} */ error) => {
    server._handle = null;
    server.emit('error', error);
  });
  const isTls = isHttps(server);
  if (isTls) port.on('tlsClientError', (/** @type {Error} */ error, /** @type {object} */ socket) => server.emit('tlsClientError', error, socket));
  /** @type {any} */
  const upgrades = upgradesOf(server);
  const { give } = Object.getPrototypeOf(upgrades);
  // Not by a listener of 'connection', for which JavaScript would have to read the upgrades.
  upgrades.give = (/** @type {any} */ socket, /** @type {Buffer} */ read) => {
    // Node counts the sockets that it accepts itself, and others to their end, which can be before their 'close'.
    if (socket._server == null) {
      socket._server = server;
      server._connections++;
    } else if (socket._server !== server) {
      waitFor(server, socket);
    }
    Reflect.apply(give, upgrades, [socket, read]);
  };
}

/** `send(message, server)` of a process takes it for a handle of libuv, and reports that it is closed; an object without one ends the process. */
function closedHandle() {
  /** @type {any} */
  const socket = createSocket('udp4');
  const state = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'state symbol');
  const handle = state && socket[state].handle;
  socket.close();
  return handle ?? {};
}

/** `close()` of the server does. @type {(server: any, connection: import('node:events')) => void} */
function waitFor(server, connection) {
  server._connections++;
  connection.once('close', () => {
    server._connections--;
    server._emitCloseIfDrained();
  });
}

/** @param {unknown} server */
function isHttps(server) {
  return server instanceof https.Server;
}

/** @type {(from: any, names: string[]) => any} */
function pick(from, names) {
  return Object.fromEntries(names.filter((name) => from[name] != null).map((name) => [name, from[name]]));
}
