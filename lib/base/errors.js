'use strict';

/**
 * An error of ws. @typedef {Error & { code: string, errno?: number } & Record<symbol, number>}
 * Failure
 */

/** @import { HeaderFault } from '../native/binding' */

const { kStatusCode } = require('./constants');
const { PROTOCOL_ERRORS } = require('./layout');

const ZLIB_ERRNO = new Map([
  ['Z_DATA_ERROR', -3],
  ['Z_BUF_ERROR', -5],
]);

/** Errors of peers that exceed a limit of ours: the close frame has the reason. */
const LIMITS = ['WS_ERR_TOO_MANY_MESSAGES', 'WS_ERR_TOO_MANY_BYTES'];

/**
 * The error of ws for a fault of the peer.
 *
 * @param {number} kind
 * @param {number} detail The number that its sentence names: an opcode, a length, a status code
 * @returns {Error & { code: string }}
 */
function protocolError(kind, detail) {
  const row = PROTOCOL_ERRORS[kind] || { code: 'WS_ERR_UNKNOWN', message: `Protocol error ${kind}`, range: true };
  const message = row.message.replace('%d', String(detail));
  const error = /** @type {Failure} */ (row.range ? new RangeError(message) : new Error(message));
  error.code = row.code;
  error[kStatusCode] = closeCodeOf(kind);
  // The same fields as the errors of Node's zlib.
  if (ZLIB_ERRNO.has(row.code)) error.errno = ZLIB_ERRNO.get(row.code);
  return error;
}

/** @type {(kind: number) => number} */
function closeCodeOf(kind) {
  const row = PROTOCOL_ERRORS[kind];
  return row === undefined ? 1002 : row.closeCode;
}

/**
 * The arguments of `close()`: the code, as in ws, and a reason for limits that ws does not have.
 *
 * @type {(kind: number) => [code: number, reason?: string]}
 */
function closeArguments(kind) {
  const row = PROTOCOL_ERRORS[kind];
  const code = closeCodeOf(kind);
  return row !== undefined && LIMITS.includes(row.code) ? [code, row.message] : [code];
}

const CLASSES = { Error, SyntaxError, TypeError };

/**
 * The result of a native check of a header.
 *
 * @template T
 * @param {T | HeaderFault} result
 * @returns {T}
 * @throws {Error | SyntaxError | TypeError} In place of a fault
 */
function orThrow(result) {
  const { class: name, message } = /** @type {HeaderFault} */ (result);
  if (name === undefined) return /** @type {T} */ (result);
  throw new /** @type {Record<string, ErrorConstructor>} */ (CLASSES)[name](message);
}

/**
 * For callbacks of sends that never left, as from a destroyed stream of Node.
 *
 * @type {() => Error & { code: string }}
 */
function streamDestroyed() {
  const error = /** @type {Failure} */ (new Error('Cannot call write after a stream was destroyed'));
  error.code = 'ERR_STREAM_DESTROYED';
  return error;
}

/** For a message that is too long when it is inflated. @type {() => RangeError & { code: string }} */
function maxPayloadExceeded() {
  const error = /** @type {Failure} */ (new RangeError('Max payload size exceeded'));
  error.code = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
  error[kStatusCode] = 1009;
  return error;
}

module.exports = { closeArguments, maxPayloadExceeded, orThrow, protocolError, streamDestroyed };
