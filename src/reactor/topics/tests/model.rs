//! Random members, messages, stalls and ends against a model: no member misses a message that is
//! not reported as dropped or as a gap, none gets a message twice, and order holds.

use std::collections::BTreeMap;

use super::stage::{Inflow, Settings, Stage, words};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ListenerConfig, ReactorConfig};

const LIMIT: u32 = 3000;
const TOPICS: [Settings; 7] = [
    [Slow::Queue as u32, 0, 0, 0, 0],
    [Slow::Queue as u32, 0, 30, 0, 0],
    [Slow::Drop as u32, LIMIT, 0, 0, 0],
    [Slow::Latest as u32, LIMIT, 0, 0, 0],
    [Slow::Latest as u32, LIMIT, 10, 0, 0],
    [Slow::CatchUp as u32, LIMIT, 100_000, 0, 0],
    [Slow::CatchUp as u32, LIMIT, 20, 0, 0],
];
/// In place of a topic: a message to one connection.
const SEND: usize = TOPICS.len();
const KEYS: u32 = 4;
const MOST_PEERS: usize = 10;

/// A random number generator that needs only its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// A connection, the messages that it has had, and those that it should have had.
struct Peer {
    client: Client,
    id: ConnectionId,
    inflow: Inflow,
    stalled: bool,
    /// By topic: the number of the last message before it became a member.
    joined: BTreeMap<usize, u32>,
    /// Topics and numbers of messages.
    got: Vec<(usize, u32)>,
    expected: Vec<(usize, u32)>,
    /// By topic: messages that were reported as dropped or missing.
    missing: [u32; TOPICS.len()],
}

struct Model {
    stage: Stage,
    dice: Dice,
    peers: Vec<Peer>,
    /// Connections that have left all topics and ended a side while messages waited for them.
    left: Vec<Peer>,
    /// By topic: the numbers of its messages, in the order of their offsets.
    published: [Vec<u32>; TOPICS.len()],
    next: u32,
    /// By the request of a subscription, the expected answer.
    answers: BTreeMap<u32, [u32; 3]>,
}

impl Model {
    fn stage(reactors: usize) -> Stage {
        let listening = ListenerConfig { movable: Some(0), ..ListenerConfig::default() };
        let mut stage = Stage::with(reactors, ReactorConfig::default(), listening, Some(4 << 10));
        (1..).zip(TOPICS).for_each(|(number, settings)| stage.topic(number, settings));
        stage
    }

    fn new(reactors: usize, seed: u64) -> Self {
        Self {
            stage: Self::stage(reactors),
            dice: Dice(seed | 1),
            peers: Vec::new(),
            left: Vec::new(),
            published: Default::default(),
            next: 0,
            answers: BTreeMap::new(),
        }
    }

    fn step(&mut self, closes: bool, moves: bool) {
        let peer = self.dice.roll(self.peers.len().max(1));
        let topic = self.dice.roll(TOPICS.len());
        match self.dice.roll(100) {
            0..3 if self.peers.len() < MOST_PEERS => self.open(),
            _ if self.peers.is_empty() => {}
            3 if closes && self.dice.roll(2) == 0 => self.half_close(peer),
            3 if closes => self.close(peer),
            #[cfg(unix)]
            3 if moves => self.replace(),
            4..10 => self.subscribe(peer, topic),
            10..13 => self.unsubscribe(peer, topic),
            13..16 => self.peers[peer].stalled = !self.peers[peer].stalled,
            16..26 => self.send(peer),
            26..70 => self.publish(topic, peer),
            70..80 => self.turn(),
            80..82 => {
                self.stage.settle();
                self.look();
            }
            _ => self.read(),
        }
    }

    /// Another process takes all connections over, after a first try.
    #[cfg(unix)]
    fn replace(&mut self) {
        use crate::reactor::handover::tests::{give_up, move_all};
        self.turn();
        while self.stage.reactors[0].is_behind() {
            self.turn();
        }
        let mut old = std::mem::replace(&mut self.stage, Self::stage(1));
        for (topic, [_, _, history, ..]) in
            (1..).zip(TOPICS).filter(|(_, settings)| settings[TOPIC_HISTORY] > 0)
        {
            let top = self.published[topic as usize - 1].len() as u32;
            let first = top.saturating_sub(history) + 1;
            self.stage.about(OUT_RESTART, topic, 0, 0, &words(&[first - 1, 0, 0]));
            let ring = old.reactors[0].topics.ring(topic).unwrap();
            for offset in first..=top {
                self.stage.publish(topic, ring.get_mut(offset.into()).unwrap().message.payload());
            }
        }
        self.stage.settle();
        if self.dice.roll(2) == 0 {
            give_up(&mut old.reactors[0]);
        }
        let (moved, stay) = move_all(&mut old.reactors[0], &mut self.stage.reactors[0], |_| {});
        assert_eq!(stay, []);
        std::mem::swap(&mut self.stage, &mut old);
        self.stage.turn();
        self.look();
        self.stage = old;
        self.stage.turn();
        let opened: Vec<_> = std::mem::take(&mut self.stage.reported);
        let opened: Vec<_> = opened.iter().filter(|record| record.kind == IN_OPEN).collect();
        assert_eq!((moved.len(), opened.len()), (self.peers.len(), self.peers.len()));
        for peer in &mut self.peers {
            let place = moved.iter().position(|id| *id == peer.id).unwrap();
            let generation = u32::from_le_bytes(*opened[place].payload.first_chunk().unwrap());
            peer.id = ConnectionId { slot: opened[place].slot, generation };
            peer.joined.keys().for_each(|&topic| self.stage.join(peer.id, number(topic)));
        }
    }

    fn open(&mut self) {
        self.stage.submit();
        let (client, id) = if self.dice.roll(2) == 0 { self.stage.open_narrow() } else { self.stage.open() };
        self.peers.push(Peer {
            client,
            id,
            inflow: Inflow::default(),
            stalled: false,
            joined: BTreeMap::new(),
            got: vec![],
            expected: vec![],
            missing: [0; _],
        });
    }

    /// A connection ends without a close frame, and is back with its last message's position.
    fn close(&mut self, peer: usize) {
        self.turn();
        self.read();
        let gone = self.peers.swap_remove(peer);
        gone.client.reset();
        let slot = gone.id.slot;
        while !self.stage.reported.iter().any(|it| it.kind == IN_CLOSED && it.slot == slot) {
            self.stage.turn();
        }
        self.look();
        self.open();
        let peer = self.peers.len() - 1;
        for topic in [1, 5, 6] {
            if let Some(&(_, last)) = gone.got.iter().rev().find(|(of, _)| *of == topic) {
                let offset = self.published[topic].iter().position(|&n| n == last).unwrap() + 1;
                self.subscribe_since(peer, topic, Some(offset));
            }
        }
    }

    /// A connection ends its side, and the consumer answers that as it does.
    fn half_close(&mut self, peer: usize) {
        let left = self.peers.swap_remove(peer);
        self.stage.record(left.id, OUT_UNSUBSCRIBE, 0, 0, &words(&[0]));
        self.stage.record(left.id, OUT_END, 0, 0, b"");
        self.left.push(left);
    }

    fn subscribe(&mut self, peer: usize, topic: usize) {
        let since = match self.dice.roll(2) {
            0 if !self.peers[peer].joined.contains_key(&topic) => {
                Some(self.published[topic].len().saturating_sub(self.dice.roll(40)))
            }
            _ => None,
        };
        self.subscribe_since(peer, topic, since);
    }

    fn subscribe_since(&mut self, peer: usize, topic: usize, since: Option<usize>) {
        let (top, most) = (self.published[topic].len(), TOPICS[topic][TOPIC_HISTORY] as usize);
        let first = since.filter(|&since| most > 0 && top - since <= most);
        let again = first.map_or(&[][..], |first| &self.published[topic][first..]);
        let peer = &mut self.peers[peer];
        let id = peer.id;
        peer.joined.entry(topic).or_insert(self.next);
        peer.expected.extend(again.iter().map(|&n| (topic, n)));
        let position = if most > 0 { top as u32 } else { 0 };
        self.next += 1;
        self.answers.insert(self.next, [first.is_some().into(), again.len() as u32, position]);
        let how = if since.is_some() { SINCE_OFFSET } else { SINCE_NOW };
        self.stage.join_since(id, number(topic), self.next, how, since.unwrap_or(0) as u32);
    }

    fn unsubscribe(&mut self, peer: usize, topic: usize) {
        self.peers[peer].joined.remove(&topic);
        self.stage.leave(self.peers[peer].id, number(topic));
    }

    /// A message of some length that names itself.
    fn message(&mut self, topic: usize) -> Vec<u8> {
        self.next += 1;
        let mut message = format!("{topic}:{}:", self.next).into_bytes();
        message.resize(message.len() + self.dice.roll(600), b'.');
        message
    }

    fn send(&mut self, peer: usize) {
        let message = self.message(SEND);
        self.peers[peer].expected.push((SEND, self.next));
        self.stage.send(self.peers[peer].id, &message);
    }

    fn publish(&mut self, topic: usize, excepted: usize) {
        let message = self.message(topic);
        let n = self.next;
        // Messages that are not for a member are missing in no history: they have their own test.
        let is_for_all = TOPICS[topic][TOPIC_HISTORY] > 0 || self.dice.roll(2) == 0;
        let except = if is_for_all { vec![] } else { vec![self.peers[excepted].id] };
        for peer in &mut self.peers {
            if peer.joined.contains_key(&topic) && !except.contains(&peer.id) {
                peer.expected.push((topic, n));
            }
        }
        self.published[topic].push(n);
        self.stage.target(number(topic), &except, &(n % KEYS).to_le_bytes());
        self.stage.publish(number(topic), &message);
    }

    fn turn(&mut self) {
        self.stage.submit();
        self.stage.turn();
        self.look();
    }

    /// Clients that are not stalled read some of the present bytes.
    fn read(&mut self) {
        for peer in self.peers.iter_mut().chain(&mut self.left).filter(|peer| !peer.stalled) {
            let most = 1 + self.dice.roll(20_000);
            for (first, payload) in peer.inflow.read(&mut peer.client, most) {
                assert_eq!(first, 0x81);
                let text = String::from_utf8(payload).unwrap();
                let (topic, rest) = text.split_once(':').unwrap();
                let (n, _) = rest.split_once(':').unwrap();
                peer.got.push((topic.parse().unwrap(), n.parse().unwrap()));
            }
        }
        self.turn();
    }

    /// Checks the reports to JavaScript.
    fn look(&mut self) {
        for (slot, words) in self.stage.take(IN_SUBSCRIBED) {
            let expected = self.answers.remove(&words[0]).expect("asked for");
            assert_eq!(words[1..], [expected[0], expected[1], expected[2], 0], "{slot}");
        }
        let gaps = self.stage.take(IN_GAP).into_iter().map(|(slot, it)| (slot, it[0], it[3] + 1 - it[1]));
        let drops = self.stage.take(IN_DROPPED).into_iter().map(|(slot, it)| (slot, it[0], it[1]));
        for (slot, topic, count) in gaps.chain(drops).collect::<Vec<_>>() {
            // Messages that an ending member was not sent are reported before its end.
            if let Some(peer) = self.peers.iter_mut().chain(&mut self.left).find(|it| it.id.slot == slot) {
                peer.missing[topic as usize - 1] += count;
            }
        }
        self.stage.reported.clear();
    }

    /// One client leaves more unread than any kernel takes.
    fn overwhelm(&mut self) {
        if self.peers.is_empty() {
            self.open();
        }
        self.peers[0].stalled = true;
        (0..TOPICS.len()).for_each(|topic| self.subscribe_since(0, topic, None));
        for round in 0..600 {
            (0..TOPICS.len()).for_each(|topic| self.publish(topic, 1.min(self.peers.len() - 1)));
            if round % 10 == 0 {
                self.read();
            }
        }
        self.turn();
    }

    /// Every client reads all present bytes.
    fn end(mut self) {
        self.overwhelm();
        let begun = std::time::Instant::now();
        self.peers.iter_mut().chain(&mut self.left).for_each(|peer| peer.stalled = false);
        self.stage.submit();
        while self.peers.iter().any(|peer| !peer.is_served()) || self.left.iter().any(|it| !it.inflow.ended) {
            self.read();
            assert!(begun.elapsed() < PATIENCE, "{}", self.shortages());
        }
        self.stage.settle();
        self.read();
        assert!(self.answers.is_empty());
        self.peers.iter().for_each(Peer::check);
        self.left.iter().for_each(Peer::check_left);
        // A member that did not read was slow.
        assert!([2, 3, 4, 6].iter().all(|&topic| self.peers[0].missing[topic] > 0));
        self.peers.append(&mut self.left);
        for peer in std::mem::take(&mut self.peers) {
            peer.client.reset();
        }
        while self.stage.reactors.iter().any(|reactor| reactor.connections() > 0) {
            self.stage.turn();
        }
        (0..TOPICS.len()).for_each(|topic| self.stage.about(OUT_TOPIC_END, number(topic), 0, 0, b""));
        self.stage.settle();
        self.stage.expect_nothing_left();
    }

    fn shortages(&self) -> String {
        let short = |peer: &Peer| {
            let counts =
                |topic| (topic, peer.of(topic, &peer.got).len(), peer.of(topic, &peer.expected).len());
            format!("{:?} {:?} {:?}\n", peer.id, (0..=SEND).map(counts).collect::<Vec<_>>(), peer.missing)
        };
        self.peers.iter().filter(|peer| !peer.is_served()).map(short).collect()
    }
}

impl Peer {
    fn of(&self, topic: usize, messages: &[(usize, u32)]) -> Vec<u32> {
        messages.iter().filter(|(of, _)| *of == topic).map(|(_, n)| *n).collect()
    }

    /// Whether all messages for a member were delivered, or were reported.
    fn is_served(&self) -> bool {
        self.got.len() as u32 + self.missing.iter().sum::<u32>() >= self.expected.len() as u32
    }

    fn check(&self) {
        for (topic, [slow, ..]) in TOPICS.iter().enumerate() {
            let (got, expected) = (self.of(topic, &self.got), self.of(topic, &self.expected));
            let missing = self.missing[topic] as usize;
            assert_eq!(got.len() + missing, expected.len(), "{topic}");
            assert!(*slow != Slow::Queue as u32 || missing == 0);
            assert!(is_part_of(&got, &expected), "{topic} {got:?} {expected:?}");
            if *slow == Slow::Latest as u32
                && let Some(joined) = self.joined.get(&topic)
            {
                let last = |key| expected.iter().rev().find(|&n| n % KEYS == key && n > joined);
                let latest: Vec<_> = (0..KEYS).filter_map(last).collect();
                assert!(latest.iter().all(|last| got.contains(last)), "{latest:?} {got:?}");
            }
        }
        self.check_order();
    }

    /// It has got all that was queued when it left, and nothing else.
    fn check_left(&self) {
        for topic in 0..=SEND {
            let (got, expected) = (self.of(topic, &self.got), self.of(topic, &self.expected));
            assert!(is_part_of(&got, &expected), "{topic} {got:?} {expected:?}");
            assert!(![0, 1, SEND].contains(&topic) || got == expected, "{topic} {got:?} {expected:?}");
        }
        self.check_order();
    }

    /// Messages that are queued at once are in the order of the calls.
    fn check_order(&self) {
        let at_once = |messages: &[(usize, u32)]| -> Vec<_> {
            messages.iter().filter(|(topic, _)| [0, 1, 2, SEND].contains(topic)).copied().collect()
        };
        assert!(is_part_of(&at_once(&self.got), &at_once(&self.expected)));
    }
}

/// The number of a topic in records: 0 is none.
fn number(topic: usize) -> u32 {
    topic as u32 + 1
}

/// Whether the first list is the second with some items left out.
fn is_part_of<T: PartialEq>(some: &[T], all: &[T]) -> bool {
    let mut all = all.iter();
    some.iter().all(|one| all.any(|other| other == one))
}

/// `TOPICS_STEPS` is the number of steps for each of the seeds.
fn run(reactors: usize, closes: bool, moves: bool) {
    let steps = std::env::var("TOPICS_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2500);
    for seed in 1..=2_u64 {
        let mut model = Model::new(reactors, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..steps).for_each(|_| model.step(closes, moves));
        model.end();
    }
}

#[test]
fn what_everybody_gets_is_what_the_model_says() {
    run(1, false, false);
}

#[cfg(unix)]
#[test]
fn what_everybody_gets_when_processes_are_replaced_is_what_the_model_says() {
    run(1, false, true);
}

#[test]
fn the_same_with_several_reactors_and_connections_that_end_and_come_back() {
    run(3, true, false);
}
