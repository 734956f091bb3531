//! Histories that go on after messages that the reactor never had.

use super::stage::{Inflow, PLAIN, Settings, Stage, frames, words};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ListenerConfig, ReactorConfig};

const KEEPS: Settings = [Slow::Queue as u32, 0, 3, 0, 0];

fn restart(stage: &mut Stage, top: u32, is_same: bool) {
    stage.about(OUT_RESTART, 1, 0, 0, &words(&[top, 0, is_same.into()]));
    stage.settle();
}

/// Each member's gap: the first and the last offset.
fn gaps(stage: &mut Stage) -> Vec<[u32; 2]> {
    let told = stage.take(IN_GAP);
    let pair = |(_, words): &(u32, Vec<u32>)| match words[..] {
        [1, from, 0, to, 0] => [from, to],
        _ => panic!("{words:?}"),
    };
    told.iter().map(pair).collect()
}

#[test]
fn members_are_told_what_they_lack_and_the_next_message_follows() {
    for reactors in [1, 3] {
        let mut stage = Stage::new(reactors, ReactorConfig::default());
        let (mut client, id) = stage.open();
        stage.topic(1, KEEPS);
        stage.join(id, 1);
        (1..=4).for_each(|n| stage.publish(1, n.to_string().as_bytes()));
        restart(&mut stage, 9, true);
        assert_eq!(gaps(&mut stage), [[5, 9]]);
        stage.publish(1, b"10");
        stage.settle();
        assert_eq!(frames(&mut stage, &mut client, 5).last().unwrap().1, b"10");
        // What was before the gap cannot be had again.
        for (since, recovered, replayed) in [(3, 0, 0), (8, 0, 0), (9, 1, 1), (10, 1, 0)] {
            stage.join_since(id, 1, 7, SINCE_OFFSET, since);
            stage.settle();
            let answers = stage.take(IN_SUBSCRIBED);
            assert_eq!(answers[0].1, [7, recovered, replayed, 10, 0], "{since}");
        }
        restart(&mut stage, 10, true);
        assert_eq!(gaps(&mut stage), [] as [[u32; 2]; 0], "nothing is missing");
        restart(&mut stage, 2, false);
        assert_eq!(gaps(&mut stage), [[0, 2]], "another history");
        stage.about(OUT_TOPIC_END, 1, 0, 0, b"");
        stage.settle();
        stage.expect_nothing_left();
    }
}

#[test]
fn members_of_a_topic_without_history_are_told_that_something_may_be_missing() {
    let mut stage = Stage::new(1, ReactorConfig::default());
    let (_client, id) = stage.open();
    stage.topic(1, PLAIN);
    stage.join(id, 1);
    restart(&mut stage, 0, false);
    assert_eq!(gaps(&mut stage), [[0, 0]]);
    stage.about(OUT_RESTART, 2, 0, 0, &words(&[0, 0, 0]));
    stage.about(OUT_RESTART, 1, 0, 0, b"short");
    stage.settle();
    assert_eq!(gaps(&mut stage), [] as [[u32; 2]; 0], "no such topic, no such record");
}

/// It lacks more than the others: all from its cursor on.
#[test]
fn a_member_that_is_behind_is_told_once_and_goes_on_with_the_next_message() {
    for (is_same, gap) in [(true, [3, 20]), (false, [0, 20])] {
        let listening = ListenerConfig::default();
        let mut stage = Stage::with(1, ReactorConfig::default(), listening, Some(4 << 10));
        let (mut client, id) = stage.open_narrow();
        stage.topic(1, [Slow::CatchUp as u32, 100_000, 100, 0, 0]);
        stage.join(id, 1);
        let long = vec![b'.'; 200_000];
        (1..=8).for_each(|_| stage.publish(1, &long));
        stage.settle();
        restart(&mut stage, 20, is_same);
        let told = gaps(&mut stage);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0][1], gap[1]);
        let sent = if is_same { told[0][0] - 1 } else { 0 };
        assert!(!is_same || (1..8).contains(&sent), "it was behind: {told:?}");
        stage.publish(1, b"21");
        stage.settle();
        let (mut inflow, mut got) = (Inflow::default(), Vec::new());
        let begun = std::time::Instant::now();
        while got.last().is_none_or(|(_, payload): &(u8, Vec<u8>)| payload != b"21") {
            assert!(begun.elapsed() < PATIENCE, "{} came", got.len());
            stage.turn();
            got.extend(inflow.read(&mut client, usize::MAX));
        }
        assert!(!is_same || got.len() as u32 == sent + 1, "{} came, {told:?}", got.len());
        assert_eq!(gaps(&mut stage), [] as [[u32; 2]; 0], "told once");
    }
}
