use super::*;

use std::time::{Duration, Instant};

/// Searching all connections for each that is ended would take 10 times as long.
#[test]
fn many_that_have_the_same_are_ended_as_fast_as_few() {
    let is_linear = || end_all(10_000) < 5 * (0..10).map(|_| end_all(1_000)).sum::<Duration>();
    // The machine may stop either of them: a round in which it stops neither is enough.
    assert!((0..5).any(|_| is_linear()));
}

#[expect(clippy::disallowed_methods, reason = "a test has a clock")]
fn end_all(connections: u32) -> Duration {
    let begun = Instant::now();
    let mut budget = Budget::new(10);
    for slot in 0..connections {
        budget.set(ConnectionId { slot, generation: 1 }, 10);
    }
    budget.set(ConnectionId { slot: 7, generation: 1 }, 11);
    let mut ended = Vec::new();
    while let Some(id) = budget.worst() {
        budget.set(id, 0);
        ended.push(id.slot);
    }
    assert_eq!((ended.len(), ended.first()), (connections as usize - 1, Some(&7)));
    begun.elapsed()
}

#[test]
fn a_connection_of_which_nothing_waits_any_more_does_not_count() {
    let [one, other] = [1, 2].map(|slot| ConnectionId { slot, generation: 1 });
    let mut budget = Budget::new(10);
    for id in [one, other, one] {
        budget.set(id, 10);
        assert_eq!(budget.worst(), None);
        budget.set(id, 0);
    }
    assert!(budget.bytes.is_empty() && budget.ranks.is_empty());
}
