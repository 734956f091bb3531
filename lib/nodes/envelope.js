'use strict';

// The format of published messages between nodes, the same for all adapters. Messages about presence are JSON.

const { KIND_MASK, OUT_FLAG_COMPRESS, OUT_TEXT } = require('../base/layout');
const { BINARY, TEXT } = require('../connection/arguments');

/** @import { Message } from '../topics/publish' */

/** The first byte: of a published message, of one about presence, and of one that a process hands to the next. Nodes ignore all others. */
const PUBLISHED = 1;
const PRESENCE = 2;
const PASSED_ON = 3;

/** The channel of announcements about presence: the name of the topic follows after another NUL. */
const PRESENCE_CHANNEL = '\0presence';

// The second byte.
const IS_TEXT = 1;
const IS_COMPRESSED = 2;
const HAS_KEY = 4;

/** Bytes of a node's name, and of the number that it gives its message; both big-endian. */
const NODE_BYTES = 6;
const NODE_AT = 2;
const NUMBER_AT = NODE_AT + NODE_BYTES;
const HEADER_BYTES = NUMBER_AT + 6;

/** Bytes of the length of a key, which follows the header. */
const LENGTH_BYTES = 4;

/**
 * A node counts up the numbers of its messages. `node` and `number` have 48 bits.
 *
 * @typedef {{ node: number, number: number, key: string, message: Message }} Envelope
 */

/** @type {(node: number, number: number, message: Message, key: string) => Buffer} */
function encode(node, number, { data, tag }, key) {
  const isText = typeof data === 'string';
  const length = isText ? Buffer.byteLength(data) : data.length;
  const keyBytes = key === '' ? 0 : LENGTH_BYTES + 2 * key.length;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + keyBytes + length);
  bytes[0] = PUBLISHED;
  bytes[1] = ((tag & KIND_MASK) === OUT_TEXT ? IS_TEXT : 0) | ((tag & OUT_FLAG_COMPRESS) !== 0 ? IS_COMPRESSED : 0) | (key === '' ? 0 : HAS_KEY);
  bytes.writeUIntBE(node, NODE_AT, NODE_BYTES);
  bytes.writeUIntBE(number, NUMBER_AT, NODE_BYTES);
  if (key !== '') {
    bytes.writeUInt32BE(2 * key.length, HEADER_BYTES);
    // In UTF-8, all lone surrogates would be the same key.
    bytes.write(key, HEADER_BYTES + LENGTH_BYTES, 'utf16le');
  }
  if (isText) bytes.write(data, HEADER_BYTES + keyBytes, 'utf8');
  else bytes.set(data, HEADER_BYTES + keyBytes);
  return bytes;
}

/** Null for anything that this version cannot read. `data` of the message is a part of `bytes`. @type {(bytes: Buffer) => Envelope | null} */
function decode(bytes) {
  if (bytes.length < HEADER_BYTES || bytes[0] !== PUBLISHED) return null;
  const flags = bytes[1];
  let start = HEADER_BYTES;
  let key = '';
  if ((flags & HAS_KEY) !== 0) {
    if (bytes.length < start + LENGTH_BYTES) return null;
    const length = bytes.readUInt32BE(start);
    start += LENGTH_BYTES;
    if (bytes.length < start + length) return null;
    key = bytes.toString('utf16le', start, start + length);
    start += length;
  }
  const kind = (flags & IS_TEXT) !== 0 ? TEXT : BINARY;
  const tag = (flags & IS_COMPRESSED) !== 0 ? kind : kind & ~OUT_FLAG_COMPRESS;
  const message = { tag, data: bytes.subarray(start) };
  return { node: bytes.readUIntBE(NODE_AT, NODE_BYTES), number: bytes.readUIntBE(NUMBER_AT, NODE_BYTES), key, message };
}

/** A message that came to the process before; `name` null: there are no more, and `detail` says whether these are all. @type {(name: string | null, detail: unknown, bytes: Uint8Array) => Buffer} */
function encodeHanded(name, detail, bytes) {
  return Buffer.concat([Buffer.from([PASSED_ON]), Buffer.from(`${JSON.stringify([name, detail])}\n`), bytes]);
}

/** @type {(buffer: Buffer) => [name: string | null, detail: any, bytes: Buffer]} */
function decodeHanded(buffer) {
  const end = buffer.indexOf('\n');
  const [name, detail] = JSON.parse(buffer.toString('utf8', 1, end));
  return [name, detail, buffer.subarray(end + 1)];
}

module.exports = { PASSED_ON, NODE_BYTES, PRESENCE, PRESENCE_CHANNEL, decode, decodeHanded, encode, encodeHanded };
