'use strict';

const { createHash } = require('node:crypto');

const { GUID } = require('./constants');

/**
 * Checks the answer to an upgrade request (RFC 6455, 4.1).
 *
 * @param {import('node:http').IncomingMessage} response
 * @param {string} key Of the request
 * @param {Set<string>} protocols That were offered
 * @returns {{ error?: string, protocol: string }} Why the connection must fail, or the subprotocol
 */
function checkResponse(response, key, protocols) {
  const { headers } = response;
  const protocol = headers['sec-websocket-protocol'];
  const error = checkUpgrade(headers, key) || checkProtocol(protocol, protocols) || checkExtensions(headers);
  return { error, protocol: protocol || '' };
}

/**
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} key
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

/**
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @returns {string | undefined}
 */
function checkExtensions(headers) {
  return headers['sec-websocket-extensions'] === undefined
    ? undefined
    : 'Server sent a Sec-WebSocket-Extensions header but no extension was requested';
}

module.exports = { checkResponse };
