use std::sync::Arc;

use super::*;
use crate::bridge::layout::Cause;
use crate::reactor::{ConnectionId, Events, Flow, Forward, Link, Memory, ReactorConfig};

/// R11.
#[test]
fn a_consumer_that_takes_nothing_is_given_way_to_so_often_and_no_more() {
    let mut yield_policy = YieldPolicy { is_on: true, ..YieldPolicy::never() };
    let (mut weight, mut given) = (0, 0);
    for _ in 0..2 * PATIENCE {
        given += u32::from(yield_policy.is_due(MIN_YIELD_BYTES, weight));
        weight += 1000;
        yield_policy.handed_over(weight);
    }
    assert_eq!(given, PATIENCE);
    // It takes one.
    assert!(yield_policy.is_due(MIN_YIELD_BYTES, weight - 1000));
    assert!(!yield_policy.is_due(MIN_YIELD_BYTES - 1, 0), "too little");
    assert!(!YieldPolicy::never().is_due(MIN_YIELD_BYTES, 0));
}

/// On one CPU it runs as soon as it is rung for.
#[test]
fn a_consumer_that_takes_all_when_it_is_woken_is_given_way_to_every_time() {
    let link = Arc::new(Link::new());
    let inbox = link.clone();
    let take = move || {
        inbox.inbox.bell().answer();
        while let Some(batch) = inbox.inbox.take() {
            let _wakes_nobody = inbox.inbox.give_back(batch);
        }
    };
    let mut forward = Forward::new(link, &ReactorConfig::default(), Box::new(take));
    forward.yield_policy.is_on = true;
    for _ in 0..2 * PATIENCE {
        forward.claim(MIN_YIELD_BYTES);
        forward.on_closed(ConnectionId { slot: 0, generation: 0 }, Cause::Closed);
        forward.on_turn_end();
        assert_eq!(forward.yield_policy.in_vain, 1);
    }
}
