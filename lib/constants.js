'use strict';

// Numbers of the records that cross between the reactor thread and JavaScript. Rust owns them
// (`src/bridge/layout.rs`); they are repeated here as literals so that the JIT folds them, and
// `__test__/layout.spec.mjs` compares the two lists.

const hasBlob = typeof Blob !== 'undefined';

module.exports = {
  // Ready states.
  CONNECTING: 0,
  OPEN: 1,
  CLOSING: 2,
  CLOSED: 3,
  READY_STATES: ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'],

  // Reactor -> JavaScript: [slot, kind | flags << 8 | aux << 16, offset, length].
  RECORD_WORDS: 4,
  INBOUND_OPEN: 1,
  INBOUND_TEXT: 2,
  INBOUND_BINARY: 3,
  INBOUND_PING: 4,
  INBOUND_PONG: 5,
  INBOUND_CLOSE: 6,
  INBOUND_ERROR: 7,
  INBOUND_CLOSED: 8,
  INBOUND_SENT: 9,
  INBOUND_DRAIN: 10,
  INBOUND_REQUEST: 11,
  INBOUND_LISTENER_CLOSED: 12,
  INBOUND_FAILURE: 13,
  FLAG_OWNED: 0x80,

  // The payload of OPEN and REQUEST: byte offsets.
  OPENED_GENERATION: 0,
  OPENED_LISTENER: 4,
  OPENED_LOCAL_PORT: 8,
  OPENED_REMOTE_PORT: 12,
  OPENED_FAMILY: 16,
  OPENED_REQUEST_LENGTH: 20,
  OPENED_PROTOCOL_LENGTH: 24,
  OPENED_LOCAL_ADDRESS: 32,
  OPENED_REMOTE_ADDRESS: 48,
  OPENED_BYTES: 64,

  // JavaScript -> reactor: [slot, generation, kind | flags << 8 | aux << 16, length] + payload.
  OUTBOUND_HEADER_BYTES: 16,
  OUTBOUND_TEXT: 1,
  OUTBOUND_BINARY: 2,
  OUTBOUND_PING: 3,
  OUTBOUND_PONG: 4,
  OUTBOUND_CLOSE: 5,
  OUTBOUND_TERMINATE: 6,
  OUTBOUND_PAUSE: 7,
  OUTBOUND_RESUME: 8,
  OUTBOUND_ACCEPT: 9,
  OUTBOUND_RESPOND: 10,
  OUTBOUND_WRITE: 11,
  OUTBOUND_END: 12,
  FLAG_FIN: 1,
  FLAG_WANT_SENT: 2,
  FLAG_LARGE: 4,
  FLAG_COMPRESS: 8,

  // Which handshakes JavaScript wants to see.
  ASK_ALWAYS: 1,
  ASK_REFUSED: 2,

  // Close code of a frame without one, and of a connection that ended without a close frame.
  NO_STATUS: 1005,
  ABNORMAL: 1006,

  /** The one empty Buffer: empty messages and close reasons are this very object, as in ws. */
  EMPTY_BUFFER: Buffer.alloc(0),
  /** `Buffer` without its argument checks: `new FastBuffer(arrayBuffer, byteOffset, length)`. */
  FastBuffer: /** @type {any} */ (Buffer)[Symbol.species],
  BINARY_TYPES: hasBlob
    ? ['nodebuffer', 'arraybuffer', 'fragments', 'blob']
    : ['nodebuffer', 'arraybuffer', 'fragments'],
  hasBlob,
  GUID: '258EAFA5-E914-47DA-95CA-C5AB0DC85B11',

  // Entries of the connection table answer to these.
  kRecord: Symbol('kRecord'),
  kOpened: Symbol('kOpened'),
  kReleased: Symbol('kReleased'),
  kFailed: Symbol('kFailed'),
};
