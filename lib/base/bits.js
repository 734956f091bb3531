'use strict';

// The state of a connection beside its `readyState`: one number, its `_bits`, saves memory of idle connections.
// HOLDING and INDIRECT sum up fields of `_extra`, so that a message takes one test. Any other bit is a fact that nothing
// else says.

module.exports = {
  // With any of these, NOT_PLAIN, a message cannot just be emitted.

  /** Until `resume()`. */
  PAUSED: 0x01,
  /** Records wait in `_extra.held`. */
  HOLDING: 0x02,
  /** Nothing but 'close' is emitted any more. */
  TERMINATED: 0x04,
  /** `allowSynchronousEvents` is false. */
  ONE_BY_ONE: 0x08,
  /** Messages are converted, emitted in an async context, or caught when they are rejected; or this is a handshake. */
  INDIRECT: 0x10,
  NOT_PLAIN: 0x1f,

  // How far the peer, this side and the socket are.

  /** The peer's last frame has come: a close frame, or one that breaks the protocol. */
  PEER_DONE: 0x20,
  /** The peer has ended its side, which is reported later. */
  END_WAITS: 0x40,
  CLOSE_SENT: 0x80,
  ERROR_EMITTED: 0x100,
  /** Sends wait for a Blob that is being read. */
  SENDS_WAIT: 0x200,
  /** The socket has closed; 'close' may still wait for `resume()`. */
  GONE: 0x400,

  // What never changes.

  CLIENT: 0x800,
  /** Pings are answered by the `pong()` of a subclass. */
  OWN_PONG: 0x1000,
  /** Option `messages`: they are taken back when their handlers have returned. */
  BORROWED: 0x2000,

  /** The cause of the end, one of CAUSES, once it is known. */
  CAUSE_SHIFT: 24,
  CAUSE_BITS: 0x1f << 24,
};
