'use strict';

const zlib = require('node:zlib');

const { MAX_DELAY, checkNumbers, readOptions } = require('../base/checks');
const { reportUnknown } = require('../base/log');
const { addon } = require('../reactor/addon');

/** @type {Record<string, import('../base/checks').Range & { initial: unknown }>} */
const OWN = {
  compressor: { type: 'string', initial: 'dedicated', values: ['dedicated', 'shared'] },
  budget: { type: 'number', initial: null, min: 0, max: Number.MAX_SAFE_INTEGER },
  releaseAfter: { type: 'number', initial: 0, min: 0, max: MAX_DELAY },
};

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

/** Bytes. Shorter messages are not compressed without context takeover. */
const THRESHOLD = 1024;

/** zlib's default is 6. With 4, messages are some percent larger and take two thirds of the time. */
const LEVEL = 4;
const MEM_LEVEL = 8;

/** Windows: accept every offer, or none. */
const AS_OFFERED = 0;
const REFUSED = -1;

/**
 * Option `perMessageDeflate` of a server or a client.
 *
 * @typedef {import('../../types/deflate').ServerOptions & import('../../types/deflate').ClientOptions} Options
 */

/**
 * Translates `compressor` to options of ws, and sets the budget of the process. For numbers out of range, throws what
 * zlib throws in ws for the first message.
 *
 * @template T
 * @param {T} options `perMessageDeflate`
 * @returns {T} The same; for `compressor: 'shared'`, a copy without context takeover
 */
function checkDeflate(options) {
  if (!options) return options;
  const given = /** @type {Options} */ (options);
  checkNumbers(given, ['concurrencyLimit', 'threshold'], 'options.perMessageDeflate');
  if (typeof options === 'object') reportUnknown(options, KNOWN, 'options.perMessageDeflate');
  const { budget, compressor } = readOptions(OWN, Object(options), 'options.perMessageDeflate');
  checkZlib(given);
  if (budget !== null) addon().setDeflateBudget(budget);
  if (compressor === 'dedicated') return options;
  if (given.serverNoContextTakeover === false || given.clientNoContextTakeover === false) {
    throw new TypeError("options.perMessageDeflate: a context that is taken over needs compressor: 'dedicated'");
  }
  return { ...options, serverNoContextTakeover: true, clientNoContextTakeover: true };
}

/**
 * A server's settings for the reactor; true: the defaults.
 *
 * @type {(options: Options | boolean | null | undefined) => import('../native/binding').DeflateOptions | null}
 */
function deflateOptions(options) {
  if (!options) return null;
  const given = /** @type {Options} */ (options);
  return { settings: settingsOf(given), acceptance: acceptanceOf(given) };
}

/**
 * The parameters that an end accepts, for the native side.
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
 * The result of a handshake that JavaScript answered, for the engine.
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

/** @param {Options} options */
function checkZlib({ clientMaxWindowBits, serverMaxWindowBits, zlibDeflateOptions, zlibInflateOptions }) {
  const bits = [serverMaxWindowBits, clientMaxWindowBits];
  if (!zlibDeflateOptions && !zlibInflateOptions && !bits.some((value) => typeof value === 'number')) return;
  const [server, client] = bits.map(zlibWindowBits);
  zlib.createDeflateRaw(/** @type {zlib.ZlibOptions} */ ({ ...zlibDeflateOptions, windowBits: server })).close();
  zlib.createInflateRaw({ ...zlibInflateOptions, windowBits: client }).close();
}

/** From checked options, without values that the program has made invalid since. @type {(options: Options) => import('../native/binding').DeflateSettings} */
function settingsOf(options) {
  const { level, memLevel, strategy } = options.zlibDeflateOptions ?? {};
  return {
    level: integerOr(level, LEVEL),
    memLevel: integerOr(memLevel, MEM_LEVEL),
    strategy: integerOr(strategy, 0),
    threshold: threshold(options.threshold),
    releaseAfter: integerOr(options.releaseAfter, 0),
  };
}

/** @type {(value: any, initial: number) => number} */
const integerOr = (value, initial) => (Number.isInteger(value) ? value : initial);

/** To ws, falsy values other than false are no wish. @type {(value: unknown) => boolean | undefined} */
function flag(value) {
  if (value) return true;
  return value === false ? false : undefined;
}

/** 8 to 15, AS_OFFERED or REFUSED; the native side corrects other numbers. @type {(bits: unknown) => number} */
function windowBits(bits) {
  if (typeof bits === 'number') return Math.trunc(bits);
  return bits === false ? REFUSED : AS_OFFERED;
}

/** 8 to 15; 15 for a boolean, or if nothing was negotiated. @type {(bits: unknown) => number} */
function zlibWindowBits(bits) {
  return typeof bits === 'number' ? bits : zlib.constants.Z_DEFAULT_WINDOWBITS;
}

/** An integer with the same `length >= threshold` as in ws. @param {unknown} bytes */
function threshold(bytes) {
  if (bytes === undefined) return THRESHOLD;
  const number = Math.ceil(Number(bytes));
  return Number.isNaN(number) ? Infinity : number;
}

module.exports = { acceptanceOf, checkDeflate, deflateOptions, negotiatedDeflate, zlibWindowBits };
