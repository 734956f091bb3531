//! Returns the memory of closed connections to the system while there is nothing else to do.
//!
//! An allocator keeps freed memory. That of glibc has a heap per thread and returns only its top,
//! so the memory that compression took for a hundred connections stays for good. A look through all
//! of it takes milliseconds, while other threads that allocate wait. So the allocator is asked only
//! when much memory was freed and nothing has happened for a moment.

use std::time::{Duration, Instant};

/// Bytes that have to be freed before asking is worthwhile. 8 MiB.
const WORTH: usize = 8 << 20;
/// The time for which nothing must have happened.
const MOMENT: Duration = Duration::from_millis(250);

/// Bytes that have been freed and may be given back.
pub(in crate::reactor) struct Idling {
    give_back: Option<fn()>,
    freed: usize,
    /// The time at which something happened last.
    busy: Instant,
}

impl Idling {
    /// `give_back`: see [`ReactorConfig`](crate::reactor::ReactorConfig).
    pub(in crate::reactor) fn new(give_back: Option<fn()>, now: Instant) -> Self {
        Self { give_back, freed: 0, busy: now }
    }

    /// `bytes` were freed.
    pub(in crate::reactor) fn freed(&mut self, bytes: usize) {
        self.freed = self.freed.saturating_add(bytes);
    }

    /// Something has happened at `now`.
    pub(in crate::reactor) fn disturb(&mut self, now: Instant) {
        self.busy = now;
    }

    /// The time of the next look.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        (self.freed >= WORTH && self.give_back.is_some()).then(|| self.busy + MOMENT)
    }

    /// Returns memory to the system if that is worthwhile and nothing has happened for long enough.
    pub(in crate::reactor) fn rest(&mut self, now: Instant) {
        if let (Some(give_back), Some(at)) = (self.give_back, self.deadline())
            && at <= now
        {
            self.freed = 0;
            give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn much_is_given_back_once_when_nothing_happens() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        fn give_back() {
            CALLS.fetch_add(1, Ordering::Relaxed);
        }
        let calls = || CALLS.load(Ordering::Relaxed);
        let start = Instant::now();
        let mut idling = Idling::new(Some(give_back), start);
        idling.freed(WORTH - 1);
        assert_eq!(idling.deadline(), None, "it is not worth it");
        idling.freed(1);
        assert_eq!(idling.deadline(), Some(start + MOMENT));
        let later = start + MOMENT / 2;
        idling.disturb(later);
        idling.rest(start + MOMENT);
        assert_eq!(calls(), 0, "something has happened meanwhile");
        idling.rest(later + MOMENT);
        idling.rest(later + 2 * MOMENT);
        assert_eq!((calls(), idling.deadline()), (1, None));
    }

    #[test]
    fn nobody_wakes_for_an_allocator_that_gives_nothing_back() {
        let mut idling = Idling::new(None, Instant::now());
        idling.freed(WORTH);
        assert_eq!(idling.deadline(), None);
    }
}
