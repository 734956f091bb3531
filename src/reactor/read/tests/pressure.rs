//! Flow control across threads, for when the other side does not keep up.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::bridge::batch::Record as BatchRecord;
use crate::bridge::layout::*;
use crate::bridge::limits::BATCH_BYTES;
use crate::reactor::ReactorConfig;
use crate::reactor::config::{
    CONTROL_ALLOWANCE, CONTROL_RESERVE, PENDING_OPEN_PART, READ_BUDGET, SMALLEST_READ,
};
use crate::reactor::tests::bridge::{Js, forward};
use crate::reactor::tests::*;
use crate::reactor::{Forward, Reactor, SMALL_ALLOWANCE};

/// Writes numbered messages of 1000 bytes until more than `least` bytes wait and the server takes
/// no more for a while; returns their number, and the missing rest of the last one.
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
                // The server might not have had its turn.
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
    // Nothing is drained, and yet the ping of the quiet connection is answered.
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

/// One room is more than the mark: with what has been opened the reactor is under pressure.
#[test]
fn r11_under_pressure_connections_are_accepted_and_unfinished_messages_stay_small() {
    let (js, mut reactor) = forward(ReactorConfig { total_mark: 100_000, ..ReactorConfig::default() });
    let mut client = open(&js, &mut reactor);
    let message = frame(0x82, Some([1, 2, 3, 4]), &[7; 60_000]);
    client.write(&message);
    let mut late = open(&js, &mut reactor);
    late.send("89 81 00000000 'p'");
    let mut turn = || reactor.run_once(Some(Duration::from_millis(10))).unwrap();
    (0..20).for_each(|_| turn());
    late.expect("8a 01 'p'");
    let weight = js.link.inbox.weight();
    assert!(weight < BATCH_BYTES + 2000, "{weight} bytes: the message is not there");

    assert_eq!(js.records(3).len(), 3, "two opened, and one has pinged");
    let opened = js.link.inbox.weight();
    while js.link.inbox.weight() <= opened {
        turn();
    }
}

/// The records that connections leave behind when they come and go have a limit of their own.
#[test]
fn r11_nothing_is_accepted_while_too_much_waits_about_those_that_have_opened() {
    let (js, mut reactor) = forward(ReactorConfig { total_mark: 20_000, ..ReactorConfig::default() });
    let mark = 20_000 / PENDING_OPEN_PART;
    let mut clients: Vec<_> = (0..60).map(|_| Client::connect(js.address)).collect();
    clients.iter_mut().for_each(|client| client.write(UPGRADE.as_bytes()));
    let turn = |reactor: &mut Reactor<Forward>| reactor.run_once(Some(Duration::from_millis(10))).unwrap();
    while js.link.inbox.pending_open_bytes() <= mark {
        turn(&mut reactor);
    }
    // All that were accepted together can be above it together.
    let late = Client::connect(js.address);
    let connections = reactor.connections();
    (0..20).for_each(|_| turn(&mut reactor));
    assert_eq!(reactor.connections(), connections);
    js.give_all_back();
    assert_eq!(js.link.inbox.pending_open_bytes(), 0);
    while reactor.connections() == connections {
        turn(&mut reactor);
    }
    drop(late);
}

/// A connection with an endless message, however long it is, is no reason to hold others back.
#[test]
fn r11_unfinished_messages_do_not_press() {
    let (js, mut reactor) = forward(ReactorConfig { total_mark: 2 << 20, ..ReactorConfig::default() });
    let mut holder = open(&js, &mut reactor);
    let message = frame(0x82, Some([1, 2, 3, 4]), &vec![7; 8 << 20]);
    let turn = |reactor: &mut Reactor<Forward>| reactor.run_once(Some(Duration::from_millis(10))).unwrap();
    let mut rest = &message[..message.len() - 1];
    holder.0.set_nonblocking(true).unwrap();
    while !rest.is_empty() {
        rest = &rest[holder.0.write(rest).unwrap_or_default()..];
        turn(&mut reactor);
    }
    // Something waits to be taken all the time.
    assert!(js.link.inbox.weight() > 0);
    let mut late = Client::asking(js.address);
    let upload = frame(0x82, Some([1, 2, 3, 4]), &[7; 60_000]);
    late.write(&upload);
    while reactor.connections.get_mut(1).is_none_or(|connection| connection.read.undelivered < 60_000) {
        turn(&mut reactor);
    }
    late.expect_text(client::SWITCHED);
    let large = js.records(3).into_iter().filter(|record| record.payload == [7; 60_000]).count();
    assert_eq!(large, 1);
}

/// Pings until one is not answered; returns the number of answers.
fn ping(reactor: &mut Reactor<Forward>, client: &mut Client, slot: u32) -> usize {
    for pongs in 0.. {
        let held = reactor.connections.get_mut(slot).expect("open").read.undelivered;
        client.send("89 84 00000000 'ping'");
        loop {
            reactor.run_once(Some(Duration::from_millis(10))).unwrap();
            let connection = reactor.connections.get_mut(slot).expect("open");
            if connection.read.blocked_on.is_some() {
                return pongs;
            }
            if connection.read.undelivered > held {
                break;
            }
        }
        client.expect("8a 04 'ping'");
    }
    unreachable!("the loop has no end")
}

/// A reactor under pressure, for one room is more than its mark, and its first connection.
fn pressed(total_mark: usize) -> (Js, Reactor<Forward>, Client) {
    let (js, mut reactor) = forward(ReactorConfig { total_mark, ..ReactorConfig::default() });
    let client = open(&js, &mut reactor);
    (js, reactor, client)
}

pub(super) fn open(js: &Js, reactor: &mut Reactor<Forward>) -> Client {
    let mut client = Client::asking(js.address);
    let before = js.link.inbox.weight();
    while js.link.inbox.weight() == before {
        reactor.run_once(Some(Duration::from_millis(10))).unwrap();
    }
    client.expect_text(client::SWITCHED);
    client
}

/// The bytes that a held ping of four bytes counts for.
const PING: usize = 4 + size_of::<BatchRecord>();

#[test]
fn r11_pings_are_answered_beyond_the_small_allowance_as_long_as_the_reserve_lasts() {
    let (js, mut reactor, mut client) = pressed(100_000);
    let slot = reactor.connections.slots()[0];
    let reserve = 100_000 / CONTROL_RESERVE;
    for _ in 0..2 {
        let pongs = ping(&mut reactor, &mut client, slot);
        let beyond = (pongs * PING).saturating_sub(SMALL_ALLOWANCE);
        assert!(beyond >= reserve && beyond < reserve + 2 * PING, "{beyond} bytes");
        // All records are taken, so the ping is answered, and everything begins again.
        js.give_all_back();
        while reactor.connections.get_mut(slot).expect("open").read.undelivered != PING {
            reactor.run_once(Some(Duration::from_millis(10))).unwrap();
        }
        client.expect("8a 04 'ping'");
        js.give_all_back();
        reactor.run_once(Some(Duration::ZERO)).unwrap();
        assert_eq!(reactor.connections.get_mut(slot).expect("open").read.undelivered, 0);
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "one turn is not one edge there")]
fn r11_pings_of_one_connection_leave_something_of_the_reserve_to_others() {
    let (_js, mut reactor, mut client) = pressed(BATCH_BYTES);
    reactor.config.total_mark = CONTROL_RESERVE * CONTROL_ALLOWANCE;
    let slot = reactor.connections.slots()[0];
    let pongs = ping(&mut reactor, &mut client, slot);
    let held = pongs * PING;
    assert!((CONTROL_ALLOWANCE..CONTROL_ALLOWANCE + 2 * PING).contains(&held), "{held} bytes");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "one turn is not one edge there")]
fn r11_a_peer_that_sends_messages_too_has_no_part_in_the_reserve() {
    let (_js, mut reactor, mut client) = pressed(100_000);
    let slot = reactor.connections.slots()[0];
    client.send("81 81 00000000 'a'");
    let pongs = ping(&mut reactor, &mut client, slot);
    let held = pongs * PING;
    assert!(held > SMALL_ALLOWANCE - 2 * SMALLEST_READ && held < SMALL_ALLOWANCE, "{held} bytes");
}

/// Credit between the look and the wish wakes no thread: the reactor looks again.
#[test]
fn r11_credit_that_came_before_the_wish_is_seen() {
    let (js, mut reactor) = forward(ReactorConfig { connection_mark: 1, ..ReactorConfig::default() });
    let mut client = Client::asking(js.address);
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
    // Above the mark: the reactor sees that there are bytes, and leaves them.
    turn(PATIENCE);
    assert!(!js.link.inbox.give_back(js.take()), "no wish yet");
    let begun = Instant::now();
    turn(PATIENCE);
    assert!(begun.elapsed() < PATIENCE / 4, "it slept");
    assert_eq!(js.records(1)[0].payload, b"b");
}
