//! The progress of the reactor with the data of its sockets, for a thread that must not get ahead
//! of it.

use super::sync::{AtomicU64, Ordering};

/// Written by the reactor's thread alone.
///
/// Odd from the time when the system has reported something until the resulting records are
/// published, even otherwise. So data that a socket had when [`goal`](Self::goal) was called is
/// published when [`has_reached`](Self::has_reached) says so, or, if the system has nothing to
/// report, when [`is_at_work`](Self::is_at_work) says no.
pub struct Pace {
    steps: AtomicU64,
}

impl Pace {
    /// The pace of a reactor that has nothing to do.
    pub fn new() -> Self {
        Self { steps: AtomicU64::new(0) }
    }

    /// Reactor: the system has reported something.
    pub fn begin(&self) {
        self.step(1);
    }

    /// Reactor: the resulting records are published. Without a `begin` since the last time, nothing
    /// changes.
    pub fn end(&self) {
        self.step(0);
    }

    fn step(&self, parity: u64) {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps & 1 != parity {
            // Release: a thread that sees that it is published finds it.
            self.steps.store(steps.wrapping_add(1), Ordering::Release);
        }
    }

    /// Whether something was reported that is not published. The system is to be asked first: its
    /// reports until then count here.
    pub fn is_at_work(&self) -> bool {
        self.steps.load(Ordering::Acquire) & 1 == 1
    }

    /// The number reached once all present data is published: at the end of the next turn that
    /// begins.
    pub fn goal(&self) -> u64 {
        let steps = self.steps.load(Ordering::Acquire);
        steps.wrapping_add(2 + (steps & 1))
    }

    /// Whether the pace has reached a goal.
    pub fn has_reached(&self, goal: u64) -> bool {
        self.steps.load(Ordering::Acquire).wrapping_sub(goal) < u64::MAX / 2
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_the_end_of_a_turn_that_begins_later() {
        let pace = Pace::new();
        let idle = pace.goal();
        pace.end();
        assert!(!pace.is_at_work());
        pace.begin();
        pace.begin();
        assert!(pace.is_at_work());
        let busy = pace.goal();
        pace.end();
        assert!(!pace.is_at_work());
        assert_eq!((pace.has_reached(idle), pace.has_reached(busy)), (true, false));
        pace.begin();
        assert!(!pace.has_reached(busy));
        pace.end();
        assert!(pace.has_reached(busy));
    }
}
