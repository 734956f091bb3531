'use strict';

const zlib = require('node:zlib');

const { LONGEST_DELAY, checkNumbers, checkValue } = require('../base/checks');
const { reportUnknown } = require('../base/log');
const { addon } = require('../reactor/addon');

/** @typedef {import('../base/checks').Range} Range */

const COMPRESSOR = /** @type {Range} */ ({ type: 'string', values: ['dedicated', 'shared'] });
const BYTES = /** @type {Range} */ ({ type: 'number', least: 0, most: Number.MAX_SAFE_INTEGER });
const DELAY = /** @type {Range} */ ({ type: 'number', least: 0, most: LONGEST_DELAY });

/** The names of all options. */
const KNOWN = [
  'budget',
  'clientMaxWindowBits',
  'clientNoContextTakeover',
  'compressor',
  'concurrencyLimit',
  'isServer',
  'maxPayload',
  'releaseAfter',
  'serverMaxWindowBits',
  'serverNoContextTakeover',
  'threshold',
  'zlibDeflateOptions',
  'zlibInflateOptions',
];

/** A shorter message, in bytes, is not compressed without context takeover. */
const THRESHOLD = 1024;

/** zlib's default is 6. With 4, messages are some percent larger and take two thirds of the time. */
const LEVEL = 4;
const MEM_LEVEL = 8;

/** Windows: every offer is accepted, or none. */
const AS_OFFERED = 0;
const REFUSED = -1;

/**
 * The option `perMessageDeflate` of a server or a client.
 *
 * @typedef
 *   {import('../../types/deflate').ServerOptions & import('../../types/deflate').ClientOptions}
 *   Options
 */

/**
 * Translates `compressor` to options of ws, and sets the budget of the process.
 *
 * @template T
 * @param {T} options `perMessageDeflate`, of any type and not checked yet
 * @returns {T} The same; a copy for `compressor: 'shared'`, which takes over no context
 * @throws {RangeError | TypeError} For a wrong `compressor` or `budget`
 */
function applyMemoryOptions(options) {
  if (!options) return options;
  const { budget, compressor = 'dedicated', ...given } = /** @type {Options} */ (options);
  checkValue(COMPRESSOR, compressor, 'options.perMessageDeflate.compressor');
  if (budget !== undefined && budget !== null) {
    addon().setDeflateBudget(/** @type {number} */ (checkValue(BYTES, budget, 'options.perMessageDeflate.budget')));
  }
  if (compressor === 'dedicated') return options;
  if (given.serverNoContextTakeover === false || given.clientNoContextTakeover === false) {
    throw new TypeError("options.perMessageDeflate: a context that is taken over needs compressor: 'dedicated'");
  }
  return { ...options, serverNoContextTakeover: true, clientNoContextTakeover: true };
}

/**
 * The `perMessageDeflate` of a server, for the reactor; true stands for the defaults.
 *
 * @type {(options: Options | boolean | null | undefined) => import('../native/binding').DeflateOptions | null}
 * @throws {RangeError | TypeError} As `check`
 */
function deflateOptions(options) {
  if (!options) return null;
  const given = /** @type {Options} */ (options);
  check(given);
  return { settings: settingsOf(given), acceptance: acceptanceOf(given) };
}

/**
 * What an end accepts, for the native side.
 *
 * @type {(options: Omit<Options, 'budget' | 'releaseAfter'>) => import('../native/binding').AcceptanceOptions}
 */
function acceptanceOf({ serverMaxWindowBits, clientMaxWindowBits, serverNoContextTakeover, clientNoContextTakeover }) {
  return {
    serverNoContextTakeover: flag(serverNoContextTakeover),
    clientNoContextTakeover: flag(clientNoContextTakeover),
    serverMaxWindowBits: windowBits(serverMaxWindowBits),
    clientMaxWindowBits: windowBits(clientMaxWindowBits),
  };
}

/**
 * permessage-deflate of a handshake that JavaScript answered, for the engine.
 *
 * @type {(carrier: { _extensions: import('../connection/state').Extensions }) => import('../native/binding').NegotiatedDeflate | undefined}
 */
function negotiatedDeflate(carrier) {
  const { params, _options: options } = carrier._extensions['permessage-deflate'] ?? {};
  if (!params || !options) return undefined;
  return {
    settings: settingsOf(options),
    serverNoContextTakeover: !!params.server_no_context_takeover,
    clientNoContextTakeover: !!params.client_no_context_takeover,
    serverMaxWindowBits: zlibWindowBits(params.server_max_window_bits),
    clientMaxWindowBits: zlibWindowBits(params.client_max_window_bits),
  };
}

/**
 * Throws for numbers out of range what zlib throws in ws for the first message.
 *
 * @type {(options: Options) => void}
 * @throws {RangeError | TypeError}
 */
function check(options) {
  checkNumbers(options, ['concurrencyLimit', 'threshold'], 'options.perMessageDeflate');
  if (typeof options === 'object') reportUnknown(options, KNOWN, 'options.perMessageDeflate');
  const { clientMaxWindowBits, serverMaxWindowBits, zlibDeflateOptions, zlibInflateOptions } = options;
  releaseAfter(options.releaseAfter);
  const bits = [serverMaxWindowBits, clientMaxWindowBits];
  if (!zlibDeflateOptions && !zlibInflateOptions && !bits.some((value) => typeof value === 'number')) return;
  const [server, client] = bits.map(zlibWindowBits);
  zlib.createDeflateRaw(/** @type {zlib.ZlibOptions} */ ({ ...zlibDeflateOptions, windowBits: server })).close();
  zlib.createInflateRaw({ ...zlibInflateOptions, windowBits: client }).close();
}

/**
 * Of checked options. One that the program has spoiled since is left out.
 *
 * @type {(options: Options) => import('../native/binding').DeflateSettings}
 */
function settingsOf(options) {
  const { level, memLevel, strategy } = options.zlibDeflateOptions ?? {};
  return {
    level: Number.isInteger(level) ? /** @type {number} */ (level) : LEVEL,
    memLevel: Number.isInteger(memLevel) ? /** @type {number} */ (memLevel) : MEM_LEVEL,
    strategy: Number.isInteger(strategy) ? /** @type {number} */ (strategy) : 0,
    threshold: threshold(options.threshold),
    releaseAfter: releaseAfter(options.releaseAfter),
  };
}

/** Returns false only for false itself: to ws other falsy values are no wish. @type {(value: unknown) => boolean | undefined} */
function flag(value) {
  if (value) return true;
  return value === false ? false : undefined;
}

/** 8 to 15, AS_OFFERED or REFUSED; the native side mends what is out of range. @type {(bits: unknown) => number} */
function windowBits(bits) {
  if (typeof bits === 'number') return Math.trunc(bits);
  return bits === false ? REFUSED : AS_OFFERED;
}

/** 8 to 15; 15 if an option is a boolean, or nothing was negotiated. @type {(bits: unknown) => number} */
function zlibWindowBits(bits) {
  return typeof bits === 'number' ? bits : zlib.constants.Z_DEFAULT_WINDOWBITS;
}

/** An integer for which `length >= threshold` is the same as in ws. @type {(bytes: unknown) => number} */
function threshold(bytes) {
  if (bytes === undefined) return THRESHOLD;
  const number = Math.ceil(Number(bytes));
  return Number.isNaN(number) ? Infinity : number;
}

/** Milliseconds; 0, the default, is never. @type {(millis: unknown) => number} */
function releaseAfter(millis) {
  if (millis === undefined || millis === null) return 0;
  return /** @type {number} */ (checkValue(DELAY, millis, 'options.perMessageDeflate.releaseAfter'));
}

module.exports = { acceptanceOf, applyMemoryOptions, check, deflateOptions, negotiatedDeflate, zlibWindowBits };
