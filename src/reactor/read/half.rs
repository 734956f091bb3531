//! The peer's side of a socket: whether it may be read, and the counts of bytes read.

use crate::reactor::connection::queue::Mark;
use crate::reactor::read::ready::ReadState;

/// The half of a connection that is read.
#[derive(Default)]
pub(in crate::reactor) struct ReadHalf {
    pub(in crate::reactor) state: ReadState,
    pub(in crate::reactor) peer: PeerSide,
    /// The connection wanted much of its last share of a turn.
    pub(in crate::reactor) greedy: bool,
    /// The consumer has paused the connection.
    pub(in crate::reactor) paused: bool,
    /// The peer has sent urgent bytes: a short read may have stopped before one, from then on.
    pub(in crate::reactor) urgent: bool,
    /// The shortage because of which the connection is not read.
    pub(in crate::reactor) starved: Option<Lack>,
    /// In the queue of connections that wait until all together have less undrained.
    pub(in crate::reactor) listed: Mark,
    /// Whether `held` is more than pings and pongs.
    pub(in crate::reactor) holds_data: bool,
    /// Undrained inbound bytes, records included.
    pub(in crate::reactor) held: usize,
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
pub(in crate::reactor) enum Lack {
    /// The connection itself has left too much undrained.
    Credit,
    /// All connections together have, and this one more than its share.
    Room,
}
