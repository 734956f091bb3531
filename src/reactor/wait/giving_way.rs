//! Whether a thread that shares its only CPU with its consumer gives way behind a batch.
//!
//! Without it, with the server on one CPU, an echo of 16 KiB takes 1.09 to 1.30 of the CPU time and
//! 1.6 of the JavaScript thread's with 10 connections and 32 in flight, 1.07 and 1.25 with 200
//! connections, and one of 20 bytes with 32 in flight 1.03 to 1.06 (medians of 7 rounds, twice, in
//! both orders). With 1 KiB one way in it was 1.4 (NOTES.md).

use crate::reactor::wait::spin::processors;

/// The thread gives way after this many bytes, while they are in the cache. Left to itself the
/// scheduler lets it go on for milliseconds.
const WORTH_GIVING_WAY: usize = 16 << 10;
/// The thread gives way this many times in a row at most while the consumer takes nothing: a
/// blocked consumer would waste milliseconds each time, also for everything that waits for the
/// reactor.
const PATIENCE: u32 = 8;

/// Never, or as long as the consumer makes use of it.
pub(in crate::reactor) struct GivingWay {
    is_on: bool,
    /// The number of times since the consumer took a batch.
    in_vain: u32,
    /// The inbox's weight when a batch was handed over last: it is less when the consumer has
    /// taken a batch since.
    left: usize,
}

impl GivingWay {
    /// Never.
    pub(in crate::reactor) fn never() -> Self {
        Self { is_on: false, in_vain: 0, left: 0 }
    }

    /// On a single CPU.
    pub(in crate::reactor) fn on_one_cpu() -> Self {
        Self { is_on: processors() == 1, ..Self::never() }
    }

    /// A batch of `bytes` is about to be handed over; `weight` is that of those before it.
    /// True: the thread is to give way behind it.
    pub(in crate::reactor) fn is_due(&mut self, bytes: usize, weight: usize) -> bool {
        if weight < self.left {
            self.in_vain = 0;
        }
        let is_due = self.is_on && bytes >= WORTH_GIVING_WAY && self.in_vain < PATIENCE;
        self.in_vain += u32::from(is_due);
        is_due
    }

    /// The batch was handed over, and `weight` is that of all that wait.
    pub(in crate::reactor) fn handed_over(&mut self, weight: usize) {
        self.left = weight;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bridge::layout::Cause;
    use crate::reactor::{ConnectionId, Consumer, Forward, Link, ReactorConfig};

    /// R11.
    #[test]
    fn a_consumer_that_takes_nothing_is_given_way_to_so_often_and_no_more() {
        let mut giving_way = GivingWay { is_on: true, ..GivingWay::never() };
        let (mut weight, mut given) = (0, 0);
        for _ in 0..2 * PATIENCE {
            given += u32::from(giving_way.is_due(WORTH_GIVING_WAY, weight));
            weight += 1000;
            giving_way.handed_over(weight);
        }
        assert_eq!(given, PATIENCE);
        // It takes one.
        assert!(giving_way.is_due(WORTH_GIVING_WAY, weight - 1000));
        assert!(!giving_way.is_due(WORTH_GIVING_WAY - 1, 0), "too little");
        assert!(!GivingWay::never().is_due(WORTH_GIVING_WAY, 0));
    }

    /// On one CPU it runs as soon as it is rung for.
    #[test]
    fn a_consumer_that_takes_all_when_it_is_woken_is_given_way_to_every_time() {
        let link = Arc::new(Link::new());
        let inbox = link.clone();
        let take = move || {
            inbox.inbox.bell().answer();
            while let Some(batch) = inbox.inbox.take() {
                let _wakes_nobody = inbox.inbox.give_back(batch);
            }
        };
        let mut forward = Forward::new(link, &ReactorConfig::default(), Box::new(take));
        forward.giving_way.is_on = true;
        for _ in 0..2 * PATIENCE {
            forward.claim(WORTH_GIVING_WAY);
            forward.on_closed(ConnectionId { slot: 0, generation: 0 }, Cause::Closed);
            forward.on_turn_end();
            assert_eq!(forward.giving_way.in_vain, 1);
        }
    }
}
