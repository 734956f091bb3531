//! The bytes that wait to be sent to all connections together, where there is a limit.
//!
//! A peer that does not read costs memory for as long as the program sends to it. Above the budget,
//! the connection with the most waiting bytes is ended: those that read have next to nothing
//! waiting.

use std::collections::{BTreeSet, HashMap};

use crate::reactor::connection::id::ConnectionId;

/// The bytes that wait, by slots; empty where there is no limit.
pub(in crate::reactor) struct Waiting {
    budget: usize,
    total: usize,
    bytes: HashMap<u32, (ConnectionId, usize)>,
    /// The same numbers, the largest at the end: a thousand connections may have to be ended at
    /// once.
    ranks: BTreeSet<(usize, u32)>,
}

impl Waiting {
    /// `budget`: `usize::MAX` for none.
    pub(in crate::reactor) fn new(budget: usize) -> Self {
        Self { budget, total: 0, bytes: HashMap::new(), ranks: BTreeSet::new() }
    }

    /// Notes the bytes that wait for a connection by now.
    pub(in crate::reactor) fn set(&mut self, id: ConnectionId, bytes: usize) {
        if self.budget == usize::MAX || (bytes == 0 && self.bytes.is_empty()) {
            return;
        }
        let before = match bytes {
            0 => self.bytes.remove(&id.slot),
            bytes => self.bytes.insert(id.slot, (id, bytes)),
        };
        let before = before.map_or(0, |(_, before)| before);
        self.total = self.total + bytes - before;
        if before != bytes {
            self.ranks.remove(&(before, id.slot));
            if bytes != 0 {
                self.ranks.insert((bytes, id.slot));
            }
        }
    }

    /// The connection with the most waiting bytes, if all together are above the budget.
    pub(in crate::reactor) fn worst(&self) -> Option<ConnectionId> {
        if self.total <= self.budget {
            return None;
        }
        let (_, slot) = self.ranks.last()?;
        self.bytes.get(slot).map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::{Duration, Instant};

    /// Searching all connections for each that is ended would take 10 times as long.
    #[test]
    fn many_that_have_the_same_are_ended_as_fast_as_few() {
        let is_linear = || end_all(10_000) < 5 * (0..10).map(|_| end_all(1_000)).sum::<Duration>();
        // The machine may stop either of them: a round in which it stops neither is enough.
        assert!((0..5).any(|_| is_linear()));
    }

    #[expect(clippy::disallowed_methods, reason = "a test has a clock")]
    fn end_all(connections: u32) -> Duration {
        let begun = Instant::now();
        let mut waiting = Waiting::new(10);
        for slot in 0..connections {
            waiting.set(ConnectionId { slot, generation: 1 }, 10);
        }
        waiting.set(ConnectionId { slot: 7, generation: 1 }, 11);
        let mut ended = Vec::new();
        while let Some(id) = waiting.worst() {
            waiting.set(id, 0);
            ended.push(id.slot);
        }
        assert_eq!((ended.len(), ended.first()), (connections as usize - 1, Some(&7)));
        begun.elapsed()
    }
}
