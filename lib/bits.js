'use strict';

// The state of a connection, as bits of its `_bits`: one number saves memory of idle connections,
// and the dispatch tests all of the first group at once.

// With any of these bits, together NOT_PLAIN, a message cannot just be emitted.

/** `pause()` was called: what arrives waits for `resume()`. */
const PAUSED = 0x01;
/** Records wait in `_extra.held`; later ones queue up after them. */
const HOLDING = 0x02;
/** Nothing but 'close' is emitted any more. */
const TERMINATED = 0x04;
/** `binaryType` is not 'nodebuffer'. */
const CONVERT = 0x08;
/** `allowSynchronousEvents` is false: one event in each turn of the event loop. */
const ONE_BY_ONE = 0x10;
/** The return values of listeners matter: `captureRejections` of node:events. */
const REJECTIONS = 0x20;
/** Events run in an async context of their own, `_extra.context`. */
const CONTEXT = 0x40;
/** There is no WebSocket yet, but a handshake. */
const HANDSHAKE = 0x80;
const NOT_PLAIN = 0xff;

// The progress of both sides.

const CLOSE_RECEIVED = 0x100;
const CLOSE_SENT = 0x200;
const ERROR_EMITTED = 0x400;
/** Sends wait for a Blob that is being read, or for a message that is being compressed. */
const SENDS_WAIT = 0x800;
/** The peer has ended its side, which is reported later. */
const END_WAITS = 0x1000;
/** The reactor reports the end of the peer once more, after its reports of sends. */
const END_ASKED = 0x10_0000;
/** The peer has sent its last frame: a close frame, or one that breaks the protocol. */
const PEER_DONE = 0x2000;
/** The socket has closed; 'close' may still wait for `resume()`. */
const GONE = 0x4000;

// The kind of connection.

/** This side is the client. */
const CLIENT = 0x8000;
/** The connection is a stream of Node, `_extra.stream`, and not the reactor's. */
const STREAM = 0x1_0000;
/** A paused stream, whose messages are delivered all the same, as in ws. */
const STREAM_PAUSED = 0x2_0000;
/** `pause()` was called last, whatever the `isPaused` of a subclass says. */
const HALTED = PAUSED | STREAM_PAUSED;
/** Pings are answered by the `pong()` of the WebSocket's class, and not by the reactor. */
const OWN_PONG = 0x4_0000;
/** Messages are taken back when their handlers have returned: option `messages`. */
const BORROWED = 0x8_0000;

/** The cause of the end, one of CAUSES, once it is known: its number is here. */
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
  END_ASKED,
  END_WAITS,
  ERROR_EMITTED,
  GONE,
  HALTED,
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
  STREAM_PAUSED,
  TERMINATED,
};
