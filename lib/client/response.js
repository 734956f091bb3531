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
 * Returns why the connection must fail after an answer (RFC 6455, 4.1).
 *
 * @type {(response: IncomingMessage, offered: Offered) => string | undefined}
 */
function faultOf({ headers }, { deflate, key, protocols }) {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'Invalid Upgrade header';
  if (headers['sec-websocket-accept'] !== addon().acceptKey(key)) return 'Invalid Sec-WebSocket-Accept header';
  const protocol = headers['sec-websocket-protocol'];
  if (protocol === undefined && protocols.size !== 0) return 'Server sent no subprotocol';
  if (protocol !== undefined && protocols.size === 0) return 'Server sent a subprotocol but none was requested';
  if (protocol !== undefined && !protocols.has(protocol)) return 'Server sent an invalid subprotocol';
  const extensions = headers['sec-websocket-extensions'];
  return extensions === undefined ? undefined : faultOfExtensions(extensions, deflate);
}

/** @type {(header: string, offered: Offered['deflate']) => string | undefined} */
function faultOfExtensions(header, offered) {
  if (offered === null) return 'Server sent a Sec-WebSocket-Extensions header but no extension was requested';
  try {
    const names = Object.keys(extension.parse(header));
    if (names.length !== 1 || names[0] !== DEFLATE) return 'Server indicated an extension that was not requested';
    offered._accept(header);
    return undefined;
  } catch {
    return 'Invalid Sec-WebSocket-Extensions header';
  }
}

module.exports = { faultOf };
