//! A consumer on another thread that lets the reactors catch up: bytes that had come to them before
//! another event was reported to it are handed over before it goes on with that event.
//!
//! Mostly there is nothing to wait for. Otherwise the wait is the time that a thread takes to wake
//! up. It is never longer than the allowance, so that a consumer loses little of its time if the
//! reactors are never idle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::reactor::consume::link::Link;

/// Waiting may take a sixteenth of the consumer's time.
const SHARE: u32 = 16;
/// The most that may be saved up and spent at once. Another process may have the reactor's CPU for
/// some milliseconds: with 2 ms and a thirty-second, 9 of 1,400 requests overtook a message of
/// the same client, with 8 ms and a sixteenth none of 1,600 (benchmark/order.mjs, two processors).
const MOST: Duration = Duration::from_millis(8);

/// The time that one consumer may wait.
pub struct Settling {
    links: Vec<Arc<Link>>,
    allowance: Duration,
    /// The time at which the allowance was computed.
    since: Instant,
}

impl Settling {
    /// The links of all reactors of the consumer.
    pub fn new(links: Vec<Arc<Link>>) -> Self {
        Self { links, allowance: MOST, since: Instant::now() }
    }

    /// Returns when the bytes that have come so far are handed over, or when that takes too long.
    /// `has_come`: whether the system has events for the reactor of that number.
    pub fn settle(&mut self, has_come: impl Fn(usize) -> bool) {
        let mut wait = None;
        for (number, link) in self.links.iter().enumerate() {
            let pace = &link.pace;
            let goal = pace.goal();
            while !pace.has_reached(goal) && (has_come(number) || pace.is_at_work()) {
                let now = Instant::now();
                let (begin, allowance) = *wait.get_or_insert_with(|| {
                    let saved = now.saturating_duration_since(self.since) / SHARE;
                    (now, MOST.min(self.allowance + saved))
                });
                let spent = now.saturating_duration_since(begin);
                (self.allowance, self.since) = (allowance.saturating_sub(spent), now);
                if self.allowance.is_zero() {
                    return;
                }
                // The reactor may need this CPU.
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn settling() -> Settling {
        Settling::new(vec![Arc::new(Link::new()), Arc::new(Link::new())])
    }

    #[test]
    fn what_is_idle_is_not_waited_for() {
        let mut settling = settling();
        settling.settle(|_| false);
        assert_eq!(settling.allowance, MOST);
    }

    #[test]
    fn a_turn_that_has_begun_is_waited_for() {
        let mut settling = settling();
        let (links, looks) = (settling.links.clone(), Cell::new(0));
        links[1].pace.begin();
        settling.settle(|number| {
            looks.set(looks.get() + number);
            if looks.get() == 2 {
                links[1].pace.end();
            }
            false
        });
        assert_eq!(looks.get(), 2);
    }

    #[test]
    fn nobody_waits_for_what_comes_later() {
        let mut settling = settling();
        let (links, looks) = (settling.links.clone(), Cell::new(0));
        // There is always more.
        settling.settle(|number| {
            looks.set(looks.get() + 1);
            links[number].pace.begin();
            links[number].pace.end();
            true
        });
        assert!(looks.get() <= 2 * links.len(), "{} looks", looks.get());
    }

    #[test]
    fn one_that_does_not_come_takes_no_more_than_the_allowance() {
        let mut settling = settling();
        let begin = Instant::now();
        for _ in 0..1000 {
            settling.settle(|_| true);
        }
        // It is spent at once, and what accrues meanwhile is a part of that.
        assert!(settling.allowance.is_zero() || settling.allowance < MOST / 2);
        assert!(begin.elapsed() >= MOST);
    }
}
