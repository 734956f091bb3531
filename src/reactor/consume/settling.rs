//! A consumer on another thread that lets the reactors catch up: bytes that had come to them before
//! another event was reported to it are handed over before it goes on with that event.
//!
//! Mostly there is nothing to wait for. Otherwise the wait is the time that a thread takes to wake
//! up. It ends with the allowance, so that a consumer loses little of its time if the reactors are
//! never idle. Where other threads have the consumer's CPU meanwhile, it may take half of the time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::reactor::consume::link::Link;

/// Waiting may take a sixteenth of the consumer's time.
const SHARE: u32 = 16;
/// The most that may be saved up and spent at once. Another process may have the reactor's CPU for
/// some milliseconds: with 2 ms and a thirty-second, 9 of 1,400 requests overtook a message of
/// the same client, with 8 ms and a sixteenth none of 1,600 (benchmark/order.mjs, two processors).
const MOST: Duration = Duration::from_millis(8);

/// A process that was stopped for longer does not pay for all of it.
const LONGEST_DEBT: Duration = Duration::from_millis(128);

/// It takes that many looks to say that what had come is gone, and that no turn begins. Mostly one
/// begins a microsecond after the system has reported to the reactor, but its thread may be
/// interrupted in between.
const LOOKS: u32 = 1000;

/// The time that one consumer may wait.
pub struct Settling {
    links: Vec<Arc<Link>>,
    /// The longest wait: `MOST`.
    most: Duration,
    allowance: Duration,
    /// The time from which more is saved up: in the future if the last wait took longer than it
    /// might.
    since: Instant,
}

impl Settling {
    /// The links of all reactors of the consumer.
    pub fn new(links: Vec<Arc<Link>>) -> Self {
        Self::for_most(links, MOST)
    }

    fn for_most(links: Vec<Arc<Link>>, most: Duration) -> Self {
        Self { links, most, allowance: most, since: Instant::now() }
    }

    /// Returns when the bytes that have come so far are handed over, or when that takes too long;
    /// false if it knows of some that are not. `has_come`: whether the system has events for the
    /// reactor of that number.
    pub fn settle(&mut self, has_come: impl Fn(usize) -> bool) -> bool {
        let mut begin = None;
        let mut settled = true;
        for (number, link) in self.links.iter().enumerate() {
            let pace = &link.pace;
            let goal = pace.goal();
            // Looks behind the last one that found something.
            let mut looks = LOOKS;
            let mut found = false;
            while !pace.has_reached(goal) {
                let has_come = has_come(number);
                if has_come {
                    looks = 0;
                    found = true;
                } else if !pace.is_at_work() {
                    // It may have taken the events and not have begun its turn.
                    if looks >= LOOKS {
                        settled &= !found;
                        break;
                    }
                    looks += 1;
                }
                let now = Instant::now();
                let waited = now.saturating_duration_since(*begin.get_or_insert(now));
                if waited >= self.allowance_at(now - waited) {
                    self.spend(now - waited, now);
                    return false;
                }
                // The reactor may need this CPU.
                std::thread::yield_now();
            }
        }
        if let Some(begin) = begin {
            self.spend(begin, Instant::now());
        }
        settled
    }

    /// What may be waited from `now` on.
    fn allowance_at(&self, now: Instant) -> Duration {
        self.most.min(self.allowance + now.saturating_duration_since(self.since) / SHARE)
    }

    /// It has waited. To give the CPU away may take longer than the allowance, even the first time:
    /// for as long again nothing is saved up, so that at most half of the time goes. More is not
    /// charged: another thread has had the CPU meanwhile, and would have had it anyway. When later
    /// waits paid sixteen times for it, on a busy machine up to 23 of 100 requests came before an
    /// end that was there before.
    fn spend(&mut self, begin: Instant, end: Instant) {
        let (spent, allowance) = (end.saturating_duration_since(begin), self.allowance_at(begin));
        let debt = spent.saturating_sub(allowance).min(LONGEST_DEBT);
        self.allowance = allowance.saturating_sub(spent);
        self.since = self.since.max(end + debt);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn settling() -> Settling {
        Settling::new(vec![Arc::new(Link::new()), Arc::new(Link::new())])
    }

    /// One that is not cut off, however long others have the CPU that it gives away; its links, and
    /// a count of looks.
    fn patient() -> (Settling, Vec<Arc<Link>>, Cell<u32>) {
        let Settling { links, .. } = settling();
        (Settling::for_most(links.clone(), Duration::from_secs(600)), links, Cell::new(0))
    }

    #[test]
    fn what_is_idle_is_not_waited_for() {
        let mut settling = settling();
        assert!(settling.settle(|_| false));
        assert_eq!(settling.allowance, MOST);
    }

    #[test]
    fn a_turn_that_has_begun_is_waited_for() {
        let (mut settling, links, looks) = patient();
        links[1].pace.begin();
        let settled = settling.settle(|number| {
            looks.set(looks.get() + number as u32);
            if looks.get() == 2 {
                links[1].pace.end();
            }
            false
        });
        assert_eq!((looks.get(), settled), (2, true));
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

    /// The reactor has taken what comes with the first look, and begins its turn with look `begin`.
    /// Returns the number of looks, and whether nothing is left.
    fn looks_until_begin(begin: u32) -> (u32, bool) {
        let (mut settling, links, looks) = patient();
        let settled = settling.settle(|number| {
            looks.set(looks.get() + number as u32);
            if looks.get() == begin {
                links[1].pace.begin();
            } else if looks.get() > begin {
                links[1].pace.end();
            }
            number == 1 && looks.get() == 1
        });
        (looks.get(), settled)
    }

    #[test]
    fn what_a_reactor_has_taken_is_waited_for_before_its_turn_begins() {
        assert_eq!(looks_until_begin(3), (4, true));
    }

    #[test]
    fn what_has_gone_again_is_not_waited_for() {
        assert_eq!(looks_until_begin(u32::MAX), (1 + LOOKS + 1, false));
    }

    /// A wait in whose third look another thread has the CPU that was given away. None if it gave
    /// up before that: on a busy machine another thread may have had the CPU before, too.
    fn settle_slowly(most: Duration) -> Option<(Settling, Instant)> {
        let links = settling().links;
        let (mut settling, looks) = (Settling::for_most(links.clone(), most), Cell::new(0));
        links[1].pace.begin();
        let start = Instant::now();
        settling.settle(|_| {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                std::thread::sleep(2 * most);
                links[1].pace.end();
            }
            false
        });
        (looks.get() == 3).then_some((settling, start))
    }

    #[test]
    fn a_wait_that_takes_too_long_is_taken_from_later_ones() {
        let most = 5 * MOST;
        let (settling, start) = (0..100).find_map(|_| settle_slowly(most)).expect("it waits");
        assert!(settling.since >= start + 2 * most + most);
        assert!(settling.allowance_at(settling.since).is_zero());
        assert_eq!(settling.allowance_at(settling.since + most * SHARE), most);
    }

    #[test]
    fn one_that_does_not_come_takes_no_more_than_the_allowance() {
        let mut settling = settling();
        let begin = Instant::now();
        for _ in 0..1000 {
            assert!(!settling.settle(|_| true));
        }
        // It is spent at once, and what accrues meanwhile is a part of that.
        assert!(settling.allowance.is_zero() || settling.allowance < MOST / 2);
        assert!(begin.elapsed() >= MOST);
    }
}
