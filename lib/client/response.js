'use strict';

const { addon } = require('../reactor/addon');
const extension = require('../deflate/extension');
const { DEFLATE } = require('../deflate/permessage-deflate');

/** @import { IncomingMessage } from 'node:http' */

/**
 * The fields of the request that the answer must match.
 *
 * @typedef {object} Offered
 * @property {InstanceType<typeof import('../deflate/permessage-deflate').PerMessageDeflate> | null} deflate
 * @property {string} key Of `Sec-WebSocket-Key`
 * @property {Set<string>} protocols
 */

/**
 * Returns why the connection must fail after an answer (RFC 6455, 4.1), whatever its extensions.
 *
 * @type {(response: IncomingMessage, offered: Offered) => string | undefined}
 */
function faultOf({ headers }, { key, protocols }) {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'Invalid Upgrade header';
  if (headers['sec-websocket-accept'] !== addon().acceptKey(key)) return 'Invalid Sec-WebSocket-Accept header';
  const protocol = headers['sec-websocket-protocol'];
  if (protocol === undefined && protocols.size !== 0) return 'Server sent no subprotocol';
  if (protocol !== undefined && protocols.size === 0) return 'Server sent a subprotocol but none was requested';
  if (protocol !== undefined && !protocols.has(protocol)) return 'Server sent an invalid subprotocol';
  return undefined;
}

/** @type {(response: IncomingMessage, offered: Offered) => string | undefined} */
function faultOfExtensions({ headers }, { deflate }) {
  const header = headers['sec-websocket-extensions'];
  if (header === undefined) return undefined;
  if (deflate === null) return 'Server sent a Sec-WebSocket-Extensions header but no extension was requested';
  try {
    const names = Object.keys(extension.parse(header));
    if (names.length !== 1 || names[0] !== DEFLATE) return 'Server indicated an extension that was not requested';
    deflate._accept(header);
    return undefined;
  } catch {
    return 'Invalid Sec-WebSocket-Extensions header';
  }
}

module.exports = { faultOf, faultOfExtensions };
