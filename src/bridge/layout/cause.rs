//! Why connections end.

use crate::engine::{ErrorKind, numbered};

numbered! {
    /// The flags of [`IN_CLOSED`](super::IN_CLOSED), in JavaScript 'ping-timeout' and so on. 0 stands
    /// for "not ended".
    Cause {
        /// The closing handshake of RFC 6455: the peer's close frame came.
        Closed = 1,
        /// A side was ended without a close frame.
        Fin = 2,
        /// A reset, or the system gave up sending.
        Reset = 3,
        /// The program ended it: `terminate()`, or through its socket.
        Terminate = 4,
        /// Nothing came after a ping of `pingInterval`.
        PingTimeout = 5,
        /// Nothing came for `idleTimeout`.
        IdleTimeout = 6,
        /// No answer to a close frame within `closeTimeout`.
        CloseTimeout = 7,
        /// The peer pings and does not read the pongs.
        TooManyPongs = 8,
        ProtocolError = 9,
        /// A message above `maxPayload` or `maxFragments`.
        TooBig = 10,
        /// More than `messagesPerSecond` or `bytesPerSecond`.
        TooFast = 11,
        /// Too many bytes waited to be sent to all, most of them to this peer.
        SendBudget = 12,
        UnfinishedBudget = 13,
        /// A slow member of a topic with `slow: 'close'`.
        Slow = 14,
        Drain = 15,
        /// The reactor had no room for a socket that was handed to it.
        Exhausted = 16,
        Panic = 17,
        ReactorFailed = 18,
        /// The connection was never open.
        Handshake = 19,
    }
}

impl From<ErrorKind> for Cause {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::UnsupportedMessageLength | ErrorKind::TooManyFragments => Self::TooBig,
            ErrorKind::TooManyMessages | ErrorKind::TooManyBytes => Self::TooFast,
            ErrorKind::SendBudget => Self::SendBudget,
            ErrorKind::Unfinished => Self::UnfinishedBudget,
            _ => Self::ProtocolError,
        }
    }
}
