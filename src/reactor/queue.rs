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

/// Connections in order of arrival, each at most once, as its mark tells. Several queues can share
/// a mark; a connection is then in one of them at most. Connections that have ended are skipped.
#[derive(Default)]
pub(super) struct Queue {
    ids: VecDeque<ConnectionId>,
    /// How many connections were taken from it.
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

    /// Takes the first connection that has not ended; `mark` finds its mark in `all`.
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

    /// Appends `other`, which shares the mark.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.ids.append(&mut other.ids);
    }

    /// Drops connections that have ended, for which `is_there` is false.
    pub(super) fn tidy(&mut self, mut is_there: impl FnMut(ConnectionId) -> bool) {
        self.ids.retain(|&id| is_there(id));
    }

    /// Includes some that have ended.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Connections that were taken, or wait to be.
    pub(super) fn ever(&self) -> u64 {
        self.left + self.ids.len() as u64
    }
}

/// Connections, each with a moment; some have ended.
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

    pub(super) fn next(&self) -> Option<T> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn pop(&mut self, now: T) -> Option<ConnectionId> {
        if self.next().is_none_or(|at| at > now) {
            return None;
        }
        self.0.pop().map(|Reverse((_, id))| id)
    }
}
