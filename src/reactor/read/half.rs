//! The peer's side of a socket: whether it may be read, and how much was read.

use crate::reactor::config::MODEST;
use crate::reactor::queue::Mark;

#[derive(Default)]
pub(in crate::reactor) struct ReadHalf {
    /// There may be something to read: an edge came and the socket was not read to its end, or
    /// bytes came after the request.
    pub(in crate::reactor) unread: bool,
    /// In one of the queues of [`Ready`](super::ready::Ready).
    pub(super) queued: Mark,
    pub(in crate::reactor) peer: PeerSide,
    pub(in crate::reactor) class: ReadClass,
    pub(in crate::reactor) paused: bool,
    /// Why the connection is not read.
    pub(super) blocked_on: Option<BlockedOn>,
    /// In the queue of connections that wait until all together have less undrained.
    pub(super) listed: Mark,
    /// Whether `undelivered` is more than pings and pongs.
    pub(super) has_data: bool,
    /// Inbound bytes that the consumer has not taken, records included.
    pub(super) undelivered: usize,
    pub(in crate::reactor) received: u64,
}

/// The known state of the peer's side. It only ever gets worse:
///
/// ```text
///          events                         a read
///   Open --------> Urgent, HungUp, Dead --------> Ended
///     '---------------------------------------------^
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::reactor) enum PeerSide {
    #[default]
    Open,
    /// The peer sent urgent bytes: from then on a short read may have stopped before one.
    Urgent,
    /// An event reported the end of the peer's side; bytes before it may be unread.
    HungUp,
    /// An event reported a dead socket; bytes before that may be unread.
    Dead,
    /// All bytes were read, and then the end.
    Ended,
}

/// How much of a turn a connection wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::reactor) enum ReadClass {
    #[default]
    Modest,
    /// It wanted much of its last share.
    Greedy,
    /// The handshake of its transport is under way, which is work whatever it brings.
    Handshaking,
    /// None: the consumer hands back bytes, which come before the transport's.
    AwaitingHandback,
}

impl ReadClass {
    /// After a share of which `spent` was used.
    pub(super) fn note(&mut self, spent: usize) {
        if *self != Self::Handshaking {
            *self = if spent >= MODEST { Self::Greedy } else { Self::Modest };
        }
    }
}

/// What a connection lacks that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockedOn {
    /// The connection itself has left too much undrained.
    Credit,
    /// All connections together have, and this one more than its share.
    Room,
}

impl ReadHalf {
    /// Whether the connection waits for its share of a turn.
    pub(in crate::reactor) fn is_queued(&self) -> bool {
        self.queued.is_set()
    }

    pub(in crate::reactor) fn is_unread(&self) -> bool {
        self.unread || self.queued.is_set()
    }
}
