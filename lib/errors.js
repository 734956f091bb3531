'use strict';

const { kStatusCode } = require('./constants');
const { PROTOCOL_ERRORS } = require('./reactor/layout');

const ZLIB_ERRNO = new Map([
  ['Z_DATA_ERROR', -3],
  ['Z_BUF_ERROR', -5],
]);

/**
 * What the peer did wrong, as the error that ws emits for it.
 *
 * @param {number} kind Number of the protocol error
 * @param {number} detail The number its sentence speaks of (opcode, length, status code)
 * @returns {Error & { code: string }}
 */
function protocolError(kind, detail) {
  const row = PROTOCOL_ERRORS[kind] || { code: 'WS_ERR_UNKNOWN', message: `Protocol error ${kind}`, range: true };
  const message = row.message.replace('%d', String(detail));
  const error = /** @type {any} */ (row.range ? new RangeError(message) : new Error(message));
  error.code = row.code;
  error[kStatusCode] = closeCodeOf(kind);
  // As the errors of Node's zlib.
  if (ZLIB_ERRNO.has(row.code)) error.errno = ZLIB_ERRNO.get(row.code);
  return error;
}

/**
 * Close code that a protocol error is answered with.
 *
 * @param {number} kind Number of the protocol error
 * @returns {number}
 */
function closeCodeOf(kind) {
  const row = PROTOCOL_ERRORS[kind];
  return row === undefined ? 1002 : row.closeCode;
}

/**
 * What callbacks of sends that never left get, as from a destroyed Node stream.
 *
 * @returns {Error & { code: string }}
 */
function streamDestroyed() {
  const error = /** @type {any} */ (new Error('Cannot call write after a stream was destroyed'));
  error.code = 'ERR_STREAM_DESTROYED';
  return error;
}

/**
 * For what turns out to be too long only when it is inflated.
 *
 * @returns {RangeError & { code: string }}
 */
function maxPayloadExceeded() {
  const error = /** @type {any} */ (new RangeError('Max payload size exceeded'));
  error.code = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
  error[kStatusCode] = 1009;
  return error;
}

module.exports = { closeCodeOf, maxPayloadExceeded, protocolError, streamDestroyed };
