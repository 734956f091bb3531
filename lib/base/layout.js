'use strict';

// What both languages must agree on, made by a test of src/bridge, which fails where it differs. To
// make it again: WRITE_LAYOUT=1 cargo test --no-default-features --features reactor --lib layout
//
// src/bridge/layout says what each constant is; those are here that lib names. A tag is the word of a record that carries its kind, flags
// and aux. The flags are here as they are in a tag. A number of 64 bits is two words, the lower half first.

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

/** Whether a peer has sent the payload of such records. @param {number} kind */
function isPayload(kind) {
  return (kind >= 2 && kind <= 6) || kind === 15;
}

/** Whether such records are about topics. @param {number} kind */
function isTopic(kind) {
  return kind >= 16 && kind <= 20;
}

module.exports = {
  RECORD_WORDS: 4,
  INBOUND_TAG: 1,
  INBOUND_OFFSET: 2,
  INBOUND_LENGTH: 3,
  OUTBOUND_GENERATION: 1,
  OUTBOUND_TAG: 2,
  OUTBOUND_LENGTH: 3,
  MAX_RECORDS: 16384,
  DRAINED_BYTES: 65536,
  DRAINED_LENT: 65537,
  DRAINED_HANDED: 65538,
  HANDED_REPORTS: 2,
  FLUSHED_BYTES: 65539,
  FLUSHED_NEXT: 65540,
  CALL_SLOT: 65541,
  CALL_GENERATION: 65542,
  LENT_ID: 65543,
  DELIVERED_RECORDS: 65544,
  DRAINED_TURN: 65545,
  DRAINED_STREAMS: 65546,
  FLUSHED_MIXED: 65547,
  OPS_FREE: 65548,
  OPS_WAIT: 65549,
  PUMPED: 65550,
  STREAMS_WAIT: 65551,
  IN_PLACE: 65552,
  OPS: 65553,
  OP_WORDS: 4,
  MOST_OPS: 256,
  OPS_WANT_MEMORY: 2147483648,
  STREAM_FULL: 0,
  STREAM_DRAINED: 1,
  STREAM_HUNG_UP: 2,
  STREAM_ENDED: 3,
  STREAM_CLOSED: 4,
  OP_WRITE: 0,
  OP_END: 1,
  OP_RESUME: 4,
  OP_SENT_SHIFT: 8,
  DRAINED_WORDS: 66577,
  LENT_BYTES: 327680,
  ADOPTED_SLOTS: 1073741824,
  PIPE_SLOTS: 2147483648,
  KIND_MASK: 255,
  FLAGS_SHIFT: 8,
  AUX_SHIFT: 16,
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
  IN_DATA: 15,
  IN_REFUSED: 21,
  IN_CLOSING: 22,
  IN_HANDOFF: 23,
  IN_HELLO: 25,
  IN_SECURE: 26,
  IN_TLS_ERROR: 27,
  IN_FROZEN: 28,
  IN_MOVED: 29,
  IN_THAWED: 30,
  IN_FLAG_RESUMED: 256,
  IN_FLAG_SOCKET: 256,
  IN_FLAG_OWNED: 32768,
  OPENED_GENERATION: 0,
  OPENED_LISTENER: 4,
  OPENED_LOCAL_PORT: 8,
  OPENED_REMOTE_PORT: 12,
  OPENED_FAMILY: 16,
  OPENED_REQUEST_LENGTH: 20,
  OPENED_PROTOCOL_LENGTH: 24,
  OPENED_TAIL_LENGTH: 28,
  OPENED_TLS_LENGTH: 32,
  OPENED_LOCAL_ADDRESS: 36,
  OPENED_REMOTE_ADDRESS: 52,
  OPENED_REQUEST: 68,
  MOVED_QUEUED: 0,
  MOVED_AHEAD: 4,
  MOVED_ATTACHMENT: 8,
  TLS_VERSION: 0,
  TLS_SUITE: 2,
  TLS_GROUP: 4,
  TLS_FLAGS: 6,
  TLS_ERROR_LENGTH: 8,
  TLS_SERVERNAME_LENGTH: 10,
  TLS_ALPN_LENGTH: 12,
  TLS_CERTIFICATES: 14,
  TLS_TEXTS: 16,
  TLS_REUSED: 1,
  TLS_AUTHORIZED: 2,
  TLS_ASK_SNI: 1,
  TLS_ASK_ALPN: 2,
  TLS_ASK_ERRORS: 4,
  TLS_ASK_SECURE: 8,
  OUT_HEADER_BYTES: 16,
  OUT_ALIGN: 16,
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
  OUT_HEAD: 16,
  OUT_ASK_END: 26,
  OUT_DEFER: 27,
  OUT_ATTACH: 29,
  OUT_FLAG_FIN: 256,
  OUT_FLAG_RESET: 256,
  OUT_FLAG_ON: 256,
  OUT_FLAG_WANT_SENT: 512,
  OUT_FLAG_LARGE: 1024,
  OUT_FLAG_COMPRESS: 2048,
  OUT_FLAG_SAME: 4096,
  OUT_FLAG_SHARED: 8192,
  SHARED_TEXT: 0,
  SHARED_OTHER: 1,
  OUT_FLAG_KEY: 16384,
  MASK_AGAINST: 1,
  ASK_ACCEPTED: 1,
  ASK_REFUSED: 2,
  ASK_DRAINED: 4,
  MAX_HEADERS: 256,
  MAX_HEAD: 16384,
  MAX_SHOWN: 10,
  BACKLOG: 4096,
  HIGH_WATER_MARK: 1048576,
  LOW_WATER_MARK: 524288,
  CONTROL_BYTES: 125,
  REASON_BYTES: 123,
  NO_STATUS: 1005,
  ABNORMAL: 1006,
  UNSUPPORTED_DATA: 1003,
  INVALID_PAYLOAD: 1007,
  POLICY_VIOLATION: 1008,
  MESSAGE_TOO_BIG: 1009,
  SERVICE_RESTART: 1012,
  IN_SUBSCRIBED: 16,
  IN_GAP: 18,
  IN_HISTORY: 20,
  SUBSCRIBED_REQUEST: 0,
  SUBSCRIBED_RECOVERED: 1,
  SUBSCRIBED_REPLAYED: 2,
  SUBSCRIBED_OFFSET: 3,
  DROPPED_TOPIC: 0,
  DROPPED_COUNT: 1,
  GAP_TOPIC: 0,
  GAP_FROM: 1,
  GAP_TO: 3,
  HISTORY_REQUEST: 0,
  HISTORY_RECOVERED: 1,
  HISTORY_COUNT: 2,
  HISTORY_TOP: 3,
  HISTORY_WORDS: 5,
  ENTRY_OFFSET: 0,
  ENTRY_FLAGS: 2,
  ENTRY_LENGTH: 3,
  ENTRY_AGE: 4,
  ENTRY_WORDS: 5,
  TOPIC_SLOT: 4294967295,
  OUT_TOPIC: 17,
  OUT_TOPIC_END: 18,
  OUT_SUBSCRIBE: 19,
  OUT_UNSUBSCRIBE: 20,
  OUT_TARGET: 21,
  OUT_PUBLISH: 22,
  OUT_RESTART: 23,
  OUT_HISTORY: 24,
  OUT_HISTORY_BUDGET: 25,
  SINCE_NOW: 0,
  SINCE_OFFSET: 1,
  SINCE_OLDEST: 2,
  TARGET_WORDS: 3,
  PUBLISH_TEXT: 1,
  TOPIC_STREAMS: 2,

  /** Why a handshake is refused, and how, as in ws. */
  REFUSALS: {
    METHOD: { status: 405, message: 'Invalid HTTP method', headers: {} },
    UPGRADE: { status: 400, message: 'Invalid Upgrade header', headers: {} },
    KEY: { status: 400, message: 'Missing or invalid Sec-WebSocket-Key header', headers: {} },
    VERSION: { status: 400, message: 'Missing or invalid Sec-WebSocket-Version header', headers: { 'Sec-WebSocket-Version': '13, 8' } },
    PATH: { status: 400, message: 'Bad Request', headers: {} },
    PROTOCOL: { status: 400, message: 'Invalid Sec-WebSocket-Protocol header', headers: {} },
    EXTENSIONS: { status: 400, message: 'Invalid or unacceptable Sec-WebSocket-Extensions header', headers: {} },
  },

  /**
   * The field that names the page, by the version of a handshake.
   *
   * @type {Record<number, string>}
   */
  ORIGIN_FIELDS: { 8: 'Sec-WebSocket-Origin', 13: 'Origin' },

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

  /** The ways to treat a message to a connection for which more than `limit` bytes wait. */
  SLOW: {
    'queue': 1,
    'drop': 2,
    'latest': 3,
    'catch-up': 4,
    'close': 5,
  },

  /** The numbers of the reactors, in the order of `totals`. */
  TALLY: ['accepted', 'badRequests', 'plainRequests', 'handedOff', 'refused', 'timeouts', 'bytesReceived', 'bytesSent', 'messagesReceived', 'textsReceived', 'pingsReceived', 'pongsReceived', 'messagesSent', 'textsSent', 'dropped', 'compressedFrom', 'compressedTo', 'overBudget', 'cutRefusals', 'tlsHandshakes', 'tlsReused', 'tlsUnshared', 'tlsBadCertificates', 'tlsAlerts', 'tlsPlainHttp', 'tlsTimeouts', 'tlsGone', 'tlsRefused', 'tlsMalformed', 'tlsUnreported', 'unfinishedBytes', 'historyBytes', 'historyBudget'],

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
  VERSION: '8.0.0-rc.1',

  frameBytes,
  isPayload,
  isTopic,
  isValidStatusCode,
};
