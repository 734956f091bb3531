//! Wakes the other side only when needed: at most one ring until it has answered, none while it is
//! awake.
//!
//! Both types are one flag that is only ever exchanged: see "Order" in the [bridge](super). Looking
//! first and exchanging only if it seems useful, or storing without reading the old value, loses
//! wake-ups; the models fail on each.

use super::sync::{AtomicBool, Ordering};

/// To JavaScript: a ring is outstanding from `ring` to `answer`.
#[derive(Default)]
pub struct Bell {
    rung: AtomicBool,
}

impl Bell {
    /// Producer, after it made work visible. False: a ring is under way, and its answer will find
    /// the work.
    #[must_use = "true is an obligation to ring the real bell"]
    pub fn ring(&self) -> bool {
        !self.rung.swap(true, Ordering::AcqRel)
    }

    /// Consumer, before it looks for work.
    pub fn answer(&self) {
        self.rung.swap(false, Ordering::AcqRel);
    }
}

/// To the reactor: a producer wakes it only if it sleeps.
///
/// The reactor's turn, with `queue` for whatever the producers fill:
///
/// ```text
/// sleep.prepare()
/// poll(if queue.is_empty() { timeout } else { 0 })      -- the check comes after prepare
/// sleep.awake()
/// handle queue.take_all()                               -- and this after awake
/// ```
///
/// A reactor that polls without blocking does not prepare; it looks at the queue itself.
#[derive(Default)]
pub struct Sleep {
    asleep: AtomicBool,
}

impl Sleep {
    /// Reactor, before it looks at its queue for the last time and blocks.
    pub fn prepare(&self) {
        self.asleep.swap(true, Ordering::AcqRel);
    }

    /// Reactor, before it looks at its queue.
    pub fn awake(&self) {
        self.asleep.swap(false, Ordering::AcqRel);
    }

    /// Producer, after its push. False: the reactor will look at its queue before it blocks, or
    /// another producer is waking it.
    #[must_use = "true is an obligation to wake the reactor"]
    pub fn should_wake(&self) -> bool {
        self.asleep.swap(false, Ordering::AcqRel)
    }
}
