'use strict';

const { createHash } = require('node:crypto');

const { GUID } = require('../constants');
const { acceptAnswer } = require('../handshake/negotiation');

/**
 * What the request said.
 *
 * @typedef {object} Offered
 * @property {any} deflate What `offerOf` returned
 * @property {string} key
 * @property {Set<string>} protocols
 */

/**
 * Checks the answer to an upgrade request (RFC 6455, 4.1).
 *
 * @param {import('node:http').IncomingMessage} response
 * @param {Offered} offered
 * @returns {{ error?: string, extensions: any, protocol: string }} Why the connection must fail, or
 *   the extensions by name and the subprotocol
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
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} key Of `Sec-WebSocket-Key`
 * @returns {string | undefined}
 */
function checkUpgrade(headers, key) {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'Invalid Upgrade header';
  const digest = createHash('sha1').update(key + GUID).digest('base64');
  return headers['sec-websocket-accept'] === digest ? undefined : 'Invalid Sec-WebSocket-Accept header';
}

/**
 * @param {string | undefined} protocol
 * @param {Set<string>} offered
 * @returns {string | undefined}
 */
function checkProtocol(protocol, offered) {
  if (protocol === undefined) return offered.size === 0 ? undefined : 'Server sent no subprotocol';
  if (offered.size === 0) return 'Server sent a subprotocol but none was requested';
  return offered.has(protocol) ? undefined : 'Server sent an invalid subprotocol';
}

module.exports = { checkResponse };
