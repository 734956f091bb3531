'use strict';

// Addresses as Node and libuv write them: lists of allowed addresses must not depend on the runtime's
// `net.SocketAddress`.

const { ADOPTED_SLOTS } = require('../base/layout');

/** An IPv4-mapped or IPv4-compatible address ends with an IPv4 address. */
const IPV4 = /^(::(?:ffff:)?)[^:]+:[^:]+$/;

/** A URL writes an IPv6 address the same way, but for its end. `bytes`: 16 characters. @param {string} bytes */
function formatIpv6(bytes) {
  const memory = Buffer.from(bytes, 'latin1');
  const groups = Array.from({ length: 8 }, (_, index) => memory.readUInt16BE(2 * index).toString(16));
  const { hostname } = new URL(`ws://[${groups.join(':')}]`);
  return hostname.slice(1, -1).replace(IPV4, (_, start) => start + memory.subarray(12).join('.'));
}

/** @type {(address: number | string) => string | undefined} */
function formatAddress(address) {
  if (typeof address === 'number') {
    return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
  }
  return address === '' ? undefined : formatIpv6(address);
}

/** Also after the end. @type {(ws: import('./state').WebSocket) => { address: string | undefined, port: number | undefined }} */
function peerOf(ws) {
  const { _extra: extra, _remote: remote, _remotePort: port, _slot: slot } = ws;
  const socket = extra?.stream?.socket ?? (slot >= ADOPTED_SLOTS ? extra?.socket : null);
  if (socket) return { address: socket.remoteAddress, port: socket.remotePort };
  return { address: formatAddress(remote), port: remote === '' ? undefined : port };
}

module.exports = { formatAddress, peerOf };
