//! The messages that a topic keeps, the members that get them again, and their memory.

use super::stage::{Settings, Stage};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

fn stage(reactors: usize, settings: Settings) -> (Stage, Client, ConnectionId) {
    let mut stage = Stage::new(reactors, ReactorConfig::default());
    let (client, id) = stage.open();
    stage.topic(1, settings);
    (stage, client, id)
}

fn publish(stage: &mut Stage, numbers: std::ops::RangeInclusive<u32>) {
    numbers.for_each(|n| stage.publish(1, n.to_string().as_bytes()));
}

/// An answer: the request, whether all messages are there, their number, and the position.
fn subscribed(stage: &mut Stage) -> [u32; 4] {
    let answers = stage.take(IN_SUBSCRIBED);
    let [(_, answer)] = &answers[..] else { panic!("{answers:?}") };
    let [request, recovered, replayed, offset, 0] = answer[..] else { panic!("{answer:?}") };
    [request, recovered, replayed, offset]
}

#[test]
fn the_budget_counts_those_that_a_message_is_not_for() {
    for (slow, kept) in [(Slow::Queue as u32, 0), (Slow::CatchUp as u32, 8 * 1000)] {
        let (mut stage, _client, id) = stage(1, [slow, 0, 1000, 0, 0]);
        publish(&mut stage, 1..=1);
        stage.settle();
        let before = stage.reactors[0].topics.histories.used;
        stage.target(1, &[id; 1000], b"");
        publish(&mut stage, 2..=2);
        stage.settle();
        assert_eq!(stage.reactors[0].topics.histories.used, 2 * before + kept);
        stage.about(OUT_TOPIC_END, 1, 0, 0, b"");
        stage.settle();
        stage.expect_nothing_left();
    }
}

/// Messages expire, their offsets do not; the reactor does not wake when nothing will expire.
#[test]
fn messages_expire_and_their_memory_is_freed_without_anybody_asking() {
    let (mut stage, _client, id) = stage(1, [Slow::Queue as u32, 0, 5, 1, 0]);
    publish(&mut stage, 1..=3);
    stage.settle();
    let begun = std::time::Instant::now();
    assert!(stage.reactors[0].topics.deadline().is_some());
    while stage.reactors[0].topics.histories.used > 0 {
        assert!(begun.elapsed() < PATIENCE);
        stage.reactors[0].run_once(None).expect("it wakes by itself");
    }
    assert_eq!(stage.reactors[0].topics.deadline(), None);
    stage.join_since(id, 1, 1, SINCE_OFFSET, 2);
    stage.settle();
    assert_eq!(subscribed(&mut stage), [1, 0, 0, 3], "one is missing");
    stage.join_since(id, 1, 2, SINCE_OFFSET, 3);
    stage.settle();
    assert_eq!(subscribed(&mut stage), [2, 1, 0, 3], "none is missing");
}

/// Topics come and go, and their messages would be kept for long: no list grows with these topics.
#[test]
fn nobody_looks_at_the_history_of_a_topic_that_has_ended() {
    for reactors in [1, 3] {
        let (mut stage, _client, _id) = stage(reactors, [Slow::Queue as u32, 0, 5, 1_000_000, 0]);
        publish(&mut stage, 1..=3);
        stage.settle();
        assert!(stage.reactors.iter().all(|reactor| reactor.topics.deadline().is_some()));
        stage.about(OUT_TOPIC_END, 1, 0, 0, &[]);
        stage.settle();
        stage.expect_nothing_left();
    }
}
