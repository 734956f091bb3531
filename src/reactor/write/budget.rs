//! The bytes that wait to be sent to all connections together, if they have a limit.
//!
//! A peer that does not read costs memory while the program sends to it. Above the budget, the
//! connection with the most waiting bytes is ended; those that read have next to none.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::bridge::layout::Cause;
use crate::engine::{ErrorKind, Event};
use crate::reactor::{ConnectionId, Consumer, Reactor};

/// By slot; empty without a limit.
pub(super) struct Budget {
    pub(super) budget: usize,
    total: usize,
    bytes: HashMap<u32, (ConnectionId, usize)>,
    /// The largest at the end: a thousand connections might have to be ended at once.
    ranks: BTreeSet<(usize, u32)>,
}

impl Budget {
    /// `budget`: `usize::MAX` for none.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, total: 0, bytes: HashMap::new(), ranks: BTreeSet::new() }
    }

    pub(super) fn set(&mut self, id: ConnectionId, bytes: usize) {
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

    /// `None` while all together are within the budget.
    fn worst(&self) -> Option<ConnectionId> {
        if self.total <= self.budget {
            return None;
        }
        let (_, slot) = self.ranks.last()?;
        self.bytes.get(slot).map(|(id, _)| *id)
    }
}

impl<C: Consumer> Reactor<C> {
    pub(in crate::reactor) fn end_slow(&mut self) {
        while let Some(id) = self.writer.budget.worst() {
            self.writer.budget.set(id, 0);
            // The reports about the connection are outside of any read.
            self.consumer.on_turn_end();
            self.step(id, |conn, consumer| {
                conn.metrics.tally.over_budget += 1;
                let engine = &conn.state.engine;
                if conn.is_open() && engine.failure().is_none() && !engine.close_received() {
                    let error = conn.state.engine.refuse(ErrorKind::SendBudget);
                    conn.reader.forget_message(id.slot);
                    consumer.on_event(conn, Event::Error(error));
                }
                conn.cut(Cause::SendBudget);
            });
        }
    }
}
