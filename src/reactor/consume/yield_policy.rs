//! Whether a thread that shares its only CPU with its consumer gives way after a batch.
//!
//! Without it, on one CPU, an echo of 16 KiB takes 1.09 to 1.30 of the CPU time (JavaScript's
//! thread 1.6) with 10 connections and 32 in flight, 1.07 (1.25) with 200 connections; one of 20
//! bytes with 32 in flight 1.03 to 1.06, and 1 KiB one way in 1.4 (NOTES.md).

#[cfg(test)]
mod tests;

use crate::reactor::wait::spin::processors;

/// Bytes after which the thread gives way, while they are in the cache. Left to itself the
/// scheduler lets it go on for milliseconds.
const MIN_YIELD_BYTES: usize = 16 << 10;
/// How often in a row the thread gives way in vain: with a blocked consumer each time costs
/// milliseconds, also for everything that waits for the reactor.
const PATIENCE: u32 = 8;

pub(super) struct YieldPolicy {
    is_on: bool,
    /// How often since the consumer took a batch.
    in_vain: u32,
    /// The inbox's weight after the last batch; it is less once the consumer has taken one.
    left: usize,
}

impl YieldPolicy {
    pub(super) fn never() -> Self {
        Self { is_on: false, in_vain: 0, left: 0 }
    }

    pub(super) fn on_one_cpu() -> Self {
        Self { is_on: processors() == 1, ..Self::never() }
    }

    /// A batch of `bytes` is about to be handed over; the ones before it weigh `weight`. True: give
    /// way after it.
    pub(super) fn is_due(&mut self, bytes: usize, weight: usize) -> bool {
        if weight < self.left {
            self.in_vain = 0;
        }
        let is_due = self.is_on && bytes >= MIN_YIELD_BYTES && self.in_vain < PATIENCE;
        self.in_vain += u32::from(is_due);
        is_due
    }

    /// `weight`: of all batches that wait.
    pub(super) fn handed_over(&mut self, weight: usize) {
        self.left = weight;
    }
}
