//! Connections that have something to write.

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::queue::Queue;
use crate::reactor::write::half::WriteHalf;

/// Their queues, each in the order in which they are written. Each connection is in one at most.
#[derive(Default)]
pub(in crate::reactor) struct Unwritten {
    /// Those nobody has looked at.
    pub(in crate::reactor) fresh: Queue,
    /// Those with more than a share, and those for whom there was nothing left.
    pub(in crate::reactor) waiting: Queue,
}

impl Unwritten {
    /// Takes a connection in that has something to write.
    #[inline]
    pub(in crate::reactor) fn push(&mut self, id: ConnectionId, write: &mut WriteHalf) {
        self.fresh.push(id, &mut write.unwritten);
    }

    /// Takes a connection in that has had its share, behind those that have not.
    pub(in crate::reactor) fn push_served(&mut self, id: ConnectionId, write: &mut WriteHalf) {
        self.waiting.push(id, &mut write.unwritten);
    }

    /// Whether nothing is to be written.
    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }
}
