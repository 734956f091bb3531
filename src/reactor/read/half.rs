//! The peer's side of a socket: whether it may be read, and the counts of bytes read.

use crate::reactor::queue::Mark;

#[derive(Default)]
pub(in crate::reactor) struct ReadHalf {
    /// There is something to read, as far as is known: an edge has been seen and the socket not been
    /// read to its end, or the connection was queued for bytes that came behind its request.
    pub(super) unread: bool,
    /// In one of the queues of [`Ready`](super::ready::Ready).
    pub(super) queued: Mark,
    pub(in crate::reactor) peer: PeerSide,
    /// The connection wanted much of its last share of a turn.
    pub(in crate::reactor) greedy: bool,
    pub(in crate::reactor) paused: bool,
    /// The shortage because of which the connection is not read.
    pub(super) starved: Option<Lack>,
    /// In the queue of connections that wait until all together have less undrained.
    pub(super) listed: Mark,
    /// Whether `held` is more than pings and pongs.
    pub(super) holds_data: bool,
    /// Undrained inbound bytes, records included.
    pub(super) held: usize,
    /// Bytes read since the connection was accepted or adopted.
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
    /// More may come.
    #[default]
    Open,
    /// The peer has sent urgent bytes: a short read may have stopped before one, from then on.
    Urgent,
    /// An event reported the end of the peer's side; bytes received before may not have been
    /// read.
    HungUp,
    /// An event reported the socket as dead; the same holds.
    Dead,
    /// All bytes were read, and then the end.
    Ended,
}

/// The shortages of a connection that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
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

    /// Whether there may be something to read.
    pub(in crate::reactor) fn is_unread(&self) -> bool {
        self.unread || self.queued.is_set()
    }
}
