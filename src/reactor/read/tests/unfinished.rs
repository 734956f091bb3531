//! F13, R14: many unfinished messages. Memory has a bound, and a peer that goes on comes through.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;

use crate::engine::ErrorKind as Broken;
use crate::reactor::config::{PAUSE, SERVED_AT_ONCE};
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::{Reports, Turned, until};
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

const MARK: usize = 1 << 20;
const MESSAGE: usize = 800_000;
/// Bytes of one read.
const BEGINNING: usize = 60_000;
/// Messages without new bytes for this long are older than new ones.
const OLD: Duration = Duration::from_secs(PAUSE + 1);

/// A reactor with a low mark, and the clients that have connected to it.
struct Crowd {
    reactor: Turned,
    address: SocketAddr,
    seen: Reports,
    peers: Vec<Peer>,
}

/// The bytes that a peer still has to write.
struct Peer {
    client: Client,
    rest: Vec<u8>,
}

fn crowd(budget: usize) -> Crowd {
    let config = ReactorConfig { unfinished_budget: budget, ..ReactorConfig::default() };
    let script = Script::on_message(|_, _| {});
    let (reactor, address, seen) = reactor(Setup { reactor: config, script, ..Setup::default() });
    Crowd { reactor, address, seen, peers: Vec::new() }
}

fn message() -> Vec<u8> {
    frame(0x82, Some([1, 2, 3, 4]), &[7; MESSAGE])
}

impl Crowd {
    /// A client that sends the first `bytes` of a large message.
    fn join(&mut self, bytes: usize) -> ConnectionId {
        let (client, id) = turns::open(&mut self.reactor, self.address, &self.seen);
        client.0.set_nonblocking(true).unwrap();
        let rest = message()[..bytes].to_vec();
        self.peers.push(Peer { client, rest });
        id
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
        let unfinished = &self.reactor.reader.unfinished;
        let bytes = unfinished.bytes;
        assert!(bytes <= unfinished.budget || unfinished.is_alone(bytes), "{bytes} bytes");
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

    /// Clients send only the beginning of a message, until no more fit, a while ago.
    fn fill(&mut self) -> Vec<ConnectionId> {
        let mut silent = Vec::new();
        while self.reactor.reader.unfinished.bytes <= MARK - BEGINNING {
            let before = self.reactor.reader.unfinished.bytes;
            silent.push(self.join(BEGINNING));
            while self.reactor.reader.unfinished.bytes - before < BEGINNING - 14 {
                self.turn();
            }
        }
        self.reactor.reader.unfinished.age(OLD);
        silent
    }
}

/// A summary of the reports.
#[derive(Debug, PartialEq, Eq)]
enum Reported {
    Whole,
    GivenUp,
    Other,
}

impl From<Seen> for Reported {
    fn from(seen: Seen) -> Self {
        match seen {
            Seen::Binary(bytes) if bytes == [7; MESSAGE] => Self::Whole,
            Seen::Error(Broken::Unfinished) => Self::GivenUp,
            _ => Self::Other,
        }
    }
}

#[test]
fn f13_r14_a_message_left_lying_is_given_up_when_there_is_too_much_and_not_before() {
    let mut crowd = crowd(MARK);
    let silent = crowd.fill();
    // Up to the last byte.
    crowd.reactor.reader.unfinished.budget = crowd.reactor.reader.unfinished.bytes;
    crowd.reactor.reader.unfinished.age(OLD);
    until(&mut crowd.reactor, |reactor| turns::idle_for(reactor, Duration::from_millis(50)));
    assert_eq!(crowd.seen.try_iter().count(), 0, "all is within the budget");
    let mut given_up = Vec::new();
    for _ in 0..2 {
        let honest = crowd.join(message().len());
        loop {
            match crowd.reported() {
                (id, Reported::Whole) if id == honest => break,
                (id, Reported::GivenUp) => given_up.push(id),
                (id, Reported::Other) if given_up.contains(&id) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(given_up.iter().all(|id| silent.contains(id)), "{given_up:?}");
    let number = silent.iter().position(|id| *id == given_up[0]).unwrap();
    let client = &mut crowd.peers[number].client;
    client.0.set_nonblocking(false).unwrap();
    client.expect("88 02 03f5");
}

/// Their messages cannot go on.
#[test]
fn f13_r14_a_connection_that_is_not_read_is_not_blamed() {
    let mut crowd = crowd(MARK);
    let silent = crowd.fill();
    for id in &silent[..silent.len() - 1] {
        crowd.reactor.conn_of(*id).unwrap().0.pause();
    }
    let honest = crowd.join(BEGINNING);
    assert_eq!(crowd.reported(), (silent[silent.len() - 1], Reported::GivenUp));
    // As good as new ones: the longest goes. It has 60,000 bytes, as all of them.
    crowd.peers.last_mut().unwrap().rest = message().split_off(BEGINNING);
    let next = crowd.reported();
    assert!(next.1 == Reported::GivenUp && (next.0 == honest || silent.contains(&next.0)), "{next:?}");
}

#[test]
fn f13_r14_too_many_that_go_on_take_no_more_than_the_budget() {
    let mut crowd = crowd(MARK);
    for _ in 0..12 {
        crowd.join(message().len());
    }
    let reports: Vec<_> = (0..12).map(|_| crowd.reported().1).collect();
    assert!(
        reports.iter().all(|report| matches!(report, Reported::Whole | Reported::GivenUp)),
        "{reports:?}"
    );
    assert!(reports.contains(&Reported::Whole), "one fits");
    assert!(crowd.reactor.reader.unfinished.is_nothing());
}

#[test]
fn f13_r14_a_message_longer_than_the_budget_passes_only_where_it_is_alone() {
    for budget in [MESSAGE, MESSAGE - 1, 1] {
        let mut crowd = crowd(budget);
        let alone = crowd.join(message().len());
        assert_eq!(crowd.reported(), (alone, Reported::Whole));
    }
    for (others, report) in [(0, Reported::Whole), (15, Reported::GivenUp)] {
        let mut crowd = crowd(MESSAGE + others - 1);
        let first = crowd.join(message().len() - 1);
        while crowd.reactor.reader.unfinished.bytes < MESSAGE - 1 {
            crowd.turn();
        }
        if others > 0 {
            crowd.join(others + 14);
            assert_eq!(crowd.reported(), (first, report));
        } else {
            crowd.peers[0].rest = message().split_off(message().len() - 1);
            assert_eq!(crowd.reported(), (first, report));
        }
    }
}

#[test]
fn f13_r14_many_short_messages_are_not_given_up_in_one_turn() {
    let mut crowd = crowd(MARK);
    for _ in 0..2 * SERVED_AT_ONCE {
        crowd.join(1000);
    }
    while crowd.reactor.reader.unfinished.bytes < 2 * SERVED_AT_ONCE * 900 {
        crowd.turn();
    }
    crowd.reactor.reader.unfinished.budget = 0;
    crowd.reactor.run_once(Some(Duration::ZERO)).expect("epoll works");
    assert!(crowd.reactor.reader.unfinished.bytes >= SERVED_AT_ONCE * 900);
    // The last one makes room for no other.
    until(&mut crowd.reactor, |reactor| (1..1000).contains(&reactor.reader.unfinished.bytes));
}
