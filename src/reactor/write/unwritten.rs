//! Connections that have something to write.

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::queue::Queue;
use crate::reactor::write::half::WriteHalf;

/// The queues, each in the order in which connections are written. A connection is in at most one.
#[derive(Default)]
pub(in crate::reactor) struct Unwritten {
    /// Connections that were queued since the last look.
    pub(in crate::reactor) fresh: Queue,
    /// Connections with more than a share, and those that the budget did not reach.
    pub(in crate::reactor) waiting: Queue,
}

impl Unwritten {
    /// Queues a connection that has something to write.
    #[inline]
    pub(in crate::reactor) fn push(&mut self, id: ConnectionId, write: &mut WriteHalf) {
        self.fresh.push(id, &mut write.unwritten);
    }

    /// Queues a connection that has had its share, behind those that have not.
    pub(in crate::reactor) fn push_served(&mut self, id: ConnectionId, write: &mut WriteHalf) {
        self.waiting.push(id, &mut write.unwritten);
    }

    /// Whether nothing is to be written.
    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }
}
