//! The messages that a topic keeps, the members that get them again, and their memory.

use super::stage::{Settings, Stage, frames, unwords, words};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

const KEEPS_FIVE: Settings = [SLOW_QUEUE, 0, 5, 0, 0];

fn stage(reactors: usize, settings: Settings) -> (Stage, Client, ConnectionId) {
    let mut stage = Stage::new(reactors, ReactorConfig::default());
    let (client, id) = stage.open();
    stage.topic(1, settings);
    (stage, client, id)
}

fn publish(stage: &mut Stage, numbers: std::ops::RangeInclusive<u32>) {
    numbers.for_each(|n| stage.publish(1, n.to_string().as_bytes()));
}

fn numbers(stage: &mut Stage, client: &mut Client, count: usize) -> Vec<u32> {
    let number = |(_, payload): &(u8, Vec<u8>)| std::str::from_utf8(payload).unwrap().parse().unwrap();
    frames(stage, client, count).iter().map(number).collect()
}

/// The fields of an answer: the request, whether all messages are there, their number, and the
/// position.
fn subscribed(stage: &mut Stage) -> [u32; 4] {
    let answers = stage.take(IN_SUBSCRIBED);
    let [(_, answer)] = &answers[..] else { panic!("{answers:?}") };
    let [request, recovered, replayed, offset, 0] = answer[..] else { panic!("{answer:?}") };
    [request, recovered, replayed, offset]
}

#[test]
fn what_is_missing_is_replayed_and_nothing_else() {
    for reactors in [1, 3] {
        // The requested offset, whether it is recovered, and the first message that is replayed.
        let cases = [
            (SINCE_NOW, 0, 0, 9),
            (SINCE_OLDEST, 0, 1, 4),
            (SINCE_OFFSET, 8, 1, 9),
            (SINCE_OFFSET, 6, 1, 7),
            (SINCE_OFFSET, 3, 1, 4),
            (SINCE_OFFSET, 2, 0, 9),
            (SINCE_OFFSET, 0, 0, 9),
            (SINCE_OFFSET, 9, 0, 9),
            (SINCE_OFFSET, u32::MAX, 0, 9),
            (77, 0, 0, 9),
        ];
        for (since, offset, recovered, first) in cases {
            let (mut stage, mut client, id) = stage(reactors, KEEPS_FIVE);
            publish(&mut stage, 1..=8);
            stage.join_since(id, 1, 42, since, offset);
            publish(&mut stage, 9..=12);
            stage.settle();
            let replayed = 9 - first;
            assert_eq!(subscribed(&mut stage), [42, recovered, replayed, 8], "{since} {offset}");
            let got = numbers(&mut stage, &mut client, 4 + replayed as usize);
            assert_eq!(got, (first..=12).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_topic_without_history_replays_nothing_and_a_replay_may_be_had_twice() {
    let (mut stage, mut client, id) = stage(1, [SLOW_QUEUE, 0, 0, 0, 0]);
    publish(&mut stage, 1..=1);
    stage.join_since(id, 1, 1, SINCE_OLDEST, 0);
    stage.settle();
    assert_eq!(subscribed(&mut stage), [1, 0, 0, 0]);
    stage.join_since(id, 8, 2, SINCE_OLDEST, 0);
    stage.settle();
    assert_eq!(subscribed(&mut stage), [2, 0, 0, 0], "there is no such topic");
    stage.topic(2, KEEPS_FIVE);
    stage.about(OUT_PUBLISH, 2, OUT_FLAG_FIN, PUBLISH_TEXT, b"7");
    for request in [3, 4] {
        stage.join_since(id, 2, request, SINCE_OLDEST, 0);
        stage.settle();
        assert_eq!(subscribed(&mut stage), [request, 1, 1, 1]);
    }
    assert_eq!(numbers(&mut stage, &mut client, 2), [7, 7]);
    stage.publish(1, b"8");
    assert_eq!(
        {
            stage.settle();
            numbers(&mut stage, &mut client, 1)
        },
        [8]
    );
}

#[test]
fn a_history_is_reported_with_its_offsets() {
    let (mut stage, _client, _) = stage(3, KEEPS_FIVE);
    publish(&mut stage, 1..=7);
    stage.about(OUT_PUBLISH, 1, OUT_FLAG_FIN, 0, &[0xff; 5]);
    let ask = |stage: &mut Stage, topic, since, offset, most| {
        let payload = words(&[9, since, offset, 0, most]);
        stage.about(OUT_HISTORY, topic, 0, 0, &payload);
        stage.settle();
        let all = std::mem::take(&mut stage.reported);
        let [answer] = &all[..] else { panic!("one, from the first reactor: {all:?}") };
        assert_eq!((answer.slot, answer.kind), (TOPIC_SLOT, IN_HISTORY));
        answer.payload.clone()
    };
    let answer = ask(&mut stage, 1, SINCE_OFFSET, 5, 100);
    let (head, entries) = answer.split_at(4 * HISTORY_WORDS);
    assert_eq!(unwords(head), [9, 1, 3, 8, 0]);
    let expected: [(u32, u32, &[u8]); 3] =
        [(6, 1, b"6\0\0\0"), (7, 1, b"7\0\0\0"), (8, 0, &[255, 255, 255, 255, 255, 0, 0, 0])];
    let mut rest = entries;
    for (offset, flags, payload) in expected {
        let (words, behind) = rest.split_at(4 * ENTRY_WORDS);
        let len = if flags == 1 { 1 } else { 5 };
        assert_eq!(unwords(words), [offset, 0, flags, len]);
        assert!(behind.starts_with(payload));
        rest = &behind[payload.len()..];
    }
    assert!(rest.is_empty());
    let cases = [
        (1, SINCE_OLDEST, 0, 100, [9, 1, 5, 8, 0]),
        (1, SINCE_OLDEST, 0, 2, [9, 1, 2, 8, 0]),
        (1, SINCE_OFFSET, 1, 100, [9, 0, 0, 8, 0]),
        (1, SINCE_OFFSET, 8, 100, [9, 1, 0, 8, 0]),
        (1, SINCE_NOW, 0, 100, [9, 0, 0, 8, 0]),
        (5, SINCE_OLDEST, 0, 100, [9, 0, 0, 0, 0]),
    ];
    for (topic, since, offset, most, head) in cases {
        assert_eq!(unwords(&ask(&mut stage, topic, since, offset, most))[..HISTORY_WORDS], head);
    }
}

#[test]
fn the_budget_takes_from_the_topic_that_was_published_to_least_recently() {
    let (mut stage, _client, _) = stage(1, [SLOW_QUEUE, 0, 1000, 0, 0]);
    stage.topic(2, [SLOW_QUEUE, 0, 1000, 0, 0]);
    let count = |stage: &mut Stage, topic| {
        stage.about(OUT_HISTORY, topic, 0, 0, &words(&[1, SINCE_OLDEST, 0, 0, 1000]));
        stage.settle();
        stage.take(IN_HISTORY)[0].1[HISTORY_COUNT]
    };
    stage.about(OUT_HISTORY_BUDGET, 0, 0, 0, &words(&[100_000, 0]));
    for _ in 0..50 {
        stage.about(OUT_PUBLISH, 2, OUT_FLAG_FIN, 0, &[0; 1000]);
    }
    stage.publish(1, &[b'x'; 1000]);
    assert_eq!([count(&mut stage, 1), count(&mut stage, 2)], [1, 50]);
    for _ in 1..60 {
        stage.publish(1, &[b'x'; 1000]);
    }
    let [first, second] = [count(&mut stage, 1), count(&mut stage, 2)];
    assert!(first == 60 && (1..40).contains(&second), "{first} {second}");
    for _ in 60..200 {
        stage.publish(1, &[b'x'; 1000]);
    }
    let [first, second] = [count(&mut stage, 1), count(&mut stage, 2)];
    assert!((60..100).contains(&first) && second == 0, "{first} {second}");
    assert!(stage.reactors[0].topics.histories.used <= 100_000);
    stage.about(OUT_HISTORY_BUDGET, 0, 0, 0, &words(&[0, 0]));
    assert_eq!([count(&mut stage, 1), count(&mut stage, 2)], [0, 0]);
    stage.about(OUT_TOPIC_END, 1, 0, 0, b"");
    stage.about(OUT_TOPIC_END, 2, 0, 0, b"");
    stage.settle();
    stage.expect_nothing_left();
}

#[test]
fn the_budget_counts_those_that_a_message_is_not_for() {
    for (slow, kept) in [(SLOW_QUEUE, 0), (SLOW_CATCH_UP, 8 * 1000)] {
        let (mut stage, _client, id) = stage(1, [slow, 0, 1000, 0, 0]);
        publish(&mut stage, 1..=1);
        stage.settle();
        let before = stage.reactors[0].topics.histories.used;
        stage.target(1, 0, &[id; 1000], b"");
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
    let (mut stage, _client, id) = stage(1, [SLOW_QUEUE, 0, 5, 1, 0]);
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
        let (mut stage, _client, _id) = stage(reactors, [SLOW_QUEUE, 0, 5, 1_000_000, 0]);
        publish(&mut stage, 1..=3);
        stage.settle();
        assert!(stage.reactors.iter().all(|reactor| reactor.topics.deadline().is_some()));
        stage.about(OUT_TOPIC_END, 1, 0, 0, &[]);
        stage.settle();
        stage.expect_nothing_left();
    }
}
