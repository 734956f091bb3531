//! Members that do not read: the memory of what waits for them.

use super::super::slow::Backlog;
use super::stage::{Stage, frames};
use crate::bridge::layout::*;
use crate::reactor::{ListenerConfig, ReactorConfig};

/// Bytes of a message.
const LEN: usize = 1000;
const LIMIT: usize = 10_000;

/// A message that names its number.
fn message(n: u32) -> Vec<u8> {
    let mut message = format!("{n:08}").into_bytes();
    message.resize(LEN, b'.');
    message
}

fn number((_, payload): &(u8, Vec<u8>)) -> u32 {
    std::str::from_utf8(&payload[..8]).unwrap().parse().unwrap()
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
            let write = &stage.reactors[0].connections.get(id).unwrap().write;
            let (bytes, memory) = (write.queued(), write.sizes().2);
            assert!((limit..=limit + len + 10).contains(&bytes), "{bytes} bytes, {limit} and {len}");
            assert!(memory <= 2 * limit + len + 10, "{memory} bytes of memory, {limit} and {len}");
            drop(client);
        }
    }
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
        let behind = stage.reactors[0].topics.joined.get(&stalled.1)?.backlogs.as_ref()?.get(&1)?;
        if let Backlog::Latest(latest) = behind { Some(latest.len()) } else { None }
    };
    while kept(&stage).is_none() {
        publish(&mut stage, 100_000);
    }
    (0..most + extra).for_each(|_| publish(&mut stage, 1));
    assert_eq!(kept(&stage), Some(most as usize));
    (0..20).for_each(|_| publish(&mut stage, 1 << 20));
    assert_eq!(kept(&stage), Some(15), "the oldest go");
}
