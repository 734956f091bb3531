//! Connections that have something to write.
//!
//! A pong does not wait until a hundred connections with a megabyte each have had a share: what has come since the last look
//! is written first, unless it is long. Who waits has half of what is written at once, however much comes.

use std::collections::VecDeque;

use super::Reactor;
use super::config::{COST_OF_CALL, FLUSH_BUDGET, FREE_DISCOUNT, SHORT_QUEUE};
use super::connection::Writable;
use super::consumer::Consumer;

/// Their lists, each in the order in which they are written. Each connection is in one at most.
#[derive(Default)]
pub(super) struct Unwritten {
    /// Those nobody has looked at.
    fresh: VecDeque<u32>,
    /// Those with more than a share, and those for whom there was nothing left.
    waiting: VecDeque<u32>,
}

impl Unwritten {
    /// Puts a connection on the list.
    pub(super) fn push(&mut self, slot: u32) {
        self.fresh.push_back(slot);
    }

    /// Puts a connection that has had its share behind those who have not.
    pub(super) fn push_served(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// Whether nobody is on it.
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Writes what is queued, one vectored write per connection, as much as may be written at once.
    pub(super) fn flush(&mut self) {
        let mut budget = FLUSH_BUDGET;
        let reserved = if self.work.unwritten.waiting.is_empty() { 0 } else { FLUSH_BUDGET / 2 };
        while budget > reserved
            && let Some(slot) = self.work.unwritten.fresh.pop_front()
        {
            budget = budget.saturating_sub(self.write(slot, SHORT_QUEUE));
        }
        let Unwritten { fresh, waiting } = &mut self.work.unwritten;
        waiting.append(fresh);
        // Who has more than a share is behind them then.
        for _ in 0..waiting.len() {
            if budget == 0 {
                return;
            }
            let Some(slot) = self.work.unwritten.waiting.pop_front() else { return };
            budget = budget.saturating_sub(self.write(slot, usize::MAX));
        }
    }

    /// Writes a connection's share, or puts it behind the others if more than `most` waits. Returns what that cost.
    fn write(&mut self, slot: u32, most: usize) -> usize {
        let Some(connection) = self.connections.get_mut(slot) else { return 0 };
        let queued = connection.outgoing.len();
        if queued > most {
            self.work.unwritten.push_served(slot);
            return 0;
        }
        connection.dirty = false;
        let call = if connection.writable == Writable::Now { COST_OF_CALL } else { 0 };
        self.guarded(slot, |reactor| reactor.flush_one(slot));
        let left = self.connections.get_mut(slot).map_or(0, |connection| connection.outgoing.len());
        queued.saturating_sub(left) + self.work.pool.take_freed() / FREE_DISCOUNT + call
    }
}
