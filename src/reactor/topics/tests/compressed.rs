//! Messages of topics for members with permessage-deflate: the share of a turn, and the memory of
//! compressed forms beside histories.

use super::stage::{Inflow, Settings, Stage, words};
use crate::bridge::layout::*;
use crate::engine::deflate;
use crate::reactor::config::{COMPRESS_BUDGET, COMPRESS_SLICE};
use crate::reactor::tests::client::SWITCHED;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, DeflateConfig, ListenerConfig, ReactorConfig};

const KEEPS: Settings = [Slow::Queue as u32, 0, 100_000, 0, 0];
/// Commands are applied twice in a turn, each time with a budget for messages to many.
const MOST_IN_TURN: u64 = 4 * COMPRESS_BUDGET as u64;

fn stage() -> Stage {
    let settings = deflate::Settings { threshold: 0, ..deflate::Settings::default() };
    let deflate = Some(DeflateConfig { settings, ..DeflateConfig::default() });
    Stage::with(1, ReactorConfig::default(), ListenerConfig { deflate, ..ListenerConfig::default() }, None)
}

/// A connection that keeps no context for what it is sent, with this window.
fn open(stage: &mut Stage, window_bits: u8) -> (Client, ConnectionId) {
    let extension = format!(
        "\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
         server_max_window_bits={window_bits}\r\n\r\n"
    );
    let [request, answer] = [UPGRADE, SWITCHED].map(|text| text.replace("\r\n\r\n", &extension));
    stage.open_with(Client::connect, &request, &answer)
}

/// Half of it is left when it is compressed.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed << 1 | 1;
    let mut digit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b"0123456789abcdef"[(state >> 20) as usize % 16]
    };
    std::iter::repeat_with(&mut digit).take(len).collect()
}

/// Turns the stage until the client has had `count` messages. Returns the number of turns.
fn receive(stage: &mut Stage, client: &mut Client, count: usize) -> usize {
    stage.submit();
    let begun = std::time::Instant::now();
    let (mut inflow, mut got, mut turns) = (Inflow::default(), 0, 0);
    while got < count {
        let before = stage.reactors[0].metrics.tally.compressed_from;
        stage.turn();
        turns += 1;
        let compressed = stage.reactors[0].metrics.tally.compressed_from - before;
        assert!(compressed <= MOST_IN_TURN, "{compressed} B compressed in a turn");
        let frames = inflow.read(client, usize::MAX);
        assert!(frames.iter().all(|(first, _)| *first == 0xc1));
        got += frames.len();
        assert!(begun.elapsed() < PATIENCE, "{got} of {count} came");
    }
    assert_eq!(got, count);
    turns
}

#[test]
fn a_history_is_compressed_some_in_each_turn() {
    for slow in [Slow::Queue as u32, Slow::CatchUp as u32] {
        for len in [1000, COMPRESS_SLICE, COMPRESS_SLICE + 1] {
            let mut stage = stage();
            stage.topic(1, [slow, 1 << 20, 100_000, 0, 0]);
            let count = (5 << 18) / len;
            (0..count).for_each(|n| stage.publish(1, &text(n as u64, len)));
            stage.settle();
            for bits in [15, 10] {
                let (mut client, id) = open(&mut stage, bits);
                stage.join_since(id, 1, 0, SINCE_OLDEST, 0);
                receive(&mut stage, &mut client, count);
            }
        }
    }
}

#[test]
fn messages_are_compressed_some_in_each_turn() {
    for len in [1000, COMPRESS_BUDGET] {
        let mut stage = stage();
        stage.topic(1, [Slow::Queue as u32, 0, 0, 0, 0]);
        let mut members: Vec<_> = [15, 15, 9].map(|bits| open(&mut stage, bits)).into();
        members.iter().for_each(|(_, id)| stage.join(*id, 1));
        let count = (5 << 18) / len;
        (0..count).for_each(|n| stage.publish(1, &text(n as u64, len)));
        receive(&mut stage, &mut members[0].0, count);
        // Each form is made once for all with its parameters.
        while Inflow::default().read(&mut members[2].0, usize::MAX).is_empty() {
            stage.turn();
        }
        stage.settle();
        assert_eq!(stage.reactors[0].metrics.tally.compressed_from, (2 * count * len) as u64);
    }
    // A longer one is compressed for each connection, a slice at a time.
    for len in [COMPRESS_BUDGET + 1, 1 << 20] {
        let mut stage = stage();
        stage.topic(1, [Slow::Queue as u32, 0, 0, 0, 0]);
        let (mut client, id) = open(&mut stage, 15);
        stage.join(id, 1);
        (0..4).for_each(|n| stage.publish(1, &text(n, len)));
        let turns = receive(&mut stage, &mut client, 4);
        assert!(turns * 2 * COMPRESS_BUDGET >= 4 * len, "{turns} turns");
    }
}

#[test]
fn compressed_forms_of_a_history_go_before_any_message() {
    const BUDGET: usize = 400_000;
    let mut stage = stage();
    (1..=3).for_each(|topic| stage.topic(topic, KEEPS));
    stage.about(OUT_HISTORY_BUDGET, 0, 0, 0, &words(&[BUDGET as u32, 0]));
    for n in 0..200 {
        stage.publish(1 + n % 2, &text(n.into(), 1000));
    }
    stage.settle();
    let count = |stage: &mut Stage, topic| {
        stage.about(OUT_HISTORY, topic, 0, 0, &words(&[1, SINCE_OLDEST, 0, 0, 1000]));
        stage.settle();
        stage.take(IN_HISTORY)[0].1[HISTORY_COUNT]
    };
    let plain = stage.reactors[0].topics.histories.used;
    for bits in 9..=15 {
        let (mut client, id) = open(&mut stage, bits);
        for topic in [1, 2] {
            stage.join_since(id, topic, 0, SINCE_OLDEST, 0);
            receive(&mut stage, &mut client, 100);
            let used = stage.reactors[0].topics.histories.used;
            assert!(used <= BUDGET, "{used}");
        }
        assert!(stage.reactors[0].topics.histories.used > plain, "forms are kept where there is room");
        stage.publish(3, b"x");
        assert_eq!([1, 2].map(|topic| count(&mut stage, topic)), [100, 100]);
        client.reset();
    }
    // Messages that compress as they come give up their forms too, and then the oldest go.
    let (_client, id) = open(&mut stage, 15);
    stage.join(id, 3);
    for n in 0..500 {
        stage.publish(3, &text(n, 1000));
        stage.submit();
        stage.turn();
        assert!(stage.reactors[0].topics.histories.used <= BUDGET);
    }
    assert_eq!([1, 2].map(|topic| count(&mut stage, topic)), [0, 0]);
    assert!(count(&mut stage, 3) > 300);
    (1..=3).for_each(|topic| stage.about(OUT_TOPIC_END, topic, 0, 0, b""));
    stage.settle();
    assert_eq!(stage.reactors[0].topics.histories.used, 0);
}
