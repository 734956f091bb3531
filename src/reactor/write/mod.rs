//! From frames to the kernel: compression, queues, and the order in which connections are written.
//!
//! ```text
//! a send -> frame -> queued: touch -> write_unwritten: its share of the turn -> the kernel
//!    '----- deferred, if it is long or waits for such a one: a slice of it each turn --^
//! ```

mod budget;
mod compress;
pub(super) mod half;
pub(super) mod masking;
mod outgoing;
mod schedule;
mod send;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use crate::engine::{Frame, Large};

use super::config::{COMPRESS_BUDGET, COST_OF_CALL, FREE_BUDGET, ReactorConfig};
use super::queue::Queue;
use crate::reactor::ConnectionId;
use budget::Budget;
use compress::Compression;
pub(super) use compress::is_data;
use half::WriteHalf;
use masking::Keys;
use outgoing::{Outgoing, Pool};

/// What connections share for writing: queues, memory and budgets.
pub(super) struct Writer {
    /// Queued since the last look, in the order of writing. A connection is in one queue at most.
    fresh: Queue,
    /// Connections with more than a share, and those that the budget did not reach.
    waiting: Queue,
    /// Bytes of commands that may still be applied in this turn.
    left: usize,
    pool: Pool,
    keys: Keys,
    compression: Compression,
    budget: Budget,
    /// Queues of connections that have ended. Freeing 1 MiB takes 20 us, so freeing 1 GiB at once,
    /// queued for peers that died together, would stop all others for 20 ms.
    remains: VecDeque<Outgoing>,
}

impl Writer {
    pub(super) fn new(config: &ReactorConfig) -> Self {
        Self {
            fresh: Queue::default(),
            waiting: Queue::default(),
            left: 0,
            pool: Pool::default(),
            keys: Keys::default(),
            compression: Compression::new(config.deflate_budget),
            budget: Budget::new(config.send_budget),
            remains: VecDeque::new(),
        }
    }

    pub(super) fn set_budget(&mut self, budget: usize) {
        self.budget.budget = budget;
    }

    pub(super) fn begin_turn(&mut self) {
        self.compression.budget = COMPRESS_BUDGET;
    }

    pub(super) fn end_turn(&mut self) {
        // The pool has a lock.
        if self.compression.budget != COMPRESS_BUDGET {
            self.compression.pool.forget_message();
        }
        let mut budget = FREE_BUDGET;
        while budget > 0
            && let Some(first) = self.remains.front_mut()
        {
            budget = budget.saturating_sub(first.discard(budget));
            if first.is_empty() {
                self.remains.pop_front();
            }
        }
    }

    pub(super) fn has_written(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.has_written() || !self.remains.is_empty() || !self.compression.deferred.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.compression.holders.next()
    }

    pub(super) fn compressed_at_once(&self) -> usize {
        self.compression.at_once()
    }

    /// The next connection with deferred sends, if this turn may compress more.
    pub(super) fn next_deferred(&mut self) -> Option<ConnectionId> {
        if self.compression.budget == 0 { None } else { self.compression.deferred.pop_front() }
    }

    pub(super) fn defer_again(&mut self, id: ConnectionId) {
        self.compression.deferred.push_back(id);
    }

    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = bytes;
    }

    pub(super) fn may_apply(&self) -> bool {
        self.left > 0
    }

    /// A command moved `bytes`.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.charge(bytes + COST_OF_CALL);
    }

    /// Commands may move that many bytes less.
    pub(super) fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    pub(super) fn forget(&mut self, id: ConnectionId, write: WriteHalf) {
        self.budget.set(id, 0);
        if !write.outgoing.is_empty() {
            self.remains.push_back(write.outgoing);
        }
    }
}

/// Sends that wait for a long message, which is compressed in slices.
#[derive(Default)]
pub(super) struct Deferred {
    pub(super) sends: VecDeque<Pending>,
    /// What is compressed of the message at the front.
    compressed: Large,
    /// Bytes of that message that have been compressed.
    done: usize,
    pub(super) bytes: usize,
}

/// A record without its payload and its connection.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// What it means depends on the kind.
    pub(super) aux: u16,
}

pub(super) struct Pending {
    pub(super) head: Head,
    /// Other connections may send it too.
    pub(super) payload: Frame,
}
