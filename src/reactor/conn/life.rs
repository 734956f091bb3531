//! The progress of a connection, from the first byte of its request to its last.

use crate::bridge::layout::Cause;

use crate::reactor::upgrade::head::{Head, PendingUpgrade};

/// `reported`: the consumer knows of the connection, so its end must be reported too.
///
/// ```text
///              the consumer decides             accepts
///   Opening ----------------> AwaitingDecision ------------.
///     | '------- 101, without a decision |-------------.   |
///     |                                  |             v   v     close frame,
///     | refused                          | refused     Open ----- end of a side -----> Closing
///     v                                  v              |                                 |
///   Draining <---------------------------'-- a panic ---'---------------------------------'
///
///   Opening, AwaitingDecision -- a request for the consumer's HTTP server --> Relayed, or out of the reactor
///   Relayed -- an upgrade comes, which the consumer accepts --> AwaitingDecision -> Open
///
///   From each of them to Gone: a dead socket, a deadline, both sides have ended, terminate().
/// ```
pub(in crate::reactor) enum Life {
    /// Reading the upgrade request. Deadline: `handshake_timeout`.
    Opening(Box<Head>),
    /// The consumer decides about the upgrade; nothing is read. No deadline, unless the peer has
    /// ended its side.
    AwaitingDecision(Box<PendingUpgrade>),
    /// The consumer gets the bytes, and writes bytes. No deadline.
    Relayed,
    /// Frames go both ways. Deadline: silence, where that matters.
    Open,
    /// As `Open`, as far as frames can still be sent and read. Deadline: `close_timeout`. `cause`:
    /// what began it, if that is known.
    Closing { cause: Option<Cause> },
    /// The answer is written, then the socket is closed; later bytes of the peer are dropped.
    Draining { reported: bool, cause: Option<Cause> },
    /// About to be destroyed: nothing is read, and only the end is reported.
    Gone(Gone),
}

/// Made by `Teardown` alone, which destroys the connection at the end of the step.
pub(in crate::reactor) struct Gone {
    reported: bool,
    cause: Cause,
}

impl Gone {
    pub(super) fn new(reported: bool, cause: Cause) -> Self {
        Self { reported, cause }
    }
}

impl Life {
    #[inline]
    pub(in crate::reactor) fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Closing { .. })
    }

    pub(in crate::reactor) fn is_awaiting_decision(&self) -> bool {
        matches!(self, Self::AwaitingDecision(_))
    }

    pub(in crate::reactor) fn is_relayed(&self) -> bool {
        matches!(self, Self::Relayed)
    }

    #[inline]
    pub(in crate::reactor) fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Closing { cause } | Self::Draining { cause, .. } => *cause,
            Self::Gone(gone) => Some(gone.cause),
            Self::Opening(_) | Self::AwaitingDecision(_) | Self::Relayed | Self::Open => None,
        }
    }

    /// If it is about to end, this is why, unless another cause came first.
    pub(in crate::reactor) fn blame(&mut self, first: Cause) {
        if let Self::Closing { cause } | Self::Draining { cause, .. } = self {
            cause.get_or_insert(first);
        }
    }

    pub(in crate::reactor) fn is_reported(&self) -> bool {
        match self {
            Self::Opening(head) => head.known,
            Self::Draining { reported, .. } => *reported,
            Self::Gone(gone) => gone.reported,
            Self::AwaitingDecision(_) | Self::Relayed | Self::Open | Self::Closing { .. } => true,
        }
    }
}
