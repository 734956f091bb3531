//! Flow control across threads: what happens when the other side does not keep up.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use super::bridge::{Js, forward};
use super::*;
use crate::bridge::layout::*;
use crate::bridge::limits::BATCH_BYTES;
use crate::reactor::ReactorConfig;
use crate::reactor::config::READ_BUDGET;

/// Writes numbered messages of 1000 bytes until more than `least` bytes wait and the server takes no more for a while;
/// returns how many, and what is missing of the last.
fn fill(client: &mut Client, js: &Js, least: usize) -> (u32, Vec<u8>) {
    let begun = Instant::now();
    client.0.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    for n in 0_u32.. {
        assert!(n < 64_000, "nothing holds the peer back");
        let message = frame(0x82, Some([1, 2, 3, 4]), &n.to_be_bytes().repeat(250));
        let mut at = 0;
        while at < message.len() {
            match client.0.write(&message[at..]) {
                Ok(len) => at += len,
                // It may not have had its turn.
                Err(_stuck) if js.link.inbox.weight() <= least => {
                    assert!(begun.elapsed() < PATIENCE, "it reads no more")
                }
                Err(_stuck) => {
                    client.0.set_write_timeout(Some(PATIENCE)).unwrap();
                    return (n + 1, message[at..].to_vec());
                }
            }
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn r11_above_the_connection_mark_nothing_is_read_and_nothing_is_lost() {
    let mark = 100_000;
    let js = Js::start(ReactorConfig { connection_mark: mark, ..ReactorConfig::default() });
    let mut client = Client::open(js.address);
    js.opened(IN_OPEN);
    for _ in 0..3 {
        let (count, rest) = fill(&mut client, &js, mark / 2);
        let weight = js.link.inbox.weight();
        // Whole rooms are counted: one that is full, and one that has begun.
        assert!(weight > mark / 2 && weight < mark + READ_BUDGET + 2 * BATCH_BYTES, "{weight} bytes wait");
        let mut writer = client.0.try_clone().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(&rest).expect("the server reads again"));
        for (n, record) in (0..count).zip(js.records(count as usize)) {
            assert!(record.payload == n.to_be_bytes().repeat(250), "message {n}");
        }
        writing.join().unwrap();
    }
}

#[test]
fn r11_above_the_total_mark_quiet_connections_are_still_read() {
    let js = Js::start(ReactorConfig { total_mark: 1_000_000, ..ReactorConfig::default() });
    let mut quiet = Client::open(js.address);
    js.opened(IN_OPEN);
    let mut floods: Vec<Client> = (0..2).map(|_| Client::open(js.address)).collect();
    js.records(2);
    let filled: Vec<_> = floods.iter_mut().map(|flood| fill(flood, &js, 1_000_000)).collect();
    assert!(js.link.inbox.weight() > 1_000_000);
    assert!(js.link.inbox.weight() < 1_000_000 + 3 * READ_BUDGET + 200_000);
    // Nobody drains, and yet the ping of the quiet one is answered.
    quiet.send("89 81 00000000 'p'  81 81 00000000 'x'");
    quiet.expect("8a 01 'p'");
    let writing: Vec<_> = floods
        .iter()
        .zip(&filled)
        .map(|(flood, (_, rest))| {
            let (mut writer, rest) = (flood.0.try_clone().unwrap(), rest.clone());
            std::thread::spawn(move || writer.write_all(&rest).expect("the server reads again"))
        })
        .collect();
    let expected: u32 = filled.iter().map(|(count, _)| count).sum::<u32>() + 2;
    let mut of_slot: HashMap<u32, u32> = HashMap::new();
    for record in js.records(expected as usize) {
        let n = of_slot.entry(record.slot).or_default();
        assert!(record.payload.len() < 2 || record.payload == n.to_be_bytes().repeat(250));
        *n += 1;
    }
    writing.into_iter().for_each(|writing| writing.join().unwrap());
}

/// One room is more than the mark: what has been opened is not drained, so the reactor is under pressure from then on.
#[test]
fn r11_under_pressure_nothing_is_accepted_and_unfinished_messages_stay_small() {
    let (js, mut reactor) = forward(ReactorConfig { total_mark: 100_000, ..ReactorConfig::default() });
    let mut client = Client::connect(js.address);
    client.write(UPGRADE.as_bytes());
    let mut turn = || reactor.run_once(Some(Duration::from_millis(10))).unwrap();
    while js.link.inbox.weight() == 0 {
        turn();
    }
    let mut late = Client::connect(js.address);
    late.write(UPGRADE.as_bytes());
    let message = frame(0x82, Some([1, 2, 3, 4]), &[7; 60_000]);
    client.write(&message);
    (0..20).for_each(|_| turn());
    let weight = js.link.inbox.weight();
    assert!(weight < BATCH_BYTES + 1000, "{weight} bytes: neither the late one nor the message is there");

    js.opened(IN_OPEN);
    let opened = js.link.inbox.weight();
    while js.link.inbox.weight() <= opened {
        turn();
    }
}

/// Credit that comes between the look at the mark and the wish to be woken wakes nobody: the reactor has to look again.
#[test]
fn r11_credit_that_came_before_the_wish_is_seen() {
    let (js, mut reactor) = forward(ReactorConfig { connection_mark: 1, ..ReactorConfig::default() });
    let mut client = Client::connect(js.address);
    client.write(UPGRADE.as_bytes());
    let mut turn = |wait| reactor.run_once(Some(wait)).unwrap();
    let soon = Duration::from_millis(10);
    while js.link.inbox.weight() == 0 {
        turn(soon);
    }
    js.opened(IN_OPEN);
    client.send("81 81 00000000 'a'");
    while js.link.inbox.weight() == 0 {
        turn(soon);
    }
    client.send("81 81 00000000 'b'");
    // Above the mark: it sees that there is something, and leaves it.
    turn(PATIENCE);
    assert!(!js.link.inbox.give_back(js.take()), "no wish yet");
    let begun = Instant::now();
    turn(PATIENCE);
    assert!(begun.elapsed() < PATIENCE / 4, "it slept");
    assert_eq!(js.records(1)[0].payload, b"b");
}
