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

  // Slots from here on are numbered here: sockets that the reactor adopts.
  ADOPTED_SLOTS: 2 ** 30,
  // What a WebSocket has that is no connection of the reactor, which knows nobody of such a slot or generation.
  NO_SLOT: -1,
  NO_GENERATION: 0,

  // Reactor -> JavaScript: [slot, kind | flags << 8 | aux << 16, offset, length].
  RECORD_WORDS: 4,
  IN_OPEN: 1,
  IN_TEXT: 2,
  IN_BINARY: 3,
  IN_PING: 4,
  IN_PONG: 5,
  IN_CLOSE: 6,
  IN_ERROR: 7,
  IN_CLOSED: 8,
  IN_SENT: 9,
  IN_DRAIN: 10,
  IN_REQUEST: 11,
  IN_LISTENER_CLOSED: 12,
  IN_FAILURE: 13,
  IN_END: 14,
  IN_RAW: 15,
  IN_PART: 16,
  IN_CONNECTION: 17,
  IN_FLAG_OWNED: 0x80,
  IN_FLAG_LAST_PART: 0x40,

  // Words behind the last record: what a drain and a flush say beside it.
  DRAINED_BYTES: 65536,
  DRAINED_LENT: 65537,
  DRAINED_HANDED: 65538,
  FLUSHED_BYTES: 65539,
  FLUSHED_NEXT: 65540,
  ASKED_SLOT: 65541,
  ASKED_GENERATION: 65542,
  LENT_ID: 65543,
  DELIVERED_RECORDS: 65544,

  // The array of a stream's records, where the header of a frame is in it, and what may be or was inflated.
  STREAM_RECORDS: 256,
  STREAM_HEADER: 1024,
  STREAM_ROOM: 1028,
  STREAM_WORDS: 1029,

  IN_FLAG_RECENT: 0x01,

  // The payload of OPEN and REQUEST: byte offsets.
  OPENED_GENERATION: 0,
  OPENED_LISTENER: 4,
  OPENED_LOCAL_PORT: 8,
  OPENED_REMOTE_PORT: 12,
  OPENED_FAMILY: 16,
  OPENED_REQUEST_LENGTH: 20,
  OPENED_PROTOCOL_LENGTH: 24,
  OPENED_TAIL_LENGTH: 28,
  OPENED_LOCAL_ADDRESS: 32,
  OPENED_REMOTE_ADDRESS: 48,
  OPENED_REQUEST: 64,

  // JavaScript -> reactor: [slot, generation, kind | flags << 8 | aux << 16, length] + payload.
  OUT_HEADER_BYTES: 16,
  OUT_TEXT: 1,
  OUT_BINARY: 2,
  OUT_PING: 3,
  OUT_PONG: 4,
  OUT_CLOSE: 5,
  OUT_TERMINATE: 6,
  OUT_PAUSE: 7,
  OUT_RESUME: 8,
  OUT_ACCEPT: 9,
  OUT_RESPOND: 10,
  OUT_WRITE: 11,
  OUT_END: 12,
  OUT_NO_DELAY: 13,
  OUT_KEEP_ALIVE: 14,
  OUT_PREPARED: 15,
  OUT_WATCH: 16,
  OUT_FEED: 17,
  OUT_FLAG_FIN: 1,
  OUT_FLAG_WANT_SENT: 2,
  OUT_FLAG_LARGE: 4,
  OUT_FLAG_COMPRESS: 8,
  OUT_FLAG_SAME: 16,
  OUT_FLAG_SHARED: 32,

  // Which handshakes, and whether connections before them, JavaScript wants to see.
  ASK_ALWAYS: 1,
  ASK_REFUSED: 2,
  ASK_CONNECTIONS: 4,

  // Close code of a frame without one, and of a connection that ended without a close frame.
  NO_STATUS: 1005,
  ABNORMAL: 1006,

  /** Where the socket of a handshake that was just accepted has what opens a WebSocket on it: `(ws) => void`. */
  kOpen: Symbol('open'),
  /** Where an error has the close code that it is answered with. */
  kStatusCode: Symbol('status-code'),

  /** The one empty Buffer: empty messages and close reasons are this very object, as in ws. */
  EMPTY_BUFFER: Buffer.alloc(0),
  /** `Buffer` without its argument checks: `new FastBuffer(arrayBuffer, byteOffset, length)`. */
  FastBuffer: /** @type {any} */ (Buffer)[Symbol.species],
  BINARY_TYPES: hasBlob
    ? ['nodebuffer', 'arraybuffer', 'fragments', 'blob']
    : ['nodebuffer', 'arraybuffer', 'fragments'],
  hasBlob,
  GUID: '258EAFA5-E914-47DA-95CA-C5AB0DC85B11',
};
