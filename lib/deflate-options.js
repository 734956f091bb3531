'use strict';

const { inspect } = require('node:util');
const zlib = require('node:zlib');

/** Milliseconds: the longest delay a timer takes. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Bytes below which messages are not compressed, where the server has no context takeover. */
const THRESHOLD = 1024;

/** Of the size that zlib's own default, 6, gives but for some percent, in two thirds of the time. */
const LEVEL = 4;

/** For windows: whatever the client offers, and nothing. */
const AS_OFFERED = 0;
const REFUSED = -1;

/**
 * What the reactor is told about `perMessageDeflate`. Numbers out of range throw here what zlib throws in ws when the
 * first message is compressed.
 *
 * @param {any} options The value of the option
 * @returns {any} null when it is off
 * @throws {RangeError | TypeError}
 */
function deflateOptions(options) {
  if (!options) return null;
  const { serverMaxWindowBits, clientMaxWindowBits, serverNoContextTakeover, clientNoContextTakeover } = options;
  const given = { ...options.zlibDeflateOptions, windowBits: zlibWindowBits(serverMaxWindowBits) };
  zlib.createDeflateRaw(given).close();
  zlib
    .createInflateRaw({ ...options.zlibInflateOptions, windowBits: zlibWindowBits(clientMaxWindowBits) })
    .close();
  const { level = LEVEL, memLevel = 8, strategy = 0 } = given;
  return {
    serverNoContextTakeover: flag(serverNoContextTakeover),
    clientNoContextTakeover: !!clientNoContextTakeover,
    serverMaxWindowBits: windowBits(serverMaxWindowBits),
    clientMaxWindowBits: windowBits(clientMaxWindowBits),
    level,
    memLevel,
    strategy,
    threshold: threshold(options.threshold),
    releaseAfter: releaseAfter(options.releaseAfter),
  };
}

/**
 * @param {any} value
 * @returns {boolean | undefined} false only for false itself: ws takes other falsy values for no wish
 */
function flag(value) {
  if (value) return true;
  return value === false ? false : undefined;
}

/**
 * @param {any} bits
 * @returns {number}
 */
function windowBits(bits) {
  if (typeof bits === 'number') return Math.trunc(bits);
  return bits === false ? REFUSED : AS_OFFERED;
}

/**
 * @param {any} bits
 * @returns {number}
 */
function zlibWindowBits(bits) {
  return typeof bits === 'number' ? bits : zlib.constants.Z_DEFAULT_WINDOWBITS;
}

/**
 * @param {any} bytes
 * @returns {number} A length that is not below it is one that `>=` of ws says yes to
 */
function threshold(bytes) {
  if (bytes === undefined) return THRESHOLD;
  const number = Math.ceil(Number(bytes));
  return Number.isNaN(number) ? Infinity : number;
}

/**
 * @param {any} millis
 * @returns {number}
 */
function releaseAfter(millis) {
  if (millis === undefined || millis === null) return 0;
  const name = 'options.perMessageDeflate.releaseAfter';
  if (typeof millis !== 'number') throw new TypeError(`${name} must be a number. Received ${inspect(millis)}`);
  if (!Number.isInteger(millis) || millis < 0 || millis > LONGEST_DELAY) {
    throw new RangeError(`${name} must be an integer from 0 to ${LONGEST_DELAY}. Received ${inspect(millis)}`);
  }
  return millis;
}

module.exports = { deflateOptions };
