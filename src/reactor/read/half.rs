//! The peer's side of a socket: whether it may be read, and the counts of bytes read.

use crate::reactor::queue::Mark;

#[derive(Default)]
pub(in crate::reactor) struct ReadHalf {
    pub(in crate::reactor) state: ReadState,
    pub(in crate::reactor) peer: PeerSide,
    /// The connection wanted much of its last share of a turn.
    pub(in crate::reactor) greedy: bool,
    pub(in crate::reactor) paused: bool,
    /// The peer has sent urgent bytes: a short read may have stopped before one, from then on.
    pub(in crate::reactor) urgent: bool,
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
///   Open --------> HungUp, then Dead -----------> Ended
///     '---------------------------------------------^
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::reactor) enum PeerSide {
    /// More may come.
    #[default]
    Open,
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

/// Whether the socket has something to read, and whether its connection waits for a share of a
/// turn.
///
/// ```text
///            an edge                 push, where it may be read
///   Empty -------------> Unread -----------------------------------> Queued
///     ^                  |    ^                                        |
///     '-- read to its ---'    '------------ pop, to be read -----------'
///         end
/// ```
///
/// Bytes that the consumer has fed are read although the socket may be empty: then `Empty` becomes
/// `Queued` too. While a connection is queued, neither an edge nor a read to the end changes that.
#[derive(Default)]
pub(in crate::reactor) struct ReadState(pub(super) State);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// An edge will come.
    #[default]
    Empty,
    /// The edge has been seen and not been read to its end.
    Unread,
    /// In one of the queues of [`Ready`](super::ready::Ready), which alone set and leave this state.
    Queued,
}

impl ReadState {
    /// There is something to read.
    pub(in crate::reactor) fn on_edge(&mut self) {
        if self.0 == State::Empty {
            self.0 = State::Unread;
        }
    }

    pub(super) fn on_drained(&mut self) {
        if self.0 == State::Unread {
            self.0 = State::Empty;
        }
    }

    /// Whether data may be waiting in the kernel.
    pub(in crate::reactor) fn is_unread(&self) -> bool {
        self.0 != State::Empty
    }

    pub(in crate::reactor) fn is_queued(&self) -> bool {
        self.0 == State::Queued
    }
}
