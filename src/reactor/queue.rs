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
pub(super) struct Queue(VecDeque<ConnectionId>);

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, id: ConnectionId, mark: &mut Mark) {
        if !mark.0 {
            mark.0 = true;
            self.0.push_back(id);
        }
    }

    /// Takes the first connection of those in `all` that are not gone; `mark` finds its mark.
    pub(super) fn pop<T>(
        &mut self,
        all: &mut T,
        mark: impl Fn(&mut T, ConnectionId) -> Option<&mut Mark>,
    ) -> Option<ConnectionId> {
        loop {
            let id = self.0.pop_front()?;
            if let Some(mark) = mark(all, id) {
                mark.0 = false;
                return Some(id);
            }
        }
    }

    /// Puts all of `other`, which shares the mark, behind the connections in this queue.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }

    /// Drops connections that are gone, for which `mark` finds none.
    pub(super) fn tidy(&mut self, mut is_there: impl FnMut(ConnectionId) -> bool) {
        self.0.retain(|&id| is_there(id));
    }

    /// The number of connections, some that are gone included.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Connections, each with a moment, some that are gone included.
#[derive(Default)]
pub(super) struct Alarms(BinaryHeap<Reverse<(Instant, ConnectionId)>>);

impl Alarms {
    pub(super) fn push(&mut self, at: Instant, id: ConnectionId) {
        self.0.push(Reverse((at, id)));
    }

    /// The first moment.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next connection whose moment has come.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ConnectionId> {
        if self.next().is_none_or(|at| at > now) {
            return None;
        }
        self.0.pop().map(|Reverse((_, id))| id)
    }
}
