'use strict';

const { addon } = require('../reactor/addon');
const { acceptAnswer } = require('../handshake/negotiation');

/**
 * The fields of the request that the answer must match.
 *
 * @typedef {object} Offered
 * @property {ReturnType<typeof import('../handshake/negotiation').offerOf>} deflate
 * @property {string} key Of `Sec-WebSocket-Key`
 * @property {Set<string>} protocols
 */

/**
 * Checks the answer to an upgrade request (RFC 6455, 4.1).
 *
 * @param {import('node:http').IncomingMessage} response
 * @param {Offered} offered
 * @returns {{ error?: string, extensions: Record<string, unknown>, protocol: string }} `error`: why
 *   the connection must fail
 */
function checkResponse(response, offered) {
  const { headers } = response;
  const protocol = headers['sec-websocket-protocol'];
  const wrong = checkUpgrade(headers, offered.key) || checkProtocol(protocol, offered.protocols);
  if (wrong !== undefined) return { error: wrong, extensions: {}, protocol: '' };
  const { error, extensions } = acceptAnswer(headers['sec-websocket-extensions'], offered.deflate);
  return { error, extensions, protocol: protocol || '' };
}

/**
 * Returns why the connection must fail.
 *
 * @type {(headers: import('node:http').IncomingHttpHeaders, key: string) => string | undefined}
 */
function checkUpgrade(headers, key) {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'Invalid Upgrade header';
  const isAnswer = headers['sec-websocket-accept'] === addon().acceptKey(key);
  return isAnswer ? undefined : 'Invalid Sec-WebSocket-Accept header';
}

/**
 * Returns why the connection must fail.
 *
 * @type {(protocol: string | undefined, offered: Set<string>) => string | undefined}
 */
function checkProtocol(protocol, offered) {
  if (protocol === undefined) return offered.size === 0 ? undefined : 'Server sent no subprotocol';
  if (offered.size === 0) return 'Server sent a subprotocol but none was requested';
  return offered.has(protocol) ? undefined : 'Server sent an invalid subprotocol';
}

module.exports = { checkResponse };
