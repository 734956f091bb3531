'use strict';

/** An error of ws. @typedef {Error & { code: string, errno?: number } & Record<symbol, number>} Failure */

/** @import { HeaderFault } from '../native/binding' */

const { kStatusCode } = require('./constants');
const { PROTOCOL_ERRORS } = require('./layout');

const ZLIB_ERRNO = new Map([
  ['Z_DATA_ERROR', -3],
  ['Z_BUF_ERROR', -5],
]);

/** Errors of peers that exceed a limit of ours: the close frame has the reason. */
const LIMITS = ['WS_ERR_TOO_MANY_MESSAGES', 'WS_ERR_TOO_MANY_BYTES'];

/** @typedef {NonNullable<typeof PROTOCOL_ERRORS[number]>} Row */

/** `detail` is the number that the sentence names. @type {(kind: number, detail: number) => Failure} */
function protocolError(kind, detail) {
  const { closeCode, code, message: sentence, range } = /** @type {Row} */ (PROTOCOL_ERRORS[kind]);
  const message = sentence.replace('%d', String(detail));
  const error = /** @type {Failure} */ (range ? new RangeError(message) : new Error(message));
  error.code = code;
  error[kStatusCode] = closeCode;
  // The same fields as the errors of Node's zlib.
  if (ZLIB_ERRNO.has(code)) error.errno = ZLIB_ERRNO.get(code);
  return error;
}

/** For a message that is too long when it is inflated. */
function maxPayloadExceeded() {
  return protocolError(PROTOCOL_ERRORS.findIndex((row) => row?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'), 0);
}

/** The code, as in ws, and a reason for limits that ws does not have. @type {(kind: number) => [code: number, reason?: string]} */
function closeArguments(kind) {
  const { closeCode, code, message } = /** @type {Row} */ (PROTOCOL_ERRORS[kind]);
  return LIMITS.includes(code) ? [closeCode, message] : [closeCode];
}

const CLASSES = { Error, SyntaxError, TypeError };

/** The result of a native check of a header; a fault is thrown. @type {<T>(result: T | HeaderFault) => T} */
function orThrow(result) {
  const { class: name, message } = /** @type {HeaderFault} */ (result);
  if (name === undefined) return /** @type {any} */ (result);
  throw new /** @type {Record<string, ErrorConstructor>} */ (CLASSES)[name](message);
}

/** For callbacks of sends that never left, as from a destroyed stream of Node. */
function streamDestroyed() {
  return Object.assign(new Error('Cannot call write after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' });
}

module.exports = { closeArguments, maxPayloadExceeded, orThrow, protocolError, streamDestroyed };
