'use strict';

// The state of a connection, as bits of its `_bits`: one number saves memory of idle connections.

// With any of these, NOT_PLAIN, a message cannot just be emitted.

/** Until `resume()`. */
const PAUSED = 0x01;
/** Records wait in `_extra.held`. */
const HOLDING = 0x02;
/** Nothing but 'close' is emitted any more. */
const TERMINATED = 0x04;
/** To another `binaryType`. */
const CONVERT = 0x08;
/** `allowSynchronousEvents` is false. */
const ONE_BY_ONE = 0x10;
/** `captureRejections` of node:events. */
const REJECTIONS = 0x20;
/** Events run in `_extra.context`. */
const CONTEXT = 0x40;
/** There is no WebSocket yet. */
const HANDSHAKE = 0x80;
const NOT_PLAIN = 0xff;

// The progress of both sides.

const CLOSE_RECEIVED = 0x100;
const CLOSE_SENT = 0x200;
const ERROR_EMITTED = 0x400;
/** Sends wait for a Blob that is being read. */
const SENDS_WAIT = 0x800;
/** The peer has ended its side, which is reported later. */
const END_WAITS = 0x1000;
/** The peer's last frame has come: a close frame, or one that breaks the protocol. */
const PEER_DONE = 0x2000;
/** The socket has closed; 'close' may still wait for `resume()`. */
const GONE = 0x4000;

// The kind of connection.

const CLIENT = 0x8000;
/** Over a stream of Node, `_extra.stream`. */
const STREAM = 0x1_0000;
/** Pings are answered by the `pong()` of a subclass. */
const OWN_PONG = 0x4_0000;
/** Option `messages`: they are taken back when their handlers have returned. */
const BORROWED = 0x8_0000;

/** The cause of the end, one of CAUSES, once it is known. */
const CAUSE_SHIFT = 24;
const CAUSE_BITS = 0x1f << CAUSE_SHIFT;

module.exports = {
  BORROWED,
  CAUSE_BITS,
  CAUSE_SHIFT,
  CLIENT,
  CLOSE_RECEIVED,
  CLOSE_SENT,
  CONTEXT,
  CONVERT,
  END_WAITS,
  ERROR_EMITTED,
  GONE,
  HANDSHAKE,
  HOLDING,
  NOT_PLAIN,
  ONE_BY_ONE,
  OWN_PONG,
  PAUSED,
  PEER_DONE,
  REJECTIONS,
  SENDS_WAIT,
  STREAM,
  TERMINATED,
};
