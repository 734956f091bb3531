'use strict';

const { isBudgetFull } = require('../deflate/budget');
const extension = require('../deflate/extension');
const { PerMessageDeflate } = require('../deflate/permessage-deflate');

/** @import { Options } from '../deflate/options' */
/** @typedef {InstanceType<typeof PerMessageDeflate>} Deflate */
/** @import { ServerOptions } from '../options' */

/** The only extension. */
const DEFLATE = PerMessageDeflate.extensionName;

/**
 * The offer of a client.
 *
 * @param {{ maxPayload?: number, perMessageDeflate?: unknown }} options
 * @returns {Deflate | null} Makes the offer and takes the answer; null without `perMessageDeflate`
 */
function offerOf(options) {
  const { maxPayload } = options;
  const perMessageDeflate = /** @type {Options} */ (options.perMessageDeflate);
  return perMessageDeflate ? new PerMessageDeflate({ ...perMessageDeflate, isServer: false, maxPayload }) : null;
}

/**
 * The extensions that a server accepts from a `Sec-WebSocket-Extensions` header.
 *
 * @type {(header: string | undefined, options: ServerOptions) => Record<string, Deflate>}
 * @throws {Error} For a malformed header, or if no offer of permessage-deflate is acceptable
 */
function acceptOffers(header, options) {
  const { maxPayload } = options;
  const perMessageDeflate = /** @type {Options} */ (options.perMessageDeflate);
  if (!perMessageDeflate || header === undefined) return {};
  const clientNoContextTakeover = perMessageDeflate.clientNoContextTakeover || isBudgetFull();
  const accepted = new PerMessageDeflate({
    ...perMessageDeflate,
    clientNoContextTakeover,
    isServer: true,
    maxPayload,
  });
  return accepted._accept(header) === null ? {} : { [DEFLATE]: accepted };
}

/**
 * Checks the `Sec-WebSocket-Extensions` header of the answer for a client.
 *
 * @type {(header: string | undefined, offered: Deflate | null) => { error?: string, extensions: Record<string, Deflate> }}
 */
function acceptAnswer(header, offered) {
  const extensions = {};
  if (header === undefined) return { extensions };
  if (offered === null) {
    const error = 'Server sent a Sec-WebSocket-Extensions header but no extension was requested';
    return { error, extensions };
  }
  try {
    const names = Object.keys(extension.parse(header));
    if (names.length !== 1 || names[0] !== DEFLATE) {
      return { error: 'Server indicated an extension that was not requested', extensions };
    }
    offered._accept(header);
  } catch {
    return { error: 'Invalid Sec-WebSocket-Extensions header', extensions };
  }
  return { extensions: { [DEFLATE]: offered } };
}

/**
 * The header of a client's offer or a server's answer; '' without extensions.
 *
 * @type {(extensions: import('../connection/state').Extensions) => string}
 */
function headerOf(extensions) {
  const deflate = extensions[DEFLATE];
  return deflate ? extension.format({ [DEFLATE]: [deflate.params ?? deflate.offer()] }) : '';
}

module.exports = { DEFLATE, acceptAnswer, acceptOffers, headerOf, offerOf };
