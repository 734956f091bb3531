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
