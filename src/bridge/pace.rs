//! The reactor's progress with its sockets, for a thread that must not get ahead of it.

use super::sync::{AtomicU64, Ordering};

/// Written by the reactor's thread alone.
///
/// Odd from when the system reports something until its records are published. So data that a
/// socket had at `goal` is published when `has_reached` says so, or, if the system has nothing to
/// report, when `is_at_work` says no.
pub struct Pace {
    steps: AtomicU64,
}

impl Pace {
    pub fn new() -> Self {
        Self { steps: AtomicU64::new(0) }
    }

    /// Reactor: the system has reported something.
    pub fn begin(&self) {
        self.step(1);
    }

    /// Reactor: its records are published. Without a `begin` before, nothing changes.
    pub fn end(&self) {
        self.step(0);
    }

    fn step(&self, parity: u64) {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps & 1 != parity {
            // Release: a thread that sees this finds the records.
            self.steps.store(steps.wrapping_add(1), Ordering::Release);
        }
    }

    /// Whether something reported is not published. Ask the system first.
    pub fn is_at_work(&self) -> bool {
        self.steps.load(Ordering::Acquire) & 1 == 1
    }

    /// Reached when all present data is published: at the end of the next turn that begins.
    pub fn goal(&self) -> u64 {
        let steps = self.steps.load(Ordering::Acquire);
        steps.wrapping_add(2 + (steps & 1))
    }

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
