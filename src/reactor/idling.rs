//! Returns the memory of closed connections to the system while there is nothing else to do.
//!
//! An allocator keeps freed memory. That of glibc has a heap per thread and returns only its top,
//! so the memory that compression took for a hundred connections stays for good. A look through all
//! of it takes milliseconds, while other threads that allocate wait. So the allocator is asked only
//! when much memory was freed and nothing has happened for a moment.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

/// Bytes that have to be freed before asking is worthwhile. 8 MiB.
const WORTH: usize = 8 << 20;
/// The time for which nothing must have happened.
const MOMENT: Duration = Duration::from_millis(250);

/// Bytes that have been freed and may be given back.
pub(super) struct Idling {
    give_back: Option<fn()>,
    freed: usize,
    /// The time at which something happened last.
    busy: Instant,
}

impl Idling {
    /// `give_back`: see [`ReactorConfig`](crate::reactor::ReactorConfig).
    pub(super) fn new(give_back: Option<fn()>, now: Instant) -> Self {
        Self { give_back, freed: 0, busy: now }
    }

    pub(super) fn freed(&mut self, bytes: usize) {
        self.freed = self.freed.saturating_add(bytes);
    }

    pub(super) fn disturb(&mut self, now: Instant) {
        self.busy = now;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.freed >= WORTH && self.give_back.is_some()).then(|| self.busy + MOMENT)
    }

    /// Returns memory to the system if that is worthwhile and nothing has happened for long enough.
    pub(super) fn rest(&mut self, now: Instant) {
        if let (Some(give_back), Some(at)) = (self.give_back, self.deadline())
            && at <= now
        {
            self.freed = 0;
            give_back();
        }
    }
}
