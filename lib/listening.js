'use strict';

// Where a server listens, by what its option `port` is: ws hands that to `server.listen()` of Node.

const { inspect } = require('node:util');

/** @import { ServerOptions } from './options' */

/**
 * Where a reactor listens.
 *
 * @typedef {{ port: number, host: any, backlog: any, ipv6Only?: any }} Place
 */

/** Fields of an object that a reactor can listen by; others, such as `path` and `fd`, need Node. */
const FIELDS = new Set(['port', 'host', 'backlog', 'ipv6Only', 'exclusive']);

/** Characters of a value that an error of Node shows. */
const SHOWN = 28;

/**
 * @param {unknown} port The value of the option
 * @returns {number | undefined} The number that it is or spells; undefined when it is no port
 */
function portNumber(port) {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  return typeof number === 'number' && number >>> 0 === number && number <= 0xffff ? number : undefined;
}

/**
 * @param {unknown} port The value of the option
 * @returns {boolean} Whether it is the name of a pipe, or of a socket in the file system: by Node,
 *   text that is no number of 0 or more
 */
function isPipeName(port) {
  return typeof port === 'string' && !(Number(port) >= 0);
}

/**
 * @param {{ port?: unknown, host?: unknown, backlog?: unknown }} options `host` and `port` as given
 * @returns {any} The port, or the number that it spells
 * @throws {RangeError | TypeError} ERR_SOCKET_BAD_PORT or ERR_INVALID_ARG_VALUE, as Node
 */
function checkPort({ host, port }) {
  if (typeof port === 'object' || isPipeName(port)) return port;
  const number = portNumber(port);
  if (number !== undefined) return number;
  if (typeof port === 'number' || typeof port === 'string') throw badPort(port);
  const given = typeof host === 'string' ? { port, host } : { port };
  const error = new TypeError(`The argument 'options' is invalid. Received ${inspect(given)}`);
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' });
}

/** @param {number | string} port A value that is no port */
function badPort(port) {
  const text = String(port);
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}...` : text;
  const quoted = typeof port === 'string' ? `'${shown}'` : shown;
  const error = new RangeError(
    `options.port should be >= 0 and < 65536. Received type ${typeof port} (${quoted}).`,
  );
  return Object.assign(error, { code: 'ERR_SOCKET_BAD_PORT' });
}

/**
 * @param {ServerOptions} options The options of a server, with a port
 * @returns {Place | null} Where a reactor listens; null: only Node can, and has its own errors
 */
function placeOf({ backlog, host, port }) {
  if (typeof port === 'number') return { port, host, backlog };
  if (typeof port !== 'object') return null;
  // ws hands it to Node alone: the options beside it do not count.
  const given = /** @type {any} */ (port);
  const number = Object.keys(given).every((name) => FIELDS.has(name) || given[name] === undefined)
    ? portNumber(given.port)
    : undefined;
  return number === undefined ? null : { ...given, port: number };
}

/**
 * @param {ServerOptions} options The options of a server, with a port
 * @param {boolean} ipv6Only The value of the option of that name
 * @returns {any} What an HTTP server of Node listens with
 */
function nodePlace({ backlog, host, port }, ipv6Only) {
  if (typeof port === 'object') return ipv6Only ? { ipv6Only, .../** @type {any} */ (port) } : port;
  const where = isPipeName(port) ? { path: port } : { port, host: host ?? undefined, ipv6Only };
  return { ...where, backlog: backlog ?? undefined };
}

module.exports = { checkPort, nodePlace, placeOf };
