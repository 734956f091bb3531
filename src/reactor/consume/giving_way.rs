//! Whether a thread that shares its only CPU with its consumer gives way behind a batch.
//!
//! Without it, with the server on one CPU, an echo of 16 KiB takes 1.09 to 1.30 of the CPU time and
//! 1.6 of the JavaScript thread's with 10 connections and 32 in flight, 1.07 and 1.25 with 200
//! connections, and one of 20 bytes with 32 in flight 1.03 to 1.06 (medians of 7 rounds, twice, in
//! both orders). With 1 KiB one way in it was 1.4 (NOTES.md).

#[cfg(test)]
mod tests;

use crate::reactor::wait::spin::processors;

/// The thread gives way after this many bytes, while they are in the cache. Left to itself the
/// scheduler lets it go on for milliseconds.
const WORTH_GIVING_WAY: usize = 16 << 10;
/// The thread gives way this many times in a row at most while the consumer takes nothing: a
/// blocked consumer would waste milliseconds each time, also for everything that waits for the
/// reactor.
const PATIENCE: u32 = 8;

/// Never, or as long as the consumer makes use of it.
pub(super) struct GivingWay {
    is_on: bool,
    /// The number of times since the consumer took a batch.
    in_vain: u32,
    /// The inbox's weight when a batch was handed over last: it is less when the consumer has
    /// taken a batch since.
    left: usize,
}

impl GivingWay {
    pub(super) fn never() -> Self {
        Self { is_on: false, in_vain: 0, left: 0 }
    }

    pub(super) fn on_one_cpu() -> Self {
        Self { is_on: processors() == 1, ..Self::never() }
    }

    /// A batch of `bytes` is about to be handed over; `weight` is that of those before it.
    /// True: the thread is to give way behind it.
    pub(super) fn is_due(&mut self, bytes: usize, weight: usize) -> bool {
        if weight < self.left {
            self.in_vain = 0;
        }
        let is_due = self.is_on && bytes >= WORTH_GIVING_WAY && self.in_vain < PATIENCE;
        self.in_vain += u32::from(is_due);
        is_due
    }

    /// The batch was handed over, and `weight` is that of all that wait.
    pub(super) fn handed_over(&mut self, weight: usize) {
        self.left = weight;
    }
}
