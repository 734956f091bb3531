//! The progress of a connection, from the first byte of its request to its last.

use std::net::SocketAddr;
use std::time::Instant;

use crate::bridge::layout::Cause;
use crate::engine::deflate::Params;
use crate::engine::handshake::HeadScanner;

use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;

/// The life of a connection. `reported`: the connection was reported to the consumer, and its end
/// must be too.
///
/// ```text
///              the consumer decides             accepts
///   Opening -----------------------> Asked ----------------.
///     | '------- 101, without a question |-------------.   |
///     |                                  |             v   v     close frame,
///     | refused                          | refused     Open ----- end of a side -----> Closing
///     v                                  v              |                                 |
///   Draining <---------------------------'-- a panic ---'---------------------------------'
///
///   From each of them to Gone: a dead socket, a deadline, both sides have ended, terminate().
/// ```
pub(in crate::reactor) enum Life {
    /// Reading the upgrade request, of which this has come. Deadline: `handshake_timeout`.
    Opening(Box<Head>),
    /// The consumer decides about the upgrade, and nothing is read. No deadline, unless the peer
    /// has ended its side.
    Asked(Box<Question>),
    /// Frames go both ways. Deadline: silence, where that matters.
    Open,
    /// As `Open`, as far as frames may still be sent and read. Deadline: `close_timeout`.
    /// `cause`: what has begun that, if it is known already.
    Closing { cause: Option<Cause> },
    /// The answer is written, then the socket is closed; what the peer still sends is thrown away.
    Draining { reported: bool, cause: Option<Cause> },
    /// On the list of connections to be destroyed: nothing more is read, and nothing but the end is
    /// reported.
    Gone(Doom),
}

/// Only [`Doomed`] makes one.
pub(in crate::reactor) struct Doom {
    reported: bool,
    cause: Cause,
}

/// The head of the request, as far as it has come.
#[derive(Default)]
pub(in crate::reactor) struct Head {
    /// The peer's address, where accepting has shown it.
    pub(in crate::reactor) peer: Option<SocketAddr>,
    pub(in crate::reactor) bytes: Vec<u8>,
    pub(in crate::reactor) scanner: HeadScanner,
    /// Bytes of a request body to skip before the next request (keep-alive after a 426).
    pub(in crate::reactor) skip: u64,
    /// A header of the PROXY protocol comes first.
    pub(in crate::reactor) proxied: bool,
    pub(in crate::reactor) listener: ListenerState,
    /// When it was accepted.
    pub(in crate::reactor) since: Option<Instant>,
}

/// What has become of a listener since it accepted the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::reactor) enum ListenerState {
    /// It accepts.
    #[default]
    Open,
    /// Another process has its place: an upgrade is served, and after another request the
    /// connection ends.
    Left,
    /// An upgrade is refused, too.
    Closed,
}

/// The state while the consumer decides.
#[derive(Default)]
pub(in crate::reactor) struct Question {
    /// The negotiated parameters of permessage-deflate.
    pub(in crate::reactor) deflate: Option<Params>,
    /// The bytes behind the request, from the time when the consumer has handed them back.
    pub(in crate::reactor) behind: Vec<u8>,
    /// The consumer knows that the peer has ended its side.
    pub(in crate::reactor) ended: bool,
    /// When the connection was accepted; `None`: by others.
    pub(in crate::reactor) since: Option<Instant>,
}

impl Life {
    /// A connection that has just been accepted.
    pub(in crate::reactor) fn accepted(peer: Option<SocketAddr>, proxied: bool, now: Instant) -> Self {
        Self::Opening(Box::new(Head { peer, proxied, since: Some(now), ..Head::default() }))
    }

    /// A connection whose upgrade the consumer decides about.
    pub(in crate::reactor) fn asked(since: Option<Instant>) -> Self {
        Self::Asked(Box::new(Question { since, ..Question::default() }))
    }

    /// Whether frames go both ways.
    #[inline]
    pub(in crate::reactor) fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Closing { .. })
    }

    pub(in crate::reactor) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    #[inline]
    pub(in crate::reactor) fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    /// Why the connection ends, as far as that is known.
    pub(in crate::reactor) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Closing { cause } | Self::Draining { cause, .. } => *cause,
            Self::Gone(Doom { cause, .. }) => Some(*cause),
            Self::Opening(_) | Self::Asked(_) | Self::Open => None,
        }
    }

    /// A connection that is about to end does so for this reason, unless another came first.
    pub(in crate::reactor) fn blame(&mut self, first: Cause) {
        if let Self::Closing { cause } | Self::Draining { cause, .. } = self {
            cause.get_or_insert(first);
        }
    }

    /// Whether the consumer knows of the connection, so that its end must be reported.
    pub(in crate::reactor) fn is_reported(&self) -> bool {
        match self {
            Self::Opening(_) => false,
            Self::Draining { reported, .. } | Self::Gone(Doom { reported, .. }) => *reported,
            Self::Asked(_) | Self::Open | Self::Closing { .. } => true,
        }
    }
}

/// Connections to be destroyed at the end of this step; each is [`Life::Gone`].
#[derive(Default)]
pub(in crate::reactor) struct Doomed(Vec<ConnectionId>);

impl Doomed {
    /// Ends the connection's life.
    pub(in crate::reactor) fn push(&mut self, id: ConnectionId, connection: &mut Connection, cause: Cause) {
        if !connection.life.is_gone() {
            let cause = connection.cause_of_end(cause);
            connection.life = Life::Gone(Doom { reported: connection.life.is_reported(), cause });
            self.0.push(id);
        }
    }

    pub(in crate::reactor) fn pop(&mut self) -> Option<ConnectionId> {
        self.0.pop()
    }

    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
