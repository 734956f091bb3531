'use strict';

/** @typedef {Error & { code: string, errno?: number } & Record<symbol, number>} Failure */

/** @import { HeaderFault } from '../native/binding' */

const { getSystemErrorMap } = require('node:util');

const { kStatusCode } = require('./constants');
const { PROTOCOL_ERRORS } = require('./layout');

const ZLIB_ERRNO = new Map([
  ['Z_DATA_ERROR', -3],
  ['Z_BUF_ERROR', -5],
]);

/** The peer exceeds a limit that ws does not have: the close frame gives the reason. */
const LIMITS = ['WS_ERR_TOO_MANY_MESSAGES', 'WS_ERR_TOO_MANY_BYTES'];

/** @type {(kind: number) => NonNullable<typeof PROTOCOL_ERRORS[number]>} */
const rowOf = (kind) => /** @type {any} */ (PROTOCOL_ERRORS[kind]);

/** `detail`: the number in the sentence. @type {(kind: number, detail: number) => Failure} */
function protocolError(kind, detail) {
  const { closeCode, code, message: sentence, range } = rowOf(kind);
  const message = sentence.replace('%d', String(detail));
  /** @type {Failure} */
  const error = Object.assign(range ? new RangeError(message) : new Error(message), { code, [kStatusCode]: closeCode });
  // As in errors of Node's zlib.
  if (ZLIB_ERRNO.has(code)) error.errno = ZLIB_ERRNO.get(code);
  return error;
}

function maxPayloadExceeded() {
  return protocolError(PROTOCOL_ERRORS.findIndex((row) => row?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'), 0);
}

/** The code, as in ws; a reason only for LIMITS. @type {(kind: number) => [code: number, reason?: string]} */
function closeArguments(kind) {
  const { closeCode, code, message } = rowOf(kind);
  return LIMITS.includes(code) ? [closeCode, message] : [closeCode];
}

/** @type {Record<string, ErrorConstructor>} */
const CLASSES = { Error, SyntaxError, TypeError };

/** Throws the fault that a native check of a header has found. @type {(result: any) => any} */
function orThrow(result) {
  /** @type {HeaderFault} */
  const { class: name, message } = result;
  if (name === undefined) return result;
  throw new CLASSES[name](message);
}

/** The error of a destroyed stream in Node, for sends that never left. */
function streamDestroyed() {
  return Object.assign(new Error('Cannot call write after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' });
}

/** For sends to a connection that another process has. */
function connectionMoved() {
  return Object.assign(new Error('The connection has moved to another process'), { code: 'WS_ERR_MOVED' });
}

/** The system's number, name and sentence of a native error. @type {(error: any) => [errno: number, [code: string, sentence: string]] | undefined} */
function systemError({ code, errno }) {
  const known = [...getSystemErrorMap()];
  return known.find(([, [name]]) => name === code) ?? known.find(([number]) => number === errno);
}

/** The caller continues; the program gets it as 'uncaughtException'. @param {unknown} error */
function throwLater(error) {
  process.nextTick(() => {
    throw error;
  });
}

module.exports = { closeArguments, connectionMoved, maxPayloadExceeded, orThrow, protocolError, streamDestroyed, systemError, throwLater };
