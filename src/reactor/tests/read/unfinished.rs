//! F13, R14: many messages that do not come to their end. Memory has a bound, and a peer that goes
//! on gets through.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;

use crate::engine::ErrorKind as Broken;
use crate::reactor::config::{READ_SIZE, SMALL_ALLOWANCE};
use crate::reactor::read::unfinished::Unfinished;
use crate::reactor::tests::server::{Reporter, reactor};
use crate::reactor::tests::turns::until;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, Local, Reactor, ReactorConfig};

const MARK: usize = 1 << 20;
const MESSAGE: usize = 800_000;
/// Bytes of one read.
const BEGINNING: usize = 60_000;
/// A patience that ends. A peer that goes on must not stand still for this time, here between two
/// turns of the test.
const NOT_LONG: Duration = Duration::from_secs(1);

/// A reactor with a low mark, and the clients that have connected to it.
struct Crowd {
    reactor: Reactor<Local<Reporter>>,
    address: SocketAddr,
    seen: Receiver<(ConnectionId, Seen)>,
    peers: Vec<Peer>,
    most: usize,
}

/// The bytes that a peer still has to write.
struct Peer {
    client: Client,
    rest: Vec<u8>,
}

fn crowd(patience: Duration) -> Crowd {
    let config =
        ReactorConfig { unfinished_mark: MARK, unfinished_patience: patience, ..ReactorConfig::default() };
    let script = Script::on_message(|_, _| {});
    let (reactor, address, seen) = reactor(Setup { reactor: config, script, ..Setup::default() });
    Crowd { reactor, address, seen, peers: Vec::new(), most: 0 }
}

fn message() -> Vec<u8> {
    frame(0x82, Some([1, 2, 3, 4]), &[7; MESSAGE])
}

impl Crowd {
    /// A client that sends the first `bytes` of a large message.
    fn join(&mut self, bytes: usize) -> ConnectionId {
        let mut client = Client::connect(self.address);
        client.write(UPGRADE.as_bytes());
        let Self { reactor, seen, .. } = self;
        let mut id = None;
        until(reactor, |_| {
            id = seen.try_recv().ok();
            id.is_some()
        });
        client.expect_text(client::SWITCHED);
        client.0.set_nonblocking(true).unwrap();
        let rest = message()[..bytes].to_vec();
        self.peers.push(Peer { client, rest });
        id.expect("somebody opened").0
    }

    /// One turn, in which every peer writes what its socket takes.
    fn turn(&mut self) {
        for Peer { client, rest } in &mut self.peers {
            match client.0.write(rest) {
                Ok(len) => drop(rest.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Closed: the peer's remaining bytes are of no interest.
                Err(_) => rest.clear(),
            }
        }
        self.reactor.run_once(Some(Duration::from_millis(2))).expect("epoll works");
        self.most = self.most.max(self.reactor.work.unfinished.bytes());
        // A quarter more, one message, and the little that each connection may keep.
        let bound = MARK + MARK / 4 + MESSAGE + self.peers.len() * SMALL_ALLOWANCE + READ_SIZE;
        assert!(self.most <= bound, "{} bytes", self.most);
    }

    /// Turns until something more has been reported.
    fn reported(&mut self) -> (ConnectionId, Reported) {
        let begun = std::time::Instant::now();
        loop {
            if let Ok((id, seen)) = self.seen.try_recv() {
                return (id, seen.into());
            }
            assert!(begun.elapsed() < PATIENCE, "nothing came");
            self.turn();
        }
    }

    /// Clients join that send only the beginning of a message, until the sum exceeds the budget.
    fn fill(&mut self) -> Vec<ConnectionId> {
        let mut silent = Vec::new();
        while self.reactor.work.unfinished.bytes() <= MARK {
            let before = self.reactor.work.unfinished.bytes();
            silent.push(self.join(BEGINNING));
            while self.reactor.work.unfinished.bytes() - before < BEGINNING - 14 {
                self.turn();
            }
        }
        silent
    }
}

/// A summary of the reports.
#[derive(Debug, PartialEq, Eq)]
enum Reported {
    Whole,
    Small,
    GivenUp,
    Other,
}

impl From<Seen> for Reported {
    fn from(seen: Seen) -> Self {
        match seen {
            Seen::Binary(bytes) if bytes == [7; MESSAGE] => Self::Whole,
            Seen::Binary(bytes) if bytes == b"small" => Self::Small,
            Seen::Error(Broken::Unfinished) => Self::GivenUp,
            _ => Self::Other,
        }
    }
}

#[test]
fn f13_r14_all_that_goes_on_is_completed_one_after_the_other() {
    let mut crowd = crowd(PATIENCE);
    for _ in 0..12 {
        crowd.join(message().len());
    }
    (0..12).for_each(|_| assert_eq!(crowd.reported().1, Reported::Whole));
    assert!(crowd.most > MARK, "it never was too much");
    assert_eq!(crowd.reactor.work.unfinished.bytes(), 0);
}

#[test]
fn f13_r14_a_peer_that_goes_on_does_not_wait_for_one_that_does_not() {
    let mut crowd = crowd(PATIENCE);
    let silent = crowd.fill();
    let honest = crowd.join(message().len());
    assert_eq!(crowd.reported(), (honest, Reported::Whole));
    let quiet = crowd.join(0);
    crowd.peers.last_mut().unwrap().rest = frame(0x82, Some([0; 4]), b"small");
    assert_eq!(crowd.reported(), (quiet, Reported::Small));
    // Silence is no end either: a client that goes on later is read.
    crowd.peers[0].rest = message().split_off(BEGINNING);
    assert_eq!(crowd.reported(), (silent[0], Reported::Whole));
}

#[test]
fn f13_r14_a_message_left_lying_is_given_up_when_others_need_the_room_and_not_before() {
    let mut crowd = crowd(NOT_LONG);
    let silent = crowd.fill();
    until(&mut crowd.reactor, |reactor| turns::idle_for(reactor, NOT_LONG * 3 / 2));
    assert_eq!(crowd.seen.try_iter().count(), 0, "nobody needs the room");
    let honest = [crowd.join(message().len()), crowd.join(message().len())];
    let mut given_up = Vec::new();
    let mut whole = 0;
    while whole < 2 {
        match crowd.reported() {
            (id, Reported::Whole) if honest.contains(&id) => whole += 1,
            (id, Reported::GivenUp) => given_up.push(id),
            other => panic!("{other:?}"),
        }
    }
    assert!(!given_up.is_empty() && given_up == silent[..given_up.len()], "{given_up:?}: the oldest first");
    let client = &mut crowd.peers[0].client;
    client.0.set_nonblocking(false).unwrap();
    client.expect("88 02 03f5");
}

#[test]
fn f13_r14_a_turn_that_brings_little_is_lost_to_a_peer_that_waits() {
    let mut crowd = crowd(NOT_LONG);
    let slow = crowd.fill();
    // No client is silent now: all wait for their turn, and the first one does not use it.
    for peer in &mut crowd.peers {
        peer.rest.push(7);
    }
    crowd.peers[1].rest = message().split_off(BEGINNING);
    assert_eq!(crowd.reported(), (slow[0], Reported::GivenUp));
    assert_eq!(crowd.reported(), (slow[1], Reported::Whole));
}

#[test]
fn f13_r14_a_message_above_the_mark_is_nobody_elses_business() {
    let mut crowd = crowd(Duration::ZERO);
    crowd.reactor.work.unfinished = Unfinished::new(1000, Duration::ZERO);
    let alone = crowd.join(message().len());
    assert_eq!(crowd.reported(), (alone, Reported::Whole));
}
