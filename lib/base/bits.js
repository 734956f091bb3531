'use strict';

// The state of a connection beside `readyState`: one number (`_bits`) saves memory of idle connections. BUFFERING and
// INDIRECT summarize `_extra`, so that a message takes one test.

module.exports = {
  // With any of these (NOT_PLAIN), a message cannot simply be emitted.

  /** Until `resume()`. */
  PAUSED: 0x01,
  /** Records wait in `_extra.buffered`. */
  BUFFERING: 0x02,
  /** Nothing but 'close' is emitted any more. */
  TERMINATED: 0x04,
  /** `allowSynchronousEvents` is false. */
  ONE_BY_ONE: 0x08,
  /** Messages are converted, have an async context, or their rejections are caught; or this is a handshake. */
  INDIRECT: 0x10,
  NOT_PLAIN: 0x1f,

  // Progress of the peer, this side and the socket.

  /** The peer's last frame has arrived: a close frame, or one that breaks the protocol. */
  PEER_DONE: 0x20,
  /** The peer has ended its side; the report comes later. */
  END_WAITS: 0x40,
  CLOSE_SENT: 0x80,
  ERROR_EMITTED: 0x100,
  /** Sends wait for a Blob that is being read. */
  SENDS_WAIT: 0x200,
  /** The socket has closed; 'close' can still wait for `resume()`. */
  GONE: 0x400,

  // What never changes.

  CLIENT: 0x800,
  /** The `pong()` of a subclass answers pings. */
  OWN_PONG: 0x1000,
  /** The connection comes from the process before. */
  RESUMED: 0x2000,

  /** The cause of the end (one of CAUSES), once known. */
  CAUSE_SHIFT: 24,
  CAUSE_BITS: 0x1f << 24,
};
