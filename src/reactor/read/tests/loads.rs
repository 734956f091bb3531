//! R11, R17: random loads of all kinds at once, against the table "Flow control" in
//! docs/internals.md. A connection that sends little waits for a bounded number of records, however
//! much the others send; every connection goes on; and when all are gone, each budget is back at 0.

use std::io::{Read, Write};
use std::time::Instant;

use super::pressure::open;
use crate::bridge::limits::SHORTEST_MASKED_FRAME;
use crate::reactor::config::{BUSY_ALLOWANCE, READ_SIZE};
use crate::reactor::tests::bridge::{Js, forward_with};
use crate::reactor::tests::*;
use crate::reactor::{Forward, ListenerConfig, Reactor, ReactorConfig};

/// Peers at once.
const PEERS: usize = 20;

/// A peer that writes the same frames over and over.
struct Peer {
    client: Client,
    stream: Vec<u8>,
    at: usize,
    /// Bytes that the peer has still to write.
    left: usize,
    /// The peer never reads what is sent to it.
    is_deaf: bool,
}

impl Peer {
    fn turn(&mut self) {
        while !self.is_deaf && self.client.0.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {}
        while self.left > 0 {
            let end = self.stream.len().min(self.at + self.left);
            let Ok(len) = self.client.0.write(&self.stream[self.at..end]) else { return };
            self.left -= len;
            self.at = (self.at + len) % self.stream.len();
        }
    }
}

struct Loads {
    js: Js,
    reactor: Reactor<Forward>,
    peers: Vec<Peer>,
    random: u64,
}

impl Loads {
    fn new(config: ReactorConfig, seed: u64) -> Self {
        // The end of a peer is not answered here.
        let close_timeout = Duration::from_millis(50);
        let listening = ListenerConfig { close_timeout, ..ListenerConfig::default() };
        let (js, reactor) = forward_with(config, listening);
        Self { js, reactor, peers: Vec::new(), random: seed }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    /// A peer of some kind, which sends without end, or enough to show its effect.
    fn join(&mut self, is_endless: bool) {
        let client = open(&self.js, &mut self.reactor);
        client.0.set_nonblocking(true).unwrap();
        // An upload, messages of middle length, a beginning that is left lying, pings, a flood.
        let (opcode, length, left) = match self.random(6) {
            0 => (0x82, 300_000, 500_000),
            1 => (0x82, 3_000, 300_000),
            2 => (0x82, 60_000, 50_000),
            3 => (0x89, 8, 50_000),
            _ => (0x82, 1, 100_000),
        };
        let one = frame(opcode, Some([1, 2, 3, 4]), &vec![7; length]);
        let stream = one.repeat((READ_SIZE / one.len()).max(1));
        let left = if is_endless && left > 50_000 { usize::MAX } else { left };
        let is_deaf = self.random(2) == 0;
        self.peers.push(Peer { client, stream, at: 0, left, is_deaf });
    }

    /// A turn, before which peers write and read what they can. Returns the slots of its records.
    fn turn(&mut self) -> Vec<u32> {
        self.peers.iter_mut().for_each(Peer::turn);
        self.reactor.run_once(Some(Duration::ZERO)).unwrap();
        self.take()
    }

    /// The consumer's work meanwhile: none, or one batch.
    fn take(&mut self) -> Vec<u32> {
        if self.random(3) == 0 {
            return Vec::new();
        }
        let Some(batch) = self.js.link.inbox.take() else { return Vec::new() };
        let slots = batch.records.iter().map(|record| record.0[0]).collect();
        let _turned_anyway = self.js.link.inbox.give_back(batch);
        slots
    }

    /// Records of other connections taken between the sending of a message and its own record.
    fn wait_of(&mut self, quiet: &mut Client) -> usize {
        quiet.send("81 81 00000000 'c'");
        let (mut others, begun) = (0, Instant::now());
        loop {
            for slot in self.turn() {
                if slot == 0 {
                    return others;
                }
                others += 1;
            }
            assert!(begun.elapsed() < PATIENCE, "it is not served");
        }
    }
}

#[test]
fn r11_r17_a_connection_that_says_little_waits_for_a_share_of_each_and_not_for_all_they_send() {
    let config = ReactorConfig::default();
    // The mark, the read that crosses it, and what each of the others might have on top.
    let of_each = BUSY_ALLOWANCE / SHORTEST_MASKED_FRAME + BUSY_ALLOWANCE / 16;
    let bound = config.records_mark as usize + READ_SIZE / SHORTEST_MASKED_FRAME + PEERS * of_each;
    for seed in 1..=3 {
        let mut loads = Loads::new(config, seed);
        let mut quiet = open(&loads.js, &mut loads.reactor);
        for _ in 0..PEERS {
            loads.join(true);
        }
        let mut longest = 0;
        for _ in 0..40 {
            longest = longest.max(loads.wait_of(&mut quiet));
            let turns = loads.random(20);
            (0..turns).for_each(|_| drop(loads.turn()));
        }
        assert!(longest <= bound, "seed {seed}: {longest} records before it, at most {bound}");
    }
}

#[test]
fn r11_everybody_goes_on_and_no_budget_is_charged_when_all_are_gone() {
    let config = ReactorConfig {
        connection_mark: 50_000,
        total_mark: 700_000,
        records_mark: 500,
        unfinished_budget: 500_000,
        ..ReactorConfig::default()
    };
    for seed in 11..=13 {
        let mut loads = Loads::new(config, seed);
        for _ in 0..30 {
            loads.join(false);
        }
        let begun = Instant::now();
        let slots = loads.reactor.connections.slots();
        // Peer and connection share a number. One that leaves a message unfinished can lose it.
        let mut goals: Vec<_> =
            slots.into_iter().map(|slot| (slot, loads.peers[slot as usize].left as u64)).collect();
        while !goals.is_empty() {
            loads.turn();
            let connections = &mut loads.reactor.connections;
            goals.retain(|(slot, goal)| connections.get_mut(*slot).is_some_and(|c| c.read.received < *goal));
            assert!(begun.elapsed() < PATIENCE, "seed {seed}: {goals:?} wait for the others");
        }
        loads.peers.clear();
        while loads.reactor.connections() > 0 || loads.js.link.inbox.weight() > 0 {
            loads.turn();
            assert!(begun.elapsed() < PATIENCE, "seed {seed}: {} are left", loads.reactor.connections());
        }
        loads.turn();
        assert!(loads.reactor.reader.backpressure.is_nothing(), "seed {seed}");
        assert!(loads.reactor.reader.unfinished.is_nothing(), "seed {seed}");
        assert_eq!(loads.js.link.inbox.pending_open_bytes(), 0);
        assert_eq!(loads.js.link.inbox.delivered(), loads.js.link.inbox.published());
    }
}
