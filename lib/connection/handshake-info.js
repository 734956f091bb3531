'use strict';

// The payload of an OPEN, REQUEST, HANDOFF or SECURE record, at `start` in the memory of its batch.

const { EMPTY_BUFFER } = require('../base/constants');
const { OPENED_FAMILY, OPENED_GENERATION, OPENED_LOCAL_ADDRESS, OPENED_LOCAL_PORT, OPENED_REMOTE_ADDRESS } = require('../base/layout');
const { OPENED_PROTOCOL_LENGTH, OPENED_REMOTE_PORT, OPENED_REQUEST, OPENED_REQUEST_LENGTH, OPENED_TAIL_LENGTH, OPENED_TLS_LENGTH } = require('../base/layout');

const IPV6_BYTES = 16;

/** Stand for no address where ours is known. */
const UNSPECIFIED = [0, '\0'.repeat(IPV6_BYTES)];

/** Lengths of the parts, in their order. The tail is the extensions, or bytes that follow the request. */
const LENGTHS = [OPENED_REQUEST_LENGTH, OPENED_PROTOCOL_LENGTH, OPENED_TAIL_LENGTH, OPENED_TLS_LENGTH];
const [REQUEST, PROTOCOL, TAIL, TLS] = LENGTHS.keys();

/** Sets what its connection shares with others in `shared`. @type {(peer: import('./state').Connection, bytes: Buffer, start: number, shared: Partial<import('./profile').Shared>) => void} */
function readPeer(peer, bytes, start, shared) {
  const family = bytes.readUInt32LE(start + OPENED_FAMILY);
  peer._generation = generationOf(bytes, start);
  peer._remotePort = bytes.readUInt32LE(start + OPENED_REMOTE_PORT);
  peer._remote = readAddress(bytes, start + OPENED_REMOTE_ADDRESS, family);
  // A peer that has reset the connection might have had no address any more.
  if (peer._remotePort === 0 && UNSPECIFIED.includes(peer._remote)) peer._remote = '';
  shared.local = readAddress(bytes, start + OPENED_LOCAL_ADDRESS, family);
  shared.localPort = bytes.readUInt32LE(start + OPENED_LOCAL_PORT);
  shared.tls ??= textOf(bytes, start, TLS);
}

/** `family`: 4, 6, or 0 if the kernel knows no address. @type {(bytes: Buffer, at: number, family: number) => number | string} */
function readAddress(bytes, at, family) {
  if (family === 6) return bytes.toString('latin1', at, at + IPV6_BYTES);
  return family === 4 ? bytes.readInt32BE(at) : '';
}

/** @type {(bytes: Buffer, start: number) => number} */
function generationOf(bytes, start) {
  return bytes.readUInt32LE(start + OPENED_GENERATION);
}

/** @type {(bytes: Buffer, start: number, part: number) => string} */
function textOf(bytes, start, part) {
  const length = bytes.readUInt32LE(start + LENGTHS[part]);
  if (length === 0) return '';
  const at = offsetOf(bytes, start, part);
  return bytes.toString('latin1', at, at + length);
}

/** @type {(bytes: Buffer, start: number, part: number) => number} */
function offsetOf(bytes, start, part) {
  let at = start + OPENED_REQUEST;
  for (let before = 0; before < part; before++) at += bytes.readUInt32LE(start + LENGTHS[before]);
  return at;
}

/** @type {Array<(bytes: Buffer, start: number) => string>} */
const [requestText, protocolText, tailText] = [REQUEST, PROTOCOL, TAIL].map((part) => (bytes, start) => textOf(bytes, start, part));

/** @type {(bytes: Buffer, start: number) => number} */
function tlsOffset(bytes, start) {
  return offsetOf(bytes, start, TLS);
}

/** Where the record ends. @type {(bytes: Buffer, start: number) => number} */
function endOf(bytes, start) {
  return tlsOffset(bytes, start) + bytes.readUInt32LE(start + OPENED_TLS_LENGTH);
}

/** A copy. @type {(bytes: Buffer, start: number) => Buffer} */
function tailOf(bytes, start) {
  const length = bytes.readUInt32LE(start + OPENED_TAIL_LENGTH);
  if (length === 0) return EMPTY_BUFFER;
  const at = offsetOf(bytes, start, TAIL);
  return Buffer.from(bytes.subarray(at, at + length));
}

module.exports = { endOf, generationOf, protocolText, readPeer, requestText, tailOf, tailText, tlsOffset };
