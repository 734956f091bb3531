'use strict';

// Bits of `ws._bits`. The low eight say that a message cannot be emitted just so (`NOT_PLAIN`).
const PAUSED = 1;
/** Records are waiting in `held`, later ones queue up behind them. */
const HOLDING = 2;
/** Nothing is emitted any more but 'close'. */
const TERMINATED = 4;
/** binaryType is not 'nodebuffer'. */
const CONVERT = 8;
/** allowSynchronousEvents is false: one event per turn of the event loop. */
const ONE_BY_ONE = 16;
/** What listeners return is of interest: `captureRejections` of node:events. */
const REJECTIONS = 32;
const CLOSE_RECEIVED = 0x100;
const CLOSE_SENT = 0x200;
const ERROR_EMITTED = 0x400;
/** Sends wait for a Blob that is being read. */
const SENDS_WAIT = 0x800;
const CLIENT = 0x1000;
/** As PAUSED, for a stream: what comes out of it is delivered all the same, as in ws. */
const STREAM_PAUSED = 0x8000;
/** The peer has ended its side, which is told later. */
const END_WAITS = 0x10000;
/** Pings are answered by `pong()` of its class, and not by the reactor. */
const OWN_PONG = 0x20000;
/** The peer has said its last: a close frame, or what breaks the protocol. */
const PEER_DONE = 0x40000;

module.exports = {
  CLIENT,
  CLOSE_RECEIVED,
  CLOSE_SENT,
  CONVERT,
  END_WAITS,
  ERROR_EMITTED,
  HOLDING,
  ONE_BY_ONE,
  OWN_PONG,
  PAUSED,
  PEER_DONE,
  REJECTIONS,
  SENDS_WAIT,
  STREAM_PAUSED,
  TERMINATED,
};
