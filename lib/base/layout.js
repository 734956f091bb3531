'use strict';

// What both languages must agree on, made by a test of src/bridge, which fails where it differs. To
// make it again: WRITE_LAYOUT=1 cargo test --no-default-features --features reactor --lib layout
//
// A tag is the word of a record that carries its kind, flags and aux. The flags are here as they
// are in a tag. A number of 64 bits is two words, the lower half first.

/**
 * Bytes of a frame of a server: header and payload.
 *
 * @param {number} length Bytes of the payload
 * @returns {number} Bytes of both
 */
function frameBytes(length) {
  if (length < 126) return length + 2;
  if (length < 65536) return length + 4;
  return length + 10;
}

/**
 * @param {number} code A status code
 * @returns {boolean} Whether a close frame may carry it (RFC 6455, 7.4)
 */
function isValidStatusCode(code) {
  return (
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) ||
    (code >= 3000 && code <= 4999)
  );
}

module.exports = {
  /** In `u32`. */
  RECORD_WORDS: 4,
  /** In an inbound batch. */
  MAX_RECORDS: 16384,
  /** Word after the records: payload bytes of the drained batch. */
  DRAINED_BYTES: 65536,
  /** Next word: 1 + the number of the lent memory that has them; 0: the reactor's own has them. */
  DRAINED_LENT: 65537,
  /**
   * Next word: 1 when that memory is handed over, and other memory should be lent; 0 when
   * payloads must be copied before the next drain, with which it goes back.
   */
  DRAINED_HANDED: 65538,
  /** Next word, by JavaScript: bytes of the arena to be flushed. */
  FLUSHED_BYTES: 65539,
  /** Next word: 1 + the number of the next arena to fill; 0: the same one again. */
  FLUSHED_NEXT: 65540,
  /** Next word, by JavaScript: slot of the connection whose sent bytes it asks for. */
  ASKED_SLOT: 65541,
  /** Next word: its generation. */
  ASKED_GENERATION: 65542,
  /** Next word, by JavaScript: number of the memory that it lends. */
  LENT_ID: 65543,
  /** Next word, by JavaScript: records of the drained batch that it is done with. */
  DELIVERED_RECORDS: 65544,
  /** Next word: the turn of the event loop in which the batch was drained, 30 bits. */
  DRAINED_TURN: 65545,
  /** Next word, by JavaScript: 1 when only records of streams are to be drained. */
  DRAINED_STREAMS: 65546,
  /** Next word, by JavaScript: 1 when some record of the arena is not for a socket. */
  FLUSHED_MIXED: 65547,
  /** Next word, by JavaScript: 1 when the memory for what streams write is free. */
  FLOWS_FREE: 65548,
  /** Next word: 1 when there is something to do with streams. */
  FLOWS_WAIT: 65549,
  /**
   * Next word, by JavaScript: 1 when a chunk of a stream may be read where it is. Then by
   * the reactor: 1 + the number of records, which are in the array, if it was; else 0.
   */
  PUMPED: 65550,
  /**
   * Next word: bit 0 when records of streams wait, bit 1 when their reactor waits until those
   * before have been dealt with.
   */
  STREAMS_WAIT: 65551,
  /**
   * Next words: what there is to do, `FLOW_WORDS` words each: slot, kind with the number
   * of sends above it, and of bytes to be written their offset and their number.
   */
  FLOWS: 65552,
  /** Words of each. */
  FLOW_WORDS: 4,
  /** Most of them at once. */
  MOST_FLOWS: 256,
  /** Bit of `FLOWS_WAIT`: other memory is needed. */
  FLOWS_WANT_MEMORY: 2147483648,
  /** The stream takes no more bytes for now. */
  STREAM_FULL: 0,
  /** The stream takes bytes again. */
  STREAM_DRAINED: 1,
  /** The peer has ended its side. */
  STREAM_ENDED: 2,
  /** The stream is closed. */
  STREAM_CLOSED: 3,
  /** Write bytes to the stream, in lent memory. */
  FLOW_WRITE: 0,
  /** End our side. */
  FLOW_END: 1,
  /** Destroy the stream. */
  FLOW_DESTROY: 2,
  /** Destroy it with a reset. */
  FLOW_RESET: 3,
  /** Read it again. */
  FLOW_RESUME: 4,
  /** Position of the number of sends within the word that has the kind. */
  FLOW_SENT_SHIFT: 8,
  DRAINED_WORDS: 66576,
  /** Least bytes of memory to be lent. */
  LENT_BYTES: 327680,
  /** From here on adopted sockets, numbered by JavaScript; lower slots are the reactor's. */
  ADOPTED_SLOTS: 1073741824,
  /** The slots from here on are streams of the program, numbered by JavaScript too. */
  PIPE_SLOTS: 2147483648,
  KIND_MASK: 255,
  FLAGS_SHIFT: 8,
  AUX_SHIFT: 16,
  /** Or the listener's id. */
  IN_WORD_SLOT: 0,
  IN_WORD_KIND: 1,
  /** In the batch, or an index among the large payloads. */
  IN_WORD_OFFSET: 2,
  /** In bytes, or a count. */
  IN_WORD_LENGTH: 3,
  /** Payload: `Opened`. */
  IN_OPEN: 1,
  IN_TEXT: 2,
  IN_BINARY: 3,
  IN_PING: 4,
  IN_PONG: 5,
  /** aux: status code, 1005 for an empty frame. Payload: the reason. */
  IN_CLOSE: 6,
  /** flags: number of the error kind, aux: its detail. */
  IN_ERROR: 7,
  /** Last record of a connection. flags: number of the `Cause`. */
  IN_CLOSED: 8,
  /** The kernel has the bytes of the `length` oldest sends that asked for this record. */
  IN_SENT: 9,
  /** There is room again, see `LOW_WATER_MARK`. */
  IN_DRAIN: 10,
  /** JavaScript answers this handshake. Payload: `Opened`. */
  IN_REQUEST: 11,
  /** slot: listener id. */
  IN_LISTENER_CLOSED: 12,
  /** The reactor died. slot: PIPE_SLOTS if it has streams, else 0. Payload: why. */
  IN_FAILURE: 13,
  /**
   * The peer ended its side without a close frame; JavaScript answers with `OUT_END`. Length:
   * 1 while JavaScript decides about the handshake (if it accepts, the end comes once more,
   * after everything before it), else 0.
   */
  IN_END: 14,
  /** Descriptors have run out. slot: listener id, length: connections closed as they came. */
  IN_REFUSED: 21,
  /** The reactor has sent a close frame by itself: the topic's member was slow. */
  IN_CLOSING: 22,
  /** All that the reactor's sockets had when it was asked for this has been reported. */
  IN_FENCE: 24,
  /** The payload is a large one, `offset` its index. */
  IN_FLAG_OWNED: 32768,
  /** Byte offsets; the first eight are of `u32`, little-endian. */
  OPENED_GENERATION: 0,
  OPENED_LISTENER: 4,
  /** 0 when unknown. */
  OPENED_LOCAL_PORT: 8,
  OPENED_REMOTE_PORT: 12,
  /** 4, 6, or 0 when no address is known. */
  OPENED_FAMILY: 16,
  OPENED_REQUEST_LENGTH: 20,
  OPENED_PROTOCOL_LENGTH: 24,
  OPENED_TAIL_LENGTH: 28,
  /** IPv4 in the first 4 of 16 bytes. */
  OPENED_LOCAL_ADDRESS: 32,
  OPENED_REMOTE_ADDRESS: 48,
  /** Latin1; subprotocol and tail follow. */
  OPENED_REQUEST: 64,
  OUT_HEADER_BYTES: 16,
  /** Records begin at multiples of this. */
  OUT_ALIGN: 16,
  OUT_WORD_SLOT: 0,
  OUT_WORD_GENERATION: 1,
  OUT_WORD_KIND: 2,
  /** In bytes; with `OUT_FLAG_SAME` offset of the payload in the chunk. */
  OUT_WORD_LENGTH: 3,
  OUT_TEXT: 1,
  OUT_BINARY: 2,
  OUT_PING: 3,
  OUT_PONG: 4,
  /** aux: status code, 0 for an empty frame. Payload: the reason. */
  OUT_CLOSE: 5,
  /** Destroy the socket. `OUT_FLAG_RESET`: with a reset, and without the bytes that wait. */
  OUT_TERMINATE: 6,
  /**
   * Stop reading. aux 1: a 101 that has not left waits for `OUT_RESUME`, or for a record that
   * ends or writes.
   */
  OUT_PAUSE: 7,
  OUT_RESUME: 8,
  /** Answer the handshake with the 101 response in the payload; the connection is open. */
  OUT_ACCEPT: 9,
  /** Refuse the handshake: write the payload, then end; destroy the socket if its 101 has left. */
  OUT_RESPOND: 10,
  OUT_WRITE: 11,
  /** Shut down our side after everything written. */
  OUT_END: 12,
  /** TCP_NODELAY: aux 1 on, 0 off. */
  OUT_NO_DELAY: 13,
  /** aux: seconds of silence before the first probe, 0 = the system's default. */
  OUT_KEEP_ALIVE: 14,
  /** Payload: number of the prepared message, `u32` in the byte order of the machine. */
  OUT_PREPARED: 15,
  /**
   * The bytes that `IN_REQUEST` brought after the request, to be read before the socket's when
   * `OUT_ACCEPT` follows.
   */
  OUT_HEAD: 16,
  /** Report the peer's end once more, after `IN_SENT` for the bytes that the kernel takes now. */
  OUT_ASK_END: 26,
  /** With `OUT_FLAG_ON`, an answer to a handshake that has not left waits for this record without it. */
  OUT_WITHHOLD: 27,
  OUT_FLAG_FIN: 256,
  /** Of `OUT_TERMINATE`. */
  OUT_FLAG_RESET: 256,
  /** Of `OUT_KEEP_ALIVE` and `OUT_WITHHOLD`. */
  OUT_FLAG_ON: 256,
  /** Count this in `IN_SENT`. */
  OUT_FLAG_WANT_SENT: 512,
  /** The payload is the next of the chunk's large ones. */
  OUT_FLAG_LARGE: 1024,
  /** If the extension was negotiated. */
  OUT_FLAG_COMPRESS: 2048,
  /**
   * The payload is an earlier record's. With `OUT_FLAG_LARGE`: the last record with
   * `OUT_FLAG_SHARED` has the payload and the kind of message.
   */
  OUT_FLAG_SAME: 4096,
  /** With `OUT_FLAG_LARGE`, of a whole message: later records have the same payload. */
  OUT_FLAG_SHARED: 8192,
  /** The payload begins with the masking key. */
  OUT_FLAG_KEY: 16384,
  /** Aux of a message, ping or pong: masked by a server, not by a client. */
  MASK_AGAINST: 1,
  /** JavaScript decides about handshakes that pass the native checks: a hook is set. */
  ASK_ACCEPTED: 1,
  /** JavaScript decides about handshakes that they refuse: `wsClientError` has a listener. */
  ASK_REFUSED: 2,
  /** A health check is answered with 503. */
  ASK_DRAINED: 4,
  /** From this many unsent bytes on a connection has no room: `send()` returns false. */
  HIGH_WATER_MARK: 1048576,
  /** Unsent bytes at which it has room again. */
  LOW_WATER_MARK: 524288,
  /** For the header of a payload that is framed where it is. */
  HEADROOM: 14,
  /** Most in a control frame (RFC 6455, section 5.5). */
  CONTROL_BYTES: 125,
  REASON_BYTES: 123,
  NO_STATUS: 1005,
  ABNORMAL: 1006,
  /** A connection is a member, and the messages that it asked to have again are queued. */
  IN_SUBSCRIBED: 16,
  /** A connection is not sent these messages, because it is slow. */
  IN_DROPPED: 17,
  /** A connection cannot be sent these messages any more: the history has lost them. */
  IN_GAP: 18,
  /** The outcome of a message with a receipt, on one reactor; slot: `TOPIC_SLOT`. */
  IN_RECEIPT: 19,
  /** The answer to `OUT_HISTORY`; slot: `TOPIC_SLOT`. */
  IN_HISTORY: 20,
  /** `u32`, little-endian, as all words of inbound payloads. */
  SUBSCRIBED_REQUEST: 0,
  /** 1: nothing is missing after the requested position; 0: nothing was replayed. */
  SUBSCRIBED_RECOVERED: 1,
  SUBSCRIBED_REPLAYED: 2,
  /** Of the last message that the connection has or has been queued; 64 bits. */
  SUBSCRIBED_OFFSET: 3,
  SUBSCRIBED_WORDS: 5,
  DROPPED_TOPIC: 0,
  /** Since the last such record. */
  DROPPED_COUNT: 1,
  DROPPED_WORDS: 2,
  GAP_TOPIC: 0,
  /** The first missing offset; 64 bits. */
  GAP_FROM: 1,
  /** The last missing offset; 64 bits. */
  GAP_TO: 3,
  GAP_WORDS: 5,
  RECEIPT_REQUEST: 0,
  /** Members that the message was for. */
  RECEIPT_MATCHED: 1,
  /** Members for which the kernel has all of it. */
  RECEIPT_SENT: 2,
  /** Members for which it waits, in a queue or in the history. */
  RECEIPT_QUEUED: 3,
  /** Members that do not get it. */
  RECEIPT_DROPPED: 4,
  /** Of the frames sent and queued; 64 bits. */
  RECEIPT_BYTES: 5,
  RECEIPT_WORDS: 7,
  HISTORY_REQUEST: 0,
  /** As `SUBSCRIBED_RECOVERED`. */
  HISTORY_RECOVERED: 1,
  /** Messages that follow, each after its `ENTRY_` words. */
  HISTORY_COUNT: 2,
  /** Offset of the topic's last message; 64 bits. */
  HISTORY_TOP: 3,
  HISTORY_WORDS: 5,
  /** 64 bits. */
  ENTRY_OFFSET: 0,
  /** `PUBLISH_TEXT` or 0. */
  ENTRY_FLAGS: 2,
  /** In bytes. Padding follows, to a multiple of 4. */
  ENTRY_LENGTH: 3,
  ENTRY_WORDS: 4,
  /**
   * The slot of records for all reactors, which have the same topics with the same offsets. The
   * generation is the number of the topic, which JavaScript counts up.
   */
  TOPIC_SLOT: 4294967295,
  /** Slot: `TOPIC_SLOT`. */
  OUT_TOPIC: 17,
  /** With its members and its history. Slot: `TOPIC_SLOT`. */
  OUT_TOPIC_END: 18,
  /** A connection becomes a member, after the messages that it asks to have again. */
  OUT_SUBSCRIBE: 19,
  /** Payload: the number of the topic; 0: all, and the connection joins none any more. */
  OUT_UNSUBSCRIBE: 20,
  /**
   * More about the next `OUT_PUBLISH`. Slot: `TOPIC_SLOT`. After the words: slot and
   * generation of each connection that does not get it, then the key.
   */
  OUT_TARGET: 21,
  /**
   * A whole message. Slot: `TOPIC_SLOT`. Flags: `OUT_FLAG_FIN`, `OUT_FLAG_COMPRESS` and where
   * the payload is; aux: `PUBLISH_TEXT` or 0.
   */
  OUT_PUBLISH: 22,
  /** Slot: `TOPIC_SLOT`. Payload: number of the prepared message. */
  OUT_PUBLISH_PREPARED: 23,
  /**
   * For the first reactor only. Slot: `TOPIC_SLOT`. Payload: `SUBSCRIBE_` without the topic,
   * then the most messages wanted.
   */
  OUT_HISTORY: 24,
  /**
   * Bytes that all histories may take on all reactors together. Slot: `TOPIC_SLOT`. Payload:
   * 64 bits.
   */
  OUT_HISTORY_BUDGET: 25,
  /** One of `SLOW_`. */
  TOPIC_SLOW: 0,
  /** Unsent bytes above which a member is slow. */
  TOPIC_LIMIT: 1,
  /** Most messages, 0 for none. */
  TOPIC_HISTORY: 2,
  /** Milliseconds for which a message stays, 0 for ever. */
  TOPIC_TTL: 3,
  /** Most bytes of payload, 0 without bound. */
  TOPIC_MAX_BYTES: 4,
  TOPIC_WORDS: 5,
  /** The message is queued all the same. */
  SLOW_QUEUE: 0,
  SLOW_DROP: 1,
  /** The last message of each key is sent when the member is no longer slow. */
  SLOW_LATEST: 2,
  /** The member is served from the history when it is no longer slow. */
  SLOW_CATCH_UP: 3,
  /** The member is closed with 1013. */
  SLOW_CLOSE: 4,
  SUBSCRIBE_TOPIC: 0,
  /** A number for the answer, 0 when none is wanted. */
  SUBSCRIBE_REQUEST: 1,
  /** One of `SINCE_`. */
  SUBSCRIBE_SINCE: 2,
  /** For `SINCE_OFFSET`; 64 bits. */
  SUBSCRIBE_OFFSET: 3,
  SUBSCRIBE_WORDS: 5,
  SINCE_NOW: 0,
  SINCE_OFFSET: 1,
  SINCE_OLDEST: 2,
  /** For the receipt, 0 when none is wanted. */
  TARGET_REQUEST: 0,
  /** Connections that do not get it. */
  TARGET_EXCEPT: 1,
  /** Bytes of the key. */
  TARGET_KEY: 2,
  TARGET_WORDS: 3,
  /** Aux of `OUT_PUBLISH`, and flag of a message of `IN_HISTORY`. */
  PUBLISH_TEXT: 1,

  /** Why a handshake is refused, and how, as in ws. */
  REFUSALS: {
    METHOD: { status: 405, message: 'Invalid HTTP method', headers: {} },
    UPGRADE: { status: 400, message: 'Invalid Upgrade header', headers: {} },
    KEY: { status: 400, message: 'Missing or invalid Sec-WebSocket-Key header', headers: {} },
    VERSION: { status: 400, message: 'Missing or invalid Sec-WebSocket-Version header', headers: { 'Sec-WebSocket-Version': '13, 8' } },
    BODY: { status: 400, message: 'Unexpected request body', headers: {} },
    PATH: { status: 400, message: 'Bad Request', headers: {} },
    PROTOCOL: { status: 400, message: 'Invalid Sec-WebSocket-Protocol header', headers: {} },
    EXTENSIONS: { status: 400, message: 'Invalid or unacceptable Sec-WebSocket-Extensions header', headers: {} },
  },

  /**
   * Why somebody may not connect, by the numbers from 1, and the answer.
   *
   * @type {Array<{ name: string, status: number, headers: Record<string, string> }>}
   */
  DENIALS: [
    { name: 'connections', status: 503, headers: { 'Retry-After': '10' } },
    { name: 'address', status: 429, headers: { 'Retry-After': '10' } },
    { name: 'rate', status: 503, headers: { 'Retry-After': '1' } },
    { name: 'head', status: 431, headers: {} },
    { name: 'origin', status: 403, headers: {} },
  ],

  /** Why a connection has ended, by the numbers from 1 in the flags of `IN_CLOSED`. */
  CAUSES: [null, 'closed', 'fin', 'reset', 'terminate', 'ping-timeout', 'idle-timeout', 'close-timeout', 'too-many-pongs', 'protocol-error', 'too-big', 'too-fast', 'send-budget', 'unfinished-budget', 'slow', 'drain', 'exhausted', 'panic', 'reactor-failed', 'handshake'],

  /** Those numbers. */
  CAUSE: {
    CLOSED: 1,
    FIN: 2,
    RESET: 3,
    TERMINATE: 4,
    PING_TIMEOUT: 5,
    IDLE_TIMEOUT: 6,
    CLOSE_TIMEOUT: 7,
    TOO_MANY_PONGS: 8,
    PROTOCOL_ERROR: 9,
    TOO_BIG: 10,
    TOO_FAST: 11,
    SEND_BUDGET: 12,
    UNFINISHED_BUDGET: 13,
    SLOW: 14,
    DRAIN: 15,
    EXHAUSTED: 16,
    PANIC: 17,
    REACTOR_FAILED: 18,
    HANDSHAKE: 19,
  },

  /** The numbers of the reactors, in the order of `totals`. */
  TALLY: ['accepted', 'badRequests', 'plainRequests', 'refused', 'timeouts', 'bytesReceived', 'bytesSent', 'messagesReceived', 'textsReceived', 'pingsReceived', 'pongsReceived', 'messagesSent', 'textsSent', 'dropped', 'compressedFrom', 'compressedTo', 'overBudget', 'cutRefusals', 'unfinishedBytes', 'historyBytes', 'historyBudget'],

  /**
   * What a peer did wrong, by the flags of an `IN_ERROR` record. `%d` stands for its aux.
   *
   * @type {Array<{ code: string, message: string, closeCode: number, cause: number, range: boolean } | undefined>}
   */
  PROTOCOL_ERRORS: [
    undefined,
    { code: 'WS_ERR_UNEXPECTED_RSV_2_3', message: 'Invalid WebSocket frame: RSV2 and RSV3 must be clear', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_UNEXPECTED_RSV_1', message: 'Invalid WebSocket frame: RSV1 must be clear', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_INVALID_OPCODE', message: 'Invalid WebSocket frame: invalid opcode %d', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_EXPECTED_FIN', message: 'Invalid WebSocket frame: FIN must be set', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH', message: 'Invalid WebSocket frame: invalid payload length %d', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_EXPECTED_MASK', message: 'Invalid WebSocket frame: MASK must be set', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_UNEXPECTED_MASK', message: 'Invalid WebSocket frame: MASK must be clear', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_INVALID_CLOSE_CODE', message: 'Invalid WebSocket frame: invalid status code %d', closeCode: 1002, cause: 9, range: true },
    { code: 'WS_ERR_INVALID_UTF8', message: 'Invalid WebSocket frame: invalid UTF-8 sequence', closeCode: 1007, cause: 9, range: false },
    { code: 'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH', message: 'Unsupported WebSocket frame: payload length > 2^53 - 1', closeCode: 1009, cause: 9, range: true },
    { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', message: 'Max payload size exceeded', closeCode: 1009, cause: 10, range: true },
    { code: 'WS_ERR_TOO_MANY_BUFFERED_PARTS', message: 'Too many message fragments', closeCode: 1008, cause: 10, range: true },
    { code: 'Z_DATA_ERROR', message: 'invalid block type', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid stored block lengths', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'too many length or distance symbols', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid code lengths set', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid bit length repeat', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid code -- missing end-of-block', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid literal/lengths set', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid distances set', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid literal/length code', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid distance code', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_DATA_ERROR', message: 'invalid distance too far back', closeCode: 1007, cause: 9, range: false },
    { code: 'Z_BUF_ERROR', message: 'unexpected end of file', closeCode: 1007, cause: 9, range: false },
    { code: 'WS_ERR_UNFINISHED_MESSAGE', message: 'Unfinished message given up to make room for others', closeCode: 1013, cause: 13, range: true },
    { code: 'WS_ERR_TOO_MANY_MESSAGES', message: 'Too many messages per second', closeCode: 1008, cause: 11, range: true },
    { code: 'WS_ERR_TOO_MANY_BYTES', message: 'Too many bytes per second', closeCode: 1008, cause: 11, range: true },
    { code: 'WS_ERR_SEND_BUDGET', message: 'Too much waits to be sent to a peer that does not read', closeCode: 1013, cause: 12, range: true },
  ],

  /** The version of the package and of its addon. */
  VERSION: '0.1.0',

  frameBytes,
  isValidStatusCode,
};
