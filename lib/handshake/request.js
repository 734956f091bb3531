'use strict';

const { IncomingMessage } = require('node:http');

const { EMPTY_BUFFER } = require('../base/constants');
const { OPENED_FAMILY, OPENED_GENERATION, OPENED_LOCAL_ADDRESS, OPENED_LOCAL_PORT, OPENED_REMOTE_ADDRESS } = require('../base/layout');
const { OPENED_PROTOCOL_LENGTH, OPENED_REMOTE_PORT, OPENED_REQUEST, OPENED_REQUEST_LENGTH, OPENED_TAIL_LENGTH, OPENED_TLS_LENGTH } = require('../base/layout');

const IPV6_BYTES = 16;

/** What stands for no address where ours is known. */
const UNSPECIFIED = [0, '\0'.repeat(IPV6_BYTES)];

/**
 * The upgrade request as Node's HTTP server would make it. The reactor's form is `METHOD \0 url \0 minor version \0
 * name \0 value \0 name \0 value ...`.
 */
class UpgradeRequest extends /** @type {new (socket: null) => { _addHeaderLines?(list: string[], count: number): void }} */ (/** @type {unknown} */ (IncomingMessage)) {
  /**
   * @param {string} text
   * @param {{ _socket: unknown }} owner
   */
  constructor(text, owner) {
    super(null);
    const urlAt = text.indexOf('\0') + 1;
    const versionAt = text.indexOf('\0', urlAt) + 1;
    const minor = text.charCodeAt(versionAt) - 0x30;
    this.method = text.slice(0, urlAt - 1);
    this.url = text.slice(urlAt, versionAt - 1);
    this.httpVersionMajor = 1;
    this.httpVersionMinor = minor;
    this.httpVersion = `1.${minor}`;
    this.upgrade = true;
    this._owner = owner;
    // Without headers, nothing follows the version.
    const list = text.length === versionAt + 1 ? [] : text.slice(versionAt + 2).split('\0');
    // Lines added to a complete message would be trailers. Some versions of Bun lack the method.
    this._addHeaderLines?.(list, list.length);
    this.complete = true;
  }

  // IncomingMessage assigns these in its constructor, so they need setters.
  /** @returns {unknown} */
  get socket() {
    return this._replacedSocket === undefined ? this._owner._socket : this._replacedSocket;
  }

  set socket(socket) {
    if (socket !== null) this._replacedSocket = socket;
  }
}

// `start`: offset of an OPEN or REQUEST record's payload in the memory of its batch.

/**
 * An IPv4 address is a number, an IPv6 address a string of 16 bytes, an unknown one '': every connection keeps them.
 * `_tlsText`: see tls/session.js; '' without TLS.
 *
 * @typedef {{ _tlsText: string, _slot: number, _generation: number, _local: number | string, _localPort: number, _remote: number | string, _remotePort: number }} Peer
 */

/** @type {(peer: Peer, slot: number, bytes: Buffer, start: number) => void} */
function readPeer(peer, slot, bytes, start) {
  const family = bytes.readUInt32LE(start + OPENED_FAMILY);
  peer._slot = slot;
  peer._generation = bytes.readUInt32LE(start + OPENED_GENERATION);
  peer._localPort = bytes.readUInt32LE(start + OPENED_LOCAL_PORT);
  peer._remotePort = bytes.readUInt32LE(start + OPENED_REMOTE_PORT);
  peer._local = readAddress(bytes, start + OPENED_LOCAL_ADDRESS, family);
  peer._remote = readAddress(bytes, start + OPENED_REMOTE_ADDRESS, family);
  // A peer that has reset the connection may have had no address any more.
  if (peer._remotePort === 0 && UNSPECIFIED.includes(peer._remote)) peer._remote = '';
  peer._tlsText = tlsText(bytes, start);
}

/** `family`: 4, 6, or 0 if the kernel knows no address. @type {(bytes: Buffer, at: number, family: number) => number | string} */
function readAddress(bytes, at, family) {
  if (family === 6) return bytes.toString('latin1', at, at + IPV6_BYTES);
  return family === 4 ? bytes.readInt32BE(at) : '';
}

/** @typedef {(bytes: Buffer, start: number) => string} ReadText */

/** @type {ReadText} */
function requestText(bytes, start) {
  const length = bytes.readUInt32LE(start + OPENED_REQUEST_LENGTH);
  return bytes.toString('latin1', start + OPENED_REQUEST, start + OPENED_REQUEST + length);
}

/** @type {ReadText} */
function protocolText(bytes, start) {
  const length = bytes.readUInt32LE(start + OPENED_PROTOCOL_LENGTH);
  if (length === 0) return '';
  const at = start + OPENED_REQUEST + bytes.readUInt32LE(start + OPENED_REQUEST_LENGTH);
  return bytes.toString('latin1', at, at + length);
}

/** @type {ReadText} */
function extensionsText(bytes, start) {
  const text = headOf(bytes, start);
  return text.length === 0 ? '' : text.toString('latin1');
}

/** @type {ReadText} */
function tlsText(bytes, start) {
  const length = bytes.readUInt32LE(start + OPENED_TLS_LENGTH);
  if (length === 0) return '';
  const before = [OPENED_REQUEST_LENGTH, OPENED_PROTOCOL_LENGTH, OPENED_TAIL_LENGTH].reduce((sum, field) => sum + bytes.readUInt32LE(start + field), 0);
  const at = start + OPENED_REQUEST + before;
  return bytes.toString('latin1', at, at + length);
}

/** A copy of what follows the request and the subprotocol. @type {(bytes: Buffer, start: number) => Buffer} */
function headOf(bytes, start) {
  const length = bytes.readUInt32LE(start + OPENED_TAIL_LENGTH);
  if (length === 0) return EMPTY_BUFFER;
  const before = bytes.readUInt32LE(start + OPENED_REQUEST_LENGTH) + bytes.readUInt32LE(start + OPENED_PROTOCOL_LENGTH);
  const at = start + OPENED_REQUEST + before;
  return Buffer.from(bytes.subarray(at, at + length));
}

module.exports = { UpgradeRequest, extensionsText, headOf, protocolText, readPeer, requestText };
