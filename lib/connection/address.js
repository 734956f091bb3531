'use strict';

// Addresses as Node and libuv write them. Other runtimes have another `net.SocketAddress`, and lists
// of allowed addresses must not depend on that.

const { ADOPTED_SLOTS } = require('../base/layout');

/** @import { WebSocket } from './state' */

/** The end of an IPv4-mapped or IPv4-compatible address, which is written as an IPv4 address. */
const IPV4 = /^(::(?:ffff:)?)[^:]+:[^:]+$/;

/** An IPv6 address of 16 bytes, one character each, as a URL has it but for its end. @type {(bytes: string) => string} */
function formatIpv6(bytes) {
  const memory = Buffer.from(bytes, 'latin1');
  const groups = Array.from({ length: 8 }, (_, index) => memory.readUInt16BE(2 * index).toString(16));
  const { hostname } = new URL(`ws://[${groups.join(':')}]`);
  return hostname.slice(1, -1).replace(IPV4, (_, start) => start + memory.subarray(12).join('.'));
}

/** As Node writes addresses. @type {(address: number | string) => string | undefined} */
function formatAddress(address) {
  if (typeof address === 'number') {
    return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
  }
  return address === '' ? undefined : formatIpv6(address);
}

/**
 * The address of a peer, also of one that has gone.
 *
 * @type {(ws: WebSocket) => { address: string | undefined, port: number | undefined }}
 */
function peerOf(ws) {
  const { _extra: extra, _remote: remote, _remotePort: port, _slot: slot } = ws;
  const socket = extra?.stream?.socket ?? (slot >= ADOPTED_SLOTS ? extra?.socket : null);
  if (socket) return { address: socket.remoteAddress, port: socket.remotePort };
  return { address: formatAddress(remote), port: remote === '' ? undefined : port };
}

module.exports = { formatAddress, peerOf };
