'use strict';

/** @import { DeflateOptions } from '../../types/tools' */

/**
 * Parameters of a connection, by their names in the header (RFC 7692, 7.1).
 *
 * @typedef {object} Params
 * @property {boolean} [client_no_context_takeover]
 * @property {boolean} [server_no_context_takeover]
 * @property {number | boolean} [client_max_window_bits] 8 to 15; true if a client only knows the
 *   parameter
 * @property {number | boolean} [server_max_window_bits] 8 to 15
 */

/** Parameters of permessage-deflate (RFC 7692, 7.1). */
const FLAGS = ['client_no_context_takeover', 'server_no_context_takeover'];
const WINDOWS = ['client_max_window_bits', 'server_max_window_bits'];

/** The offer of a client. @type {(options: DeflateOptions) => Params} */
function offer(options) {
  const { clientMaxWindowBits, clientNoContextTakeover, serverMaxWindowBits, serverNoContextTakeover } = options;
  /** @type {Params} */
  const params = {};
  if (serverNoContextTakeover) params.server_no_context_takeover = true;
  if (clientNoContextTakeover) params.client_no_context_takeover = true;
  if (serverMaxWindowBits) params.server_max_window_bits = serverMaxWindowBits;
  if (clientMaxWindowBits) params.client_max_window_bits = clientMaxWindowBits;
  else if (clientMaxWindowBits == null) params.client_max_window_bits = true;
  return params;
}

/**
 * Replaces the list of values of each parameter by its one value.
 *
 * @param {Record<string, Array<string | true> | number | true>[]} configurations
 * @param {boolean} isServer Whether they are offers; else they are an answer
 * @throws {Error | TypeError} For a parameter that is unknown, given twice or wrong
 */
function normalize(configurations, isServer) {
  for (const params of configurations) {
    for (const [name, values] of /** @type {[string, Array<string | true>][]} */ (Object.entries(params))) {
      if (values.length > 1) throw new Error(`Parameter "${name}" must have only a single value`);
      params[name] = single(name, values[0], isServer);
    }
  }
}

/**
 * Returns 8 to 15 for a window; true for a flag, or a window that an offer leaves open.
 *
 * @type {(name: string, value: string | number | true, isServer: boolean) => number | true}
 */
function single(name, value, isServer) {
  const invalid = () => new TypeError(`Invalid value for parameter "${name}": ${value}`);
  if (FLAGS.includes(name)) {
    if (value !== true) throw invalid();
    return true;
  }
  if (!WINDOWS.includes(name)) throw new Error(`Unknown parameter "${name}"`);
  // Only an offer may leave the client's window open.
  if (value === true && name === 'client_max_window_bits' && isServer) return true;
  const bits = value === true ? NaN : Number(value);
  if (!Number.isInteger(bits) || bits < 8 || bits > 15) throw invalid();
  return bits;
}

/**
 * The answer of a server.
 *
 * @param {Params[]} offers
 * @param {DeflateOptions} options
 * @returns {Params} The first acceptable offer, with the server's own parameters
 * @throws {Error} If there is none
 */
function acceptOffer(offers, options) {
  const accepted = offers.find((params) => isAcceptable(params, options));
  if (accepted === undefined) throw new Error('None of the extension offers can be accepted');
  const { clientMaxWindowBits, serverMaxWindowBits } = options;
  if (options.serverNoContextTakeover) accepted.server_no_context_takeover = true;
  if (options.clientNoContextTakeover) accepted.client_no_context_takeover = true;
  if (typeof serverMaxWindowBits === 'number') accepted.server_max_window_bits = serverMaxWindowBits;
  if (typeof clientMaxWindowBits === 'number') accepted.client_max_window_bits = clientMaxWindowBits;
  else if (accepted.client_max_window_bits === true || clientMaxWindowBits === false) {
    delete accepted.client_max_window_bits;
  }
  return accepted;
}

/** @type {(params: Params, options: DeflateOptions) => boolean} */
function isAcceptable(params, options) {
  const { clientMaxWindowBits, serverMaxWindowBits, serverNoContextTakeover } = options;
  const { client_max_window_bits: client, server_max_window_bits: server } = params;
  if (serverNoContextTakeover === false && params.server_no_context_takeover) return false;
  if (server && serverMaxWindowBits === false) return false;
  if (server && typeof serverMaxWindowBits === 'number' && serverMaxWindowBits > Number(server)) return false;
  if (typeof clientMaxWindowBits !== 'number') return true;
  return typeof client === 'number' ? clientMaxWindowBits <= client : !!client;
}

/**
 * Checks and completes the answer, for a client.
 *
 * @type {(params: Params, options: DeflateOptions) => Params}
 * @throws {Error} If the answer does not match the offer
 */
function acceptAnswer(params, options) {
  const { clientMaxWindowBits } = options;
  const bits = /** @type {number | undefined} */ (params.client_max_window_bits);
  if (options.clientNoContextTakeover === false && params.client_no_context_takeover) {
    throw new Error('Unexpected parameter "client_no_context_takeover"');
  }
  if (!bits) {
    if (typeof clientMaxWindowBits === 'number') params.client_max_window_bits = clientMaxWindowBits;
  } else if (clientMaxWindowBits === false || (typeof clientMaxWindowBits === 'number' && bits > clientMaxWindowBits)) {
    throw new Error('Unexpected or invalid parameter "client_max_window_bits"');
  }
  return params;
}

module.exports = { acceptAnswer, acceptOffer, normalize, offer };
