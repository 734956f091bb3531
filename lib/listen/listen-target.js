'use strict';

// Where a server listens: option `port`, which ws passes to Node's `server.listen()`.

const { closeSync } = require('node:fs');
const { SocketAddress, isIPv6 } = require('node:net');
const { inspect } = require('node:util');

const { systemError } = require('../base/errors');

/** @import { ServerOptions } from '../options' */

/**
 * A port, a socket in the file system, or a descriptor. No prototype, as a polluted one must not decide where to
 * listen.
 *
 * @typedef {{ __proto__: null, port: number, host?: string, path?: string, mode?: number | null, fd?: number, backlog?: unknown, ipv6Only?: unknown, reusePort?: unknown }} ListenTarget
 */

/** Fields of `port` that a reactor knows. Others, such as `readableAll`, need Node. */
const FIELDS = new Set(['port', 'host', 'path', 'mode', 'fd', 'backlog', 'ipv6Only', 'reusePort', 'exclusive']);

/** First character of an abstract name on Linux. Only Node knows the length of such a name. */
const ABSTRACT = '\0';

/** Bytes of the longest path that every version of Node accepts unchanged. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103;

const HAS_LOCAL_SOCKETS = process.platform !== 'win32';

/** Descriptors up to stderr stay open: a new file would get their numbers. */
const LAST_STANDARD = 2;

const SHOWN = 28;

/** Where a server listens without a host. */
const EVERY = ['::', '0.0.0.0'];

/** @type {(port: unknown) => number | undefined} */
function portNumber(port) {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  return typeof number === 'number' && number >>> 0 === number && number <= 0xffff ? number : undefined;
}

/** A pipe, or a socket in the file system: in Node, any text that is not a number of 0 or more. @type {(port: unknown) => port is string} */
function isPipeName(port) {
  return typeof port === 'string' && !(Number(port) >= 0);
}

/** Throws as Node does. @type {(options: { port?: unknown, host?: unknown, backlog?: unknown }) => unknown} */
function checkPort({ host, port }) {
  if (typeof port === 'object' || isPipeName(port)) return port;
  const number = portNumber(port);
  if (number !== undefined) return number;
  if (typeof port === 'number' || typeof port === 'string') throw badPort(port);
  const given = typeof host === 'string' ? { port, host } : { port };
  const error = new TypeError(`The argument 'options' is invalid. Received ${inspect(given)}`);
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' });
}

/**
 * Whether the primary of a cluster listens, and hands over connections to this worker. As in Node, a port with `exclusive` or
 * `reusePort` is the worker's own.
 *
 * @type {(place: { exclusive?: unknown, reusePort?: unknown }) => boolean}
 */
function isShared({ exclusive, reusePort }) {
  return !exclusive && !reusePort && require('node:cluster').isWorker;
}

/** @param {number | string} port */
function badPort(port) {
  const text = String(port);
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}...` : text;
  const quoted = typeof port === 'string' ? `'${shown}'` : shown;
  const error = new RangeError(
    `options.port should be >= 0 and < 65536. Received type ${typeof port} (${quoted}).`,
  );
  return Object.assign(error, { code: 'ERR_SOCKET_BAD_PORT' });
}

/** Null if only Node can listen there, or report why not. @type {(options: ServerOptions) => ListenTarget | null} */
function targetOf({ backlog, host, port, reusePort }) {
  const { exclusive, reusePort: isReused = reusePort } = Object(port);
  if (isShared({ exclusive, reusePort: isReused })) return null;
  // Only Node knows the numbers of zones, as in fe80::1%eth0.
  if (String(host ?? Object(port).host).includes('%')) return null;
  if (typeof port === 'number') return { __proto__: null, port, host, backlog };
  if (isPipeName(port)) return localTarget({ __proto__: null, path: port, backlog });
  if (typeof port !== 'object') return null;
  // As in ws, the options beside this object do not count.
  const given = /** @type {Record<string, unknown> & Partial<ListenTarget>} */ (/** @type {object} */ (port));
  if (!Object.keys(given).every((name) => FIELDS.has(name) || given[name] === undefined)) return null;
  const { fd, mode, path, ...rest } = /** @type {typeof given} */ ({ __proto__: null, .../** @type {object} */ (given) });
  // Only one field counts, in Node's order.
  if (typeof fd === 'number' && fd >= 0) return localTarget({ __proto__: null, fd });
  const number = portNumber(given.port);
  if (number !== undefined) return { __proto__: null, ...rest, port: number };
  return !('port' in given) && isPipeName(path) ? localTarget({ __proto__: null, path, mode, backlog: given.backlog }) : null;
}

/** Null if only Node can listen there. @type {(target: Omit<ListenTarget, 'port'>) => ListenTarget | null} */
function localTarget(target) {
  const { fd = 0, path = '' } = target;
  const isPlain = !path.startsWith(ABSTRACT) && Buffer.byteLength(path) <= MAX_PATH;
  const isKnown = HAS_LOCAL_SOCKETS && (fd | 0) === fd && isPlain;
  return isKnown ? { ...target, __proto__: null, port: 0 } : null;
}

/** The reactor has a duplicate. With this descriptor open, listening would never end. @type {(target: ListenTarget) => void} */
function closeGiven({ fd = 0 }) {
  if (fd > LAST_STANDARD) closeSync(fd);
}

/**
 * The result of `address()`; null for a socket without a name.
 *
 * @type {(bound: { address: string, family: string, port: number }) => { address: string, family: string, port: number } | string | null}
 */
function addressOf({ address, family, port }) {
  return family === '' ? address || null : { address, family, port };
}

/**
 * Which option asks for another socket than a given one, and both values; null: none.
 *
 * @type {(target: ListenTarget, address: string | null, bound: { address: string, port: number }) => string | null}
 */
function differs({ fd, port }, address, bound) {
  // A given descriptor is the same socket, or nothing tells.
  if (fd !== undefined) return null;
  if (port !== 0 && port !== bound.port) return `port is ${port}, and was ${bound.port}`;
  const is = address === null ? EVERY.includes(bound.address) : plainAddress(address) === plainAddress(bound.address);
  return is ? null : `host is ${address ?? 'not given'}, and was ${bound.address}`;
}

/** @param {string} address */
function plainAddress(address) {
  return new SocketAddress({ address, family: isIPv6(address) ? 'ipv6' : 'ipv4' }).address;
}

/**
 * The native error as `net.Server` would emit it: `listen EADDRINUSE: address already in use 127.0.0.1:80`.
 *
 * @type {(error: Error & { code?: string }, target: ListenTarget, host: string | null) => Error}
 */
function listenError(error, { fd, path, port }, host) {
  const found = systemError(error);
  if (found === undefined) return error;
  const [errno, [code, sentence]] = found;
  const address = fd === undefined ? (path ?? host ?? '::') : null;
  const at = path === undefined ? port : -1;
  const shown = address === null ? '' : ` ${address}${at > 0 ? `:${at}` : ''}`;
  const failed = new Error(`listen ${code}: ${sentence}${shown}`);
  // As in Node, without a port that the system chose.
  return Object.assign(failed, { code, errno, syscall: 'listen', address }, address === null || at === 0 ? {} : { port: at });
}

/** @type {(options: ServerOptions, flags: { ipv6Only: boolean, reusePort: boolean }) => unknown} */
function nodeTarget({ backlog, host, port }, { ipv6Only, reusePort }) {
  if (typeof port === 'object') return ipv6Only || reusePort ? { ipv6Only, reusePort, ...Object(port) } : port;
  const where = isPipeName(port) ? { path: port } : { port, host: host ?? undefined, ipv6Only, reusePort };
  return { ...where, backlog: backlog ?? undefined };
}

module.exports = { addressOf, checkPort, closeGiven, differs, isShared, listenError, nodeTarget, targetOf };
