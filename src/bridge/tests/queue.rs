use std::sync::Arc;

use crate::bridge::queue::Queue;

#[test]
fn what_was_not_consumed_is_dropped() {
    let value = Arc::new(());
    let queue = Queue::new();
    (0..5).for_each(|_| queue.push(Arc::clone(&value)));
    let mut taken = queue.take_all();
    let first = taken.next();
    assert_eq!(Arc::strong_count(&value), 6);
    drop(taken);
    assert_eq!(Arc::strong_count(&value), 2);
    drop(first);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_queue_drops_what_nobody_took() {
    let value = Arc::new(());
    let queue = Queue::new();
    // Long enough to overflow the stack if nodes dropped each other.
    (0..if cfg!(miri) { 500 } else { 200_000 }).for_each(|_| queue.push(Arc::clone(&value)));
    drop(queue);
    assert_eq!(Arc::strong_count(&value), 1);
}
