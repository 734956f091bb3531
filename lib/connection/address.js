'use strict';

// Addresses as Node and libuv write them. Other runtimes have another `net.SocketAddress`, and lists
// of allowed addresses must not depend on that.

const { ADOPTED_SLOTS } = require('../base/layout');

/** @import { WebSocket } from './state' */

const GROUPS = 8;

/**
 * An IPv6 address of 16 bytes, one character each: without leading zeros, the longest run of zeros as `::`, and the
 * end of an IPv4-mapped or IPv4-compatible address as that address.
 *
 * @type {(bytes: string) => string}
 */
function formatIpv6(bytes) {
  const groups = Array.from({ length: GROUPS }, (_, at) => {
    return (bytes.charCodeAt(2 * at) << 8) | bytes.charCodeAt(2 * at + 1);
  });
  const { start, length } = longestZeros(groups);
  if (start === 0 && hasIpv4(groups, length)) {
    return `${length === 5 ? '::ffff:' : '::'}${dotted(groups[6])}.${dotted(groups[7])}`;
  }
  const texts = groups.map((group) => group.toString(16));
  if (length < 2) return texts.join(':');
  return `${texts.slice(0, start).join(':')}::${texts.slice(start + length).join(':')}`;
}

/** Whether an IPv4 address comes after this number of zeros. @type {(groups: number[], zeros: number) => boolean} */
function hasIpv4(groups, zeros) {
  return zeros === 6 || (zeros === 5 && groups[5] === 0xffff);
}

/** @param {number} group Two bytes of an IPv4 address */
function dotted(group) {
  return `${group >> 8}.${group & 255}`;
}

/** The first of the longest runs of zeros. @type {(groups: number[]) => { start: number, length: number }} */
function longestZeros(groups) {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < GROUPS; start++) {
    let end = start;
    while (end < GROUPS && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
    start = Math.max(start, end);
  }
  return best;
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
