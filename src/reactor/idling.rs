//! Returns the memory of closed connections to the system while there is nothing else to do.
//!
//! An allocator keeps freed memory. glibc's has a heap per thread and returns only its top, so what
//! compression took for a hundred connections stays for good. Searching it takes milliseconds, in
//! which other threads cannot allocate. So the allocator is asked only when much was freed and
//! nothing has happened for a moment.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

/// Freed bytes that make asking worthwhile.
const WORTH: usize = 8 << 20;
/// How long nothing must have happened.
const MOMENT: Duration = Duration::from_millis(250);

pub(super) struct Idling {
    give_back: Option<fn()>,
    freed: usize,
    /// When something happened last.
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

    pub(super) fn rest(&mut self, now: Instant) {
        if let (Some(give_back), Some(at)) = (self.give_back, self.deadline())
            && at <= now
        {
            self.freed = 0;
            give_back();
        }
    }
}
