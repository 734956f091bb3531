'use strict';

// What both languages must agree on, made by a test of src/bridge, which fails where it differs. To
// make it again: WRITE_LAYOUT=1 cargo test --no-default-features --features reactor --lib layout
//
// A tag is the word of a record that carries its kind, flags and aux. The flags are here as they
// are in a tag.

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
  /** `u32` words of a record, inbound or outbound. */
  RECORD_WORDS: 4,
  /**
   * Most records in one inbound batch; JavaScript allocates its array of records once, for this
   * many.
   */
  MAX_RECORDS: 16384,
  /** Word of the array of records, behind the last record: payload bytes of the drained batch. */
  DRAINED_BYTES: 65536,
  /**
   * Word behind it: 1 + the number of the lent memory that these bytes are in; 0 when they are
   * in the reactor's own, and more should be lent.
   */
  DRAINED_LENT: 65537,
  /**
   * Word behind it: 1 when that memory is handed over, and other memory should be lent in its
   * place; 0 when it goes back with the next drain, and payloads that are kept must be copied.
   */
  DRAINED_HANDED: 65538,
  /** Word behind it, written by JavaScript: bytes of the arena to be flushed. */
  FLUSHED_BYTES: 65539,
  /**
   * Word behind it, written by the flush and the drain: 1 + the number of the arena to be filled
   * next; 0 for the same one again, after a flush because the reactor has all others.
   */
  FLUSHED_NEXT: 65540,
  /**
   * Word behind it, written by JavaScript: the slot of the connection whose sent bytes
   * JavaScript asks for.
   */
  ASKED_SLOT: 65541,
  /** Word behind it: its generation. */
  ASKED_GENERATION: 65542,
  /** Word behind it, written by JavaScript: the number of the memory to be lent. */
  LENT_ID: 65543,
  /**
   * Word behind it, written by JavaScript: the number of records of the drained batch that it
   * has dealt with.
   */
  DELIVERED_RECORDS: 65544,
  /**
   * Word behind it: number of the turn of the event loop in which the batch was drained, of 30
   * bits. It changes after the loop has read sockets and before it calls the callbacks of
   * `setImmediate`.
   */
  DRAINED_TURN: 65545,
  /** Length of the array of records in words. */
  DRAINED_WORDS: 65546,
  /** Most records of one call for a stream. */
  STREAM_RECORDS: 256,
  /**
   * Word of the array of a stream's records, behind the last record: the bytes of a frame's
   * header, in their order.
   */
  STREAM_HEADER: 1024,
  /**
   * Word behind it: in, the bytes that a call for a stream may inflate before others are served;
   * out, the bytes that it has worked on.
   */
  STREAM_ROOM: 1028,
  /** Length of that array in words. */
  STREAM_WORDS: 1029,
  /** Least bytes of memory to be lent. */
  LENT_BYTES: 327680,
  /**
   * The slots from here on are numbered by JavaScript: adopted sockets. Lower ones are the
   * reactor's.
   */
  ADOPTED_SLOTS: 1073741824,
  /** Mask of the kind within the word that carries kind, flags and aux. */
  KIND_MASK: 255,
  /** Position of the flags (8 bits) within that word. */
  FLAGS_SHIFT: 8,
  /** Position of the aux (16 bits) within that word. */
  AUX_SHIFT: 16,
  /** Inbound word: the connection's slot, or the listener's id. */
  IN_WORD_SLOT: 0,
  /** Inbound word: kind, flags and aux. */
  IN_WORD_KIND: 1,
  /** Inbound word: offset of the payload in the batch, or its index among the large payloads. */
  IN_WORD_OFFSET: 2,
  /** Inbound word: payload length in bytes, or a count. */
  IN_WORD_LENGTH: 3,
  /** A connection is open. Payload: `Opened`. */
  IN_OPEN: 1,
  /** A text message. */
  IN_TEXT: 2,
  /** A binary message. */
  IN_BINARY: 3,
  /** A ping frame. */
  IN_PING: 4,
  /** A pong frame. */
  IN_PONG: 5,
  /**
   * The peer's close frame. aux: status code, 1005 when the frame was empty. Payload: the
   * reason.
   */
  IN_CLOSE: 6,
  /** The peer broke the protocol. flags: number of the error kind, aux: detail number. */
  IN_ERROR: 7,
  /** The socket is gone. Last record of a connection. flags: number of the `Cause`. */
  IN_CLOSED: 8,
  /** The kernel has the bytes of the `length` oldest sends that asked for this record. */
  IN_SENT: 9,
  /** Outgoing bytes fell below the low-water mark after having been above the high one. */
  IN_DRAIN: 10,
  /** A handshake that JavaScript checks and answers. Payload: `Opened`. */
  IN_REQUEST: 11,
  /** A listener is closed. slot: listener id. */
  IN_LISTENER_CLOSED: 12,
  /** The reactor died. Payload: the reason, in UTF-8. */
  IN_FAILURE: 13,
  /**
   * The peer ended its side of the socket without a close frame; JavaScript answers with
   * `OUT_END`. Length: 1 while JavaScript decides about the handshake; if it accepts, the end
   * is reported again after everything that came before it. Else 0.
   */
  IN_END: 14,
  /** Streams only. Bytes of a message that is not all in one chunk; more follow. */
  IN_PART: 15,
  /**
   * Descriptors have run out. slot: listener id, length: connections that were closed as they
   * came. The kinds between are about topics.
   */
  IN_REFUSED: 21,
  /** The reactor has sent a close frame by itself: the topic's member was slow. */
  IN_CLOSING: 22,
  /** Inbound flag: the payload is one of the batch's large payloads and `offset` its index. */
  IN_FLAG_OWNED: 32768,
  /** Flag of a message of a stream: these are its last bytes, the others came with `IN_PART`. */
  IN_FLAG_LAST_PART: 16384,
  /** `Opened`, byte offset, `u32` little-endian: generation of the connection. */
  OPENED_GENERATION: 0,
  /** `Opened`, byte offset, `u32` little-endian: id of the listener. */
  OPENED_LISTENER: 4,
  /** `Opened`, byte offset, `u32` little-endian: local port, 0 when unknown. */
  OPENED_LOCAL_PORT: 8,
  /** `Opened`, byte offset, `u32` little-endian: remote port, 0 when unknown. */
  OPENED_REMOTE_PORT: 12,
  /** `Opened`, byte offset, `u32` little-endian: 4, 6, or 0 when neither address is known. */
  OPENED_FAMILY: 16,
  /** `Opened`, byte offset, `u32` little-endian: length of the request in bytes. */
  OPENED_REQUEST_LENGTH: 20,
  /** `Opened`, byte offset, `u32` little-endian: length of the subprotocol in bytes. */
  OPENED_PROTOCOL_LENGTH: 24,
  /** `Opened`, byte offset, `u32` little-endian: length of the tail in bytes. */
  OPENED_TAIL_LENGTH: 28,
  /** `Opened`, byte offset, 16 bytes: local address, IPv4 in the first 4. */
  OPENED_LOCAL_ADDRESS: 32,
  /** `Opened`, byte offset, 16 bytes: remote address, IPv4 in the first 4. */
  OPENED_REMOTE_ADDRESS: 48,
  /**
   * `Opened`, byte offset: the request in normal form, latin1; the subprotocol and the tail
   * follow it.
   */
  OPENED_REQUEST: 64,
  /** Bytes of an outbound record before its payload. */
  OUT_HEADER_BYTES: 16,
  /** Outbound records begin at multiples of this many bytes. */
  OUT_ALIGN: 16,
  /** Outbound word: the connection's slot. */
  OUT_WORD_SLOT: 0,
  /** Outbound word: the connection's generation. */
  OUT_WORD_GENERATION: 1,
  /** Outbound word: kind, flags and aux. */
  OUT_WORD_KIND: 2,
  /**
   * Outbound word: payload length in bytes; with `OUT_FLAG_SAME` offset of the payload in
   * the chunk.
   */
  OUT_WORD_LENGTH: 3,
  /** Send a text message or a fragment of one. */
  OUT_TEXT: 1,
  /** Send a binary message or a fragment of one. */
  OUT_BINARY: 2,
  /** Send a ping. */
  OUT_PING: 3,
  /** Send a pong. */
  OUT_PONG: 4,
  /** Send a close frame. aux: status code, 0 for an empty frame. Payload: the reason. */
  OUT_CLOSE: 5,
  /**
   * Destroy the socket. `OUT_FLAG_FIN`: the peer gets a reset, and none of the bytes that
   * wait.
   */
  OUT_TERMINATE: 6,
  /**
   * Stop reading. aux 1: a 101 that has not left waits for `OUT_RESUME`, in whose place a
   * record that ends or writes may come.
   */
  OUT_PAUSE: 7,
  /** Read again. */
  OUT_RESUME: 8,
  /** Answer the handshake; the connection is open from here. Payload: the whole 101 response. */
  OUT_ACCEPT: 9,
  /**
   * Write the payload as it is, then end: a refused handshake. If its 101 has left, the socket
   * is destroyed.
   */
  OUT_RESPOND: 10,
  /** Write the payload as it is. */
  OUT_WRITE: 11,
  /** Shut down the sending side after everything that was written. */
  OUT_END: 12,
  /** Set the socket option TCP_NODELAY: aux 1 on, 0 off. */
  OUT_NO_DELAY: 13,
  /**
   * Set the socket option SO_KEEPALIVE: `OUT_FLAG_FIN` on, else off; aux = seconds of silence
   * before the first probe, 0 = the system's default.
   */
  OUT_KEEP_ALIVE: 14,
  /** Send a prepared message. Payload: its number, `u32` in the byte order of the machine. */
  OUT_PREPARED: 15,
  /**
   * The bytes that `IN_REQUEST` has brought behind the request. They are read when
   * `OUT_ACCEPT` follows, before those of the socket.
   */
  OUT_HEAD: 16,
  /**
   * Report the peer's end, which has been reported, once more, after `IN_SENT` for the bytes
   * that the kernel takes now. The kinds between are about topics.
   */
  OUT_ASK_END: 26,
  /** Outbound flag: last fragment of its message. */
  OUT_FLAG_FIN: 256,
  /** Outbound flag: count this in `IN_SENT` when its bytes are in the kernel. */
  OUT_FLAG_WANT_SENT: 512,
  /**
   * Outbound flag: no payload follows in the arena; it is the next of the chunk's large
   * payloads.
   */
  OUT_FLAG_LARGE: 1024,
  /** Outbound flag: compress, if the extension was negotiated. */
  OUT_FLAG_COMPRESS: 2048,
  /**
   * Outbound flag: no payload follows; it is that of an earlier record, and the length word has
   * the offset of that payload in the chunk. With `OUT_FLAG_LARGE`: it is the last large
   * payload that came with `OUT_FLAG_SHARED`, and this is a message like that one.
   */
  OUT_FLAG_SAME: 4096,
  /**
   * Outbound flag of a whole message with `OUT_FLAG_LARGE`: records behind it have the same
   * payload.
   */
  OUT_FLAG_SHARED: 8192,
  /** Outbound flag of a frame: the payload begins with the masking key. */
  OUT_FLAG_KEY: 16384,
  /** Aux of a message, ping or pong: it is masked by a server and not by a client. */
  MASK_AGAINST: 1,
  /**
   * JavaScript decides about the handshakes of a listener that pass the native checks: a hook is
   * set.
   */
  ASK_ACCEPTED: 1,
  /**
   * JavaScript decides about the handshakes of a listener that the native checks refuse:
   * `wsClientError` has a listener.
   */
  ASK_REFUSED: 2,
  /** The server is drained: its health check is answered with 503. */
  ASK_DRAINED: 4,
  /** With this many unsent bytes or more a connection has no room: `send()` returns false. */
  HIGH_WATER_MARK: 1048576,
  /** Unsent bytes down to which a connection without room must come before its room is reported. */
  LOW_WATER_MARK: 524288,
  /**
   * Bytes that the header of a frame may take, and that are left free before a payload which is
   * framed where it is.
   */
  HEADROOM: 14,
  /** Most bytes in the payload of a control frame (RFC 6455, section 5.5). */
  CONTROL_BYTES: 125,
  /** Most bytes in the reason of a close frame, behind its status code. */
  REASON_BYTES: 123,
  /** Close code of a close frame without one (RFC 6455, section 7.4.1). */
  NO_STATUS: 1005,
  /** Close code of a connection that ended without a close frame. */
  ABNORMAL: 1006,
  /**
   * A connection is a member of a topic, and the messages that it asked to have again are
   * queued. Payload: `SUBSCRIBED_`.
   */
  IN_SUBSCRIBED: 16,
  /** Messages of a topic that a connection is not sent, because it is slow. Payload: `DROPPED_`. */
  IN_DROPPED: 17,
  /**
   * Messages of a topic that a connection cannot be sent any more: its history no longer has
   * them. Payload: `GAP_`.
   */
  IN_GAP: 18,
  /**
   * The outcome of a message for which `OUT_TARGET` named a receipt, on one reactor; slot:
   * `TOPIC_SLOT`. Payload: `RECEIPT_`.
   */
  IN_RECEIPT: 19,
  /** The answer to `OUT_HISTORY`; slot: `TOPIC_SLOT`. Payload: `HISTORY_`. */
  IN_HISTORY: 20,
  /**
   * Word of `IN_SUBSCRIBED`, `u32` little-endian as all inbound ones: the number that the
   * request had.
   */
  SUBSCRIBED_REQUEST: 0,
  /**
   * Word of `IN_SUBSCRIBED`: 1 when nothing is missing after the requested position, 0 when
   * nothing was replayed.
   */
  SUBSCRIBED_RECOVERED: 1,
  /** Word of `IN_SUBSCRIBED`: the number of messages replayed. */
  SUBSCRIBED_REPLAYED: 2,
  /**
   * Word of `IN_SUBSCRIBED`, and the one behind it, which is the upper half: the offset of the
   * last message that the connection has or has been queued.
   */
  SUBSCRIBED_OFFSET: 3,
  /** Words of `IN_SUBSCRIBED`. */
  SUBSCRIBED_WORDS: 5,
  /** Word of `IN_DROPPED`: the number of the topic. */
  DROPPED_TOPIC: 0,
  /** Word of `IN_DROPPED`: the number of messages since the last such record. */
  DROPPED_COUNT: 1,
  /** Words of `IN_DROPPED`. */
  DROPPED_WORDS: 2,
  /** Word of `IN_GAP`: the number of the topic. */
  GAP_TOPIC: 0,
  /**
   * Word of `IN_GAP`, and the one behind it, which is the upper half: the first offset that is
   * missing.
   */
  GAP_FROM: 1,
  /**
   * Word of `IN_GAP`, and the one behind it, which is the upper half: the last offset that is
   * missing.
   */
  GAP_TO: 3,
  /** Words of `IN_GAP`. */
  GAP_WORDS: 5,
  /** Word of `IN_RECEIPT`: the number that `OUT_TARGET` had. */
  RECEIPT_REQUEST: 0,
  /** Word of `IN_RECEIPT`: members that the message was for. */
  RECEIPT_MATCHED: 1,
  /** Word of `IN_RECEIPT`: members for which the kernel has all of it. */
  RECEIPT_SENT: 2,
  /** Word of `IN_RECEIPT`: members for which it waits, in a queue or in the history. */
  RECEIPT_QUEUED: 3,
  /** Word of `IN_RECEIPT`: members that do not get it. */
  RECEIPT_DROPPED: 4,
  /**
   * Word of `IN_RECEIPT`, and the one behind it, which is the upper half: bytes of the frames
   * sent and queued.
   */
  RECEIPT_BYTES: 5,
  /** Words of `IN_RECEIPT`. */
  RECEIPT_WORDS: 7,
  /** Word of `IN_HISTORY`: the number that the request had. */
  HISTORY_REQUEST: 0,
  /** Word of `IN_HISTORY`: 1 when nothing is missing after the requested position, else 0. */
  HISTORY_RECOVERED: 1,
  /**
   * Word of `IN_HISTORY`: the number of messages behind the words, each with its `ENTRY_`
   * words before it.
   */
  HISTORY_COUNT: 2,
  /**
   * Word of `IN_HISTORY`, and the one behind it, which is the upper half: the offset of the
   * topic's last message.
   */
  HISTORY_TOP: 3,
  /** Words of `IN_HISTORY` before the messages. */
  HISTORY_WORDS: 5,
  /**
   * Word before a message of `IN_HISTORY`, and the one behind it, which is the upper half: its
   * offset.
   */
  ENTRY_OFFSET: 0,
  /** Word before a message of `IN_HISTORY`: `PUBLISH_TEXT` or 0. */
  ENTRY_FLAGS: 2,
  /**
   * Word before a message of `IN_HISTORY`: its length in bytes. It is padded to a multiple of
   * 4.
   */
  ENTRY_LENGTH: 3,
  /** Words before a message of `IN_HISTORY`. */
  ENTRY_WORDS: 4,
  /**
   * The slot of records about topics: no connection has it, and each reactor gets them. The
   * generation is the number of the topic, which JavaScript counts up.
   */
  TOPIC_SLOT: 4294967295,
  /** A topic begins. Slot: `TOPIC_SLOT`. Payload: words `TOPIC_`. */
  OUT_TOPIC: 17,
  /** A topic ends, with its members and its history. Slot: `TOPIC_SLOT`. */
  OUT_TOPIC_END: 18,
  /**
   * A connection becomes a member, after the messages that it asks to have again. Payload: words
   * `SUBSCRIBE_`.
   */
  OUT_SUBSCRIBE: 19,
  /**
   * A connection is no longer a member. Payload: one word, the number of the topic; 0 for
   * all topics, of a connection that joins none any more.
   */
  OUT_UNSUBSCRIBE: 20,
  /**
   * More about the next `OUT_PUBLISH`. Slot: `TOPIC_SLOT`. Payload: words `TARGET_`, then
   * slot and generation of each connection that it names, then the bytes of the key.
   */
  OUT_TARGET: 21,
  /**
   * Send a whole message to the members of a topic. Slot: `TOPIC_SLOT`. Flags: `OUT_FLAG_FIN`,
   * `OUT_FLAG_COMPRESS` and those that say where the payload is; aux: `PUBLISH_TEXT` or 0.
   */
  OUT_PUBLISH: 22,
  /** The same with a prepared message. Slot: `TOPIC_SLOT`. Payload: its number. */
  OUT_PUBLISH_PREPARED: 23,
  /**
   * Request for the history of a topic. Slot: `TOPIC_SLOT`. Payload: words `SUBSCRIBE_`
   * without the topic, then the most messages wanted. It is for the first reactor only.
   */
  OUT_HISTORY: 24,
  /**
   * The bytes that the histories of all topics may take on all reactors together. Slot:
   * `TOPIC_SLOT`. Payload: two words, the lower half first.
   */
  OUT_HISTORY_BUDGET: 25,
  /** Word of `OUT_TOPIC`: the treatment of a slow member, one of `SLOW_`. */
  TOPIC_SLOW: 0,
  /** Word of `OUT_TOPIC`: unsent bytes of a connection above which it is slow. */
  TOPIC_LIMIT: 1,
  /** Word of `OUT_TOPIC`: most messages in its history, 0 for none. */
  TOPIC_HISTORY: 2,
  /** Word of `OUT_TOPIC`: milliseconds for which a message stays in it, 0 for ever. */
  TOPIC_TTL: 3,
  /** Word of `OUT_TOPIC`: most bytes of payload in it, 0 without bound. */
  TOPIC_MAX_BYTES: 4,
  /** Words of `OUT_TOPIC`. */
  TOPIC_WORDS: 5,
  /** `TOPIC_SLOW`: the message is queued all the same. */
  SLOW_QUEUE: 0,
  /** `TOPIC_SLOW`: the member does not get the message. */
  SLOW_DROP: 1,
  /** `TOPIC_SLOW`: the last one of each key is sent when the member is no longer slow. */
  SLOW_LATEST: 2,
  /** `TOPIC_SLOW`: the member is served from the history when it is no longer slow. */
  SLOW_CATCH_UP: 3,
  /** `TOPIC_SLOW`: the member is closed with 1013. */
  SLOW_CLOSE: 4,
  /** Word of `OUT_SUBSCRIBE`: the number of the topic. */
  SUBSCRIBE_TOPIC: 0,
  /**
   * Word of `OUT_SUBSCRIBE` and, one before, of `OUT_HISTORY`: a number for the answer, 0
   * when none is wanted. With `SINCE_BEHIND`: how many messages were asked for.
   */
  SUBSCRIBE_REQUEST: 1,
  /** Word behind it: the beginning of the wanted messages, one of `SINCE_`. */
  SUBSCRIBE_SINCE: 2,
  /** Word behind it, and one more, which is the upper half: the offset for `SINCE_OFFSET`. */
  SUBSCRIBE_OFFSET: 3,
  /** Words of `OUT_SUBSCRIBE`, and of `OUT_HISTORY`. */
  SUBSCRIBE_WORDS: 5,
  /** `SUBSCRIBE_SINCE`: from now on. */
  SINCE_NOW: 0,
  /** `SUBSCRIBE_SINCE`: after an offset. */
  SINCE_OFFSET: 1,
  /** `SUBSCRIBE_SINCE`: all that the history has. */
  SINCE_OLDEST: 2,
  /**
   * `SUBSCRIBE_SINCE`: after an offset, for a member that catches up. The history had all of
   * them when that was asked; what it has lost since is a gap.
   */
  SINCE_BEHIND: 3,
  /** Word of `OUT_TARGET`: a number for the receipt, 0 when none is wanted. */
  TARGET_REQUEST: 0,
  /** Word of `OUT_TARGET`: the number of connections that it names. */
  TARGET_NAMED: 1,
  /** Word of `OUT_TARGET`: bytes of the key. */
  TARGET_KEY: 2,
  /**
   * Word of `OUT_TARGET`: 0 when the named connections do not get the message; 1 when only
   * they do, for it was published before, while their sends still waited in JavaScript.
   */
  TARGET_IS_LATE: 3,
  /**
   * Word of `OUT_TARGET`, and the one behind it, which is the upper half: the offset of a late
   * message in the history, 0 without one.
   */
  TARGET_OFFSET: 4,
  /** Words of `OUT_TARGET` before the connections. */
  TARGET_WORDS: 6,
  /** Aux of `OUT_PUBLISH`, and flag of a message of `IN_HISTORY`: a text message. */
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

  /** The answer to a key is the digest of the key and this (RFC 6455, 4.2.2). */
  GUID: '258EAFA5-E914-47DA-95CA-C5AB0DC85B11',

  /** The version of the package and of its addon. */
  VERSION: '0.1.0',

  frameBytes,
  isValidStatusCode,
};
