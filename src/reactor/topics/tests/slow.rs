//! Members that do not read: the effect of each policy, and that the others do not notice.

use super::super::slow::Behind;
use super::stage::{Inflow, Settings, Stage, frames};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ListenerConfig, ReactorConfig};

/// Bytes of a message.
const LEN: usize = 1000;
const LIMIT: usize = 10_000;

/// A stage with one member that does not read, and one that does.
struct Stalled {
    stage: Stage,
    stalled: (Client, ConnectionId),
    live: (Client, ConnectionId),
    inflow: Inflow,
    published: u32,
}

/// A message that names its number.
fn message(n: u32) -> Vec<u8> {
    let mut message = format!("{n:08}").into_bytes();
    message.resize(LEN, b'.');
    message
}

fn number((_, payload): &(u8, Vec<u8>)) -> u32 {
    std::str::from_utf8(&payload[..8]).unwrap().parse().unwrap()
}

impl Stalled {
    fn new(slow: u32, history: u32) -> Self {
        let mut stage = Stage::with(1, ReactorConfig::default(), ListenerConfig::default(), Some(4 << 10));
        let (stalled, live) = (stage.open_narrow(), stage.open());
        let settings: Settings = [slow, LIMIT as u32, history, 0, 0];
        stage.topic(1, settings);
        stage.join(stalled.1, 1);
        stage.join(live.1, 1);
        Self { stage, stalled, live, inflow: Inflow::default(), published: 0 }
    }

    /// Publishes a message, which the live member reads. Returns what waits for the stalled one.
    fn publish(&mut self, count: u32, key: impl Fn(u32) -> Vec<u8>) -> usize {
        for _ in 0..count {
            let n = self.published;
            self.published += 1;
            self.stage.target(1, &[], &key(n));
            self.stage.publish(1, &message(n));
            self.stage.submit();
            let mut got = Vec::new();
            while got.is_empty() {
                self.stage.turn();
                got = self.inflow.read(&mut self.live.0, usize::MAX);
            }
            assert_eq!(got.iter().map(number).collect::<Vec<_>>(), [n], "the live one gets each at once");
        }
        self.stage.settle();
        let id = self.stalled.1;
        self.stage.reactors[0].connections.get(id).unwrap().write.waiting()
    }

    /// The stalled member reads all messages, the last of which is `last`.
    fn read(&mut self, last: u32) -> Vec<u32> {
        let (mut inflow, mut got) = (Inflow::default(), Vec::new());
        let begun = std::time::Instant::now();
        while got.last() != Some(&last) {
            assert!(begun.elapsed() < PATIENCE, "{got:?}");
            self.stage.turn();
            got.extend(inflow.read(&mut self.stalled.0, usize::MAX).iter().map(number));
        }
        self.stage.settle();
        got
    }

    fn dropped(&mut self) -> u32 {
        let dropped = self.stage.take(IN_DROPPED);
        let counts = dropped.into_iter().map(|(slot, words)| {
            assert_eq!((slot, words[DROPPED_TOPIC], words.len()), (self.stalled.1.slot, 1, 2));
            words[DROPPED_COUNT]
        });
        counts.sum()
    }
}

/// Memory, not bytes of frames: short ones are gathered in buffers that grow by doubling, and one
/// that others are sent too is in memory whole.
#[test]
#[cfg_attr(windows, ignore = "Windows takes more from one send than a socket buffers")]
fn a_member_that_does_not_read_takes_twice_the_limit_and_a_message_at_most() {
    for slow in [Slow::Drop as u32, Slow::Latest as u32, Slow::CatchUp as u32] {
        for (limit, len) in
            [(10_000, 20), (10_000, 2000), (100_000, 100), (65_536, 16_384), (65_536, 200_000)]
        {
            let mut stage =
                Stage::with(1, ReactorConfig::default(), ListenerConfig::default(), Some(4 << 10));
            let (client, id) = stage.open_narrow();
            stage.topic(1, [slow, limit as u32, 4, 0, 0]);
            stage.join(id, 1);
            // More than the limit plus the bytes that the kernel takes.
            for _ in 0..(8 * limit + 1_000_000) / len {
                stage.publish(1, &vec![b'x'; len]);
                if stage.chunk.bytes.len() > limit {
                    stage.settle();
                }
            }
            stage.settle();
            let outgoing = &stage.reactors[0].connections.get(id).unwrap().write.outgoing;
            let (bytes, memory) = (outgoing.len(), outgoing.memory());
            assert!((limit..=limit + len + 10).contains(&bytes), "{bytes} bytes, {limit} and {len}");
            assert!(memory <= 2 * limit + len + 10, "{memory} bytes of memory, {limit} and {len}");
            drop(client);
        }
    }
}

/// Reports are coalesced: one report for all messages that were dropped in a turn.
#[test]
fn drops_of_one_turn_are_reported_together() {
    let mut slow = Stalled::new(Slow::Drop as u32, 0);
    slow.publish(60, |_| vec![]);
    let slot = slow.stalled.1.slot;
    // The kernel may have taken some of what waited in between, and there is room for as much.
    for round in 0.. {
        slow.dropped();
        for n in 60..70 {
            slow.stage.publish(1, &message(n));
        }
        slow.stage.settle();
        let reports = slow.stage.take(IN_DROPPED);
        assert_eq!(frames(&mut slow.stage, &mut slow.live.0, 10).len(), 10);
        if reports == [(slot, vec![1, 10])] {
            return;
        }
        assert!(round < 5, "{reports:?}");
    }
}

/// A member does not get a message that is not for it, not even when it catches up.
#[test]
fn catch_up_leaves_out_what_was_not_for_the_member() {
    let mut slow = Stalled::new(Slow::CatchUp as u32, 1000);
    slow.publish(100, |_| vec![]);
    let id = slow.stalled.1;
    slow.stage.target(1, &[id], b"");
    slow.stage.publish(1, &message(100));
    slow.stage.settle();
    frames(&mut slow.stage, &mut slow.live.0, 1);
    slow.published = 101;
    slow.publish(1, |_| vec![]);
    let expected: Vec<_> = (0..100).chain([101]).collect();
    assert_eq!(slow.read(101), expected);
}

/// The messages of one turn are more than the limit, but the kernel takes them.
#[test]
fn many_messages_of_one_turn_make_nobody_slow() {
    for policy in [Slow::Drop as u32, Slow::Latest as u32, Slow::CatchUp as u32, Slow::Close as u32] {
        let mut stage = Stage::new(1, ReactorConfig::default());
        let (mut client, id) = stage.open();
        stage.topic(1, [policy, 2000, 1, 0, 0]);
        stage.join(id, 1);
        (0..50).for_each(|n| stage.publish(1, &message(n)));
        stage.settle();
        let got: Vec<_> = frames(&mut stage, &mut client, 50).iter().map(number).collect();
        assert_eq!(got, (0..50).collect::<Vec<_>>());
        assert!(stage.take(IN_DROPPED).is_empty() && stage.take(IN_GAP).is_empty());
    }
}

#[test]
fn more_keys_than_fit_drop_the_oldest() {
    let (most, extra) = (crate::reactor::config::LATEST_KEYS as u32, 5);
    let mut stage = Stage::with(1, ReactorConfig::default(), ListenerConfig::default(), Some(4 << 10));
    let stalled = stage.open_narrow();
    stage.topic(1, [Slow::Latest as u32, LIMIT as u32, 0, 0, 0]);
    stage.join(stalled.1, 1);
    let mut published = 0;
    let mut publish = |stage: &mut Stage, len: usize| {
        published += 1;
        stage.target(1, &[], &u32::to_le_bytes(published));
        stage.publish(1, &vec![b'.'; len]);
        stage.submit();
        stage.settle();
    };
    let kept = |stage: &Stage| {
        let behind = stage.reactors[0].topics.joined.get(&stalled.1)?.behind.as_ref()?.get(&1)?;
        if let Behind::Latest(latest) = behind { Some(latest.len()) } else { None }
    };
    while kept(&stage).is_none() {
        publish(&mut stage, 100_000);
    }
    (0..most + extra).for_each(|_| publish(&mut stage, 1));
    assert_eq!(kept(&stage), Some(most as usize));
    (0..20).for_each(|_| publish(&mut stage, 1 << 20));
    assert_eq!(kept(&stage), Some(15), "the oldest go");
}
