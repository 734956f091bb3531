//! Queues of connections that wait for something, or for a moment.

use crate::reactor::ConnectionId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

/// Whether a connection is in a queue. Only queues change it, so it cannot disagree with them.
#[derive(Default)]
pub(super) struct Mark(bool);

impl Mark {
    pub(super) fn is_set(&self) -> bool {
        self.0
    }
}

/// Connections in the order in which they came. Each is there once at most, as its mark tells;
/// several queues may share the mark, and then the connection is in one of them at most.
/// Connections that are gone are skipped.
#[derive(Default)]
pub(super) struct Queue {
    ids: VecDeque<ConnectionId>,
    /// The number of connections that have been taken from it.
    left: u64,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, id: ConnectionId, mark: &mut Mark) {
        if !mark.0 {
            mark.0 = true;
            self.ids.push_back(id);
        }
    }

    /// Takes the first connection of those in `all` that are not gone; `mark` finds its mark.
    pub(super) fn pop<T>(
        &mut self,
        all: &mut T,
        mark: impl Fn(&mut T, ConnectionId) -> Option<&mut Mark>,
    ) -> Option<ConnectionId> {
        loop {
            let id = self.ids.pop_front()?;
            self.left += 1;
            if let Some(mark) = mark(all, id) {
                mark.0 = false;
                return Some(id);
            }
        }
    }

    /// Puts all of `other`, which shares the mark, behind the connections in this queue.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.ids.append(&mut other.ids);
    }

    /// Drops connections that are gone, for which `mark` finds none.
    pub(super) fn tidy(&mut self, mut is_there: impl FnMut(ConnectionId) -> bool) {
        self.ids.retain(|&id| is_there(id));
    }

    /// The number of connections, some that are gone included.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The number of connections that have been taken, or wait to be.
    pub(super) fn ever(&self) -> u64 {
        self.left + self.ids.len() as u64
    }
}

/// Connections, each with a moment, some that are gone included.
pub(super) struct Alarms<T = Instant>(BinaryHeap<Reverse<(T, ConnectionId)>>);

impl<T: Ord> Default for Alarms<T> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<T: Ord + Copy> Alarms<T> {
    pub(super) fn push(&mut self, at: T, id: ConnectionId) {
        self.0.push(Reverse((at, id)));
    }

    /// The first moment.
    pub(super) fn next(&self) -> Option<T> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next connection whose moment has come.
    pub(super) fn pop(&mut self, now: T) -> Option<ConnectionId> {
        if self.next().is_none_or(|at| at > now) {
            return None;
        }
        self.0.pop().map(|Reverse((_, id))| id)
    }
}
