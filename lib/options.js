'use strict';

const net = require('node:net');

const { WebSocket } = require('./websocket');

/** Milliseconds that a client has for its upgrade request: Node's `headersTimeout`. */
const HANDSHAKE_MILLISECONDS = 60_000;

/** Milliseconds: the longest delay a timer takes. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Node's length of the queue of connections that were not accepted yet. */
const BACKLOG = 511;

const DEFAULTS = {
  allowSynchronousEvents: true,
  autoPong: true,
  maxBufferedChunks: 256 * 1024,
  maxFragments: 16 * 1024,
  maxPayload: 100 * 1024 * 1024,
  maxPendingAutoPongs: 60,
  skipUTF8Validation: false,
  perMessageDeflate: false,
  handleProtocols: null,
  clientTracking: true,
  closeTimeout: 30_000,
  verifyClient: null,
  noServer: false,
  backlog: null,
  server: null,
  host: null,
  path: null,
  port: null,
  WebSocket,
};

/** Options that decide which handshakes JavaScript sees, and may be assigned at any time. */
const WATCHED = ['handleProtocols', 'path', 'verifyClient'];

/**
 * The options over the defaults. An option that is undefined overrides its default, as in ws.
 *
 * @param {any} given
 * @returns {any}
 * @throws {TypeError} Unless there is exactly one of port, server and noServer
 */
function merge(given) {
  const options = { ...DEFAULTS, ...given };
  const { noServer, port, server } = options;
  if (Number(port != null) + Number(!!server) + Number(!!noServer) !== 1) {
    throw new TypeError(
      'One and only one of the "port", "server", or "noServer" options must be specified',
    );
  }
  if (options.perMessageDeflate === true) options.perMessageDeflate = {};
  if (port != null) options.port = portOf(port);
  return options;
}

/**
 * @param {any} port
 * @returns {number}
 * @throws {RangeError} ERR_SOCKET_BAD_PORT, as Node
 */
function portOf(port) {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number === 'number' && number >>> 0 === number && number <= 0xffff) return number;
  // Node's own check throws Node's own error.
  new net.Server().listen({ port });
  throw new RangeError(`options.port should be >= 0 and < 65536. Received ${String(port)}.`);
}

/**
 * Calls `changed` whenever one of the watched options is assigned.
 *
 * @param {any} options
 * @param {() => void} changed
 */
function watch(options, changed) {
  for (const name of WATCHED) {
    let value = options[name];
    Object.defineProperty(options, name, {
      configurable: true,
      enumerable: true,
      get: () => value,
      set(assigned) {
        value = assigned;
        changed();
      },
    });
  }
}

/**
 * A limit as ws takes it: an integer of 32 bits; what is not positive is no limit.
 *
 * @param {any} value
 * @returns {number} 0 is no limit
 */
function limit(value) {
  return Math.max(value | 0, 0);
}

/**
 * A delay as `setTimeout` takes it.
 *
 * @param {any} value
 * @returns {number} Milliseconds
 */
function delay(value) {
  const number = Number(value);
  return number >= 1 && number <= LONGEST_DELAY ? Math.trunc(number) : 1;
}

/**
 * What the reactor is told to listen with.
 *
 * @param {any} options The options of the server
 * @param {string | null} host IP literal; null is every address
 * @param {number} ask Which handshakes JavaScript wants to see
 */
function listenOptions(options, host, ask) {
  return {
    host,
    port: options.port,
    backlog: options.backlog > 0 ? options.backlog | 0 : BACKLOG,
    ipv6Only: !!options.ipv6Only,
    path: options.path ? String(options.path) : null,
    handshakeTimeout: HANDSHAKE_MILLISECONDS,
    ask,
    connection: connectionOptions(options),
  };
}

/**
 * How the reactor serves a connection.
 *
 * @param {any} options The options of the server
 */
function connectionOptions(options) {
  return {
    maxPayload: limit(options.maxPayload),
    maxFragments: limit(options.maxFragments),
    skipUtf8Validation: !!options.skipUTF8Validation,
    autoPong: !!options.autoPong,
    maxPendingAutoPongs: limit(options.maxPendingAutoPongs),
    closeTimeout: delay(options.closeTimeout),
    pingInterval: 0,
    idleTimeout: 0,
  };
}

module.exports = { connectionOptions, listenOptions, merge, watch };
