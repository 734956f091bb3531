//! Random peers and a clock that the test turns. Bytes that arrive while the process stands still
//! are read before silence is judged, so only peers without bytes are closed.

use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::CloseCode;
use crate::reactor::tests::*;
use crate::reactor::{Adoption, Command, ConnectionId, ListenerConfig};

/// Every timeout. All steps of the clock are multiples of `STEP`, so no silence ends within 2 s of it,
/// however slow the machine is.
const LIMIT: Duration = Duration::from_secs(300);
const STEP: Duration = Duration::from_secs(70);
/// More speak than two looks at the sockets report.
const PEERS: usize = 1400;
const STEPS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Handshake,
    Open,
    Pinged,
    Closing,
}

struct Peer {
    client: Client,
    id: ConnectionId,
    phase: Phase,
    /// The beginning of the period that is judged.
    since: Duration,
    /// Bytes of the peer that the reactor has not read.
    unread: bool,
}

impl Peer {
    /// What is sent in this phase ends the period: a request, a pong, a close frame.
    fn speak(&mut self) {
        match self.phase {
            Phase::Handshake => self.client.write(UPGRADE.as_bytes()),
            Phase::Open | Phase::Pinged => self.client.send("8a 80 00000000"),
            Phase::Closing => {
                self.client.send("88 82 00000000 03e8");
                self.client.end();
            }
        }
        self.unread = true;
    }

    /// Whether the connection is there after the reactor has read everything. `pings`: it asks
    /// before it closes.
    fn judge(&mut self, now: Duration, pings: bool) -> bool {
        if std::mem::take(&mut self.unread) {
            self.since = now;
            let was = std::mem::replace(&mut self.phase, Phase::Open);
            return was != Phase::Closing;
        }
        let late = now - self.since >= LIMIT;
        if late && pings && self.phase == Phase::Open {
            (self.phase, self.since) = (Phase::Pinged, now);
            return true;
        }
        !late
    }
}

struct World {
    reactor: turns::Turned,
    address: std::net::SocketAddr,
    seen: turns::Reports,
    config: ListenerConfig,
    /// The turns of a loop that drives the reactor; `None`: a thread does.
    loop_turns: Option<u32>,
    now: Duration,
    dice: u64,
}

impl World {
    fn new(pings: bool, driven: bool, seed: u64) -> Self {
        let zero = Duration::ZERO;
        let (ping_interval, idle_timeout) = if pings { (LIMIT, zero) } else { (zero, LIMIT) };
        let config = ListenerConfig {
            handshake_timeout: LIMIT,
            close_timeout: LIMIT,
            ping_interval,
            idle_timeout,
            ..ListenerConfig::default()
        };
        let (reactor, address, seen) =
            server::reactor(Setup { listener: config.clone(), ..Setup::default() });
        let loop_turns = driven.then_some(0);
        Self { reactor, address, seen, config, loop_turns, now: zero, dice: seed }
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 11) as usize % sides
    }

    fn turn(&mut self, wait: Duration) {
        if let Some(number) = &mut self.loop_turns {
            *number += 1;
            self.reactor.begin_loop_turn(Some(*number));
        }
        self.reactor.run_once(Some(wait)).unwrap();
    }

    fn until(&mut self, mut done: impl FnMut(&mut turns::Turned) -> bool) {
        let begun = std::time::Instant::now();
        while !done(&mut self.reactor) {
            assert!(begun.elapsed() < PATIENCE, "it did not come");
            self.turn(Duration::from_millis(10));
        }
    }

    /// The id of a connection that the reactor has made since `before`.
    fn newest(&mut self, before: &HashSet<u32>) -> Option<ConnectionId> {
        let slots = self.reactor.connections.slots();
        slots
            .into_iter()
            .find(|slot| !before.contains(slot))
            .and_then(|slot| Some(self.reactor.connections.find(slot)?.0))
    }

    /// A peer that has connected, or the peer of a socket that another server has accepted.
    fn join(&mut self) -> Peer {
        let before: HashSet<u32> = self.reactor.connections.slots().into_iter().collect();
        let accepted = self.roll(3) > 0;
        let client = if accepted { Client::connect(self.address) } else { self.adopted() };
        let mut id = None;
        while id.is_none() {
            self.turn(Duration::from_millis(10));
            id = self.newest(&before);
        }
        let phase = if accepted { Phase::Handshake } else { Phase::Open };
        Peer { client, id: id.unwrap(), phase, since: self.now, unread: false }
    }

    fn adopted(&mut self) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Client::connect(listener.local_addr().unwrap());
        let stream = listener.accept().unwrap().0.into();
        self.reactor.serve(Command::Adopt(Box::new(Adoption {
            stream,
            id: None,
            response: Vec::new(),
            prefix: Vec::new(),
            listener: 7,
            config: Arc::new(self.config.clone()),
            deflate: None,
            asked: None,
        })));
        client
    }

    /// The process stands still; then it reads, and judges.
    fn stop_for(&mut self, time: Duration) {
        self.now += time;
        self.reactor.timers.go_by(time);
        self.turn(Duration::ZERO);
        self.until(|reactor| !reactor.timers.is_behind());
        // Entries that were put back, and answers, are dealt with in the turns after.
        for _ in 0..4 {
            self.turn(Duration::ZERO);
        }
        self.until(|reactor| !reactor.timers.is_behind() && reactor.writer.has_written());
        let _reports = self.seen.try_iter().count();
    }

    /// We close the connection; its peer has not answered.
    fn close(&mut self, peer: &mut Peer) {
        let conn = self.reactor.conn_of(peer.id);
        conn.unwrap().0.close(CloseCode::new(1000), b"");
        (peer.phase, peer.since) = (Phase::Closing, self.now);
        self.until(|reactor| reactor.writer.has_written());
    }
}

#[test]
fn only_peers_without_bytes_are_closed_however_long_the_process_stands_still() {
    for (seed, (pings, driven)) in [(true, false), (false, true)].into_iter().enumerate() {
        let mut world = World::new(pings, driven, 0x9e37_79b9 + seed as u64);
        let mut peers: Vec<Peer> = Vec::new();
        for step in 0..STEPS {
            while peers.len() < PEERS {
                let peer = world.join();
                peers.push(peer);
            }
            for peer in &mut peers {
                if matches!(peer.phase, Phase::Open | Phase::Pinged) && world.roll(16) == 0 {
                    world.close(peer);
                }
            }
            // The reactor has no turn between these bytes and the end of the time that goes by.
            for peer in &mut peers {
                if world.roll(8) > 0 {
                    peer.speak();
                }
            }
            let time = STEP * world.roll(8) as u32;
            world.stop_for(time);
            peers.retain_mut(|peer| {
                let expected = peer.judge(world.now, pings);
                let there = world.reactor.connections.get(peer.id).is_some();
                assert_eq!(
                    there, expected,
                    "step {step} of {pings} {driven}: {:?} since {:?}, now {:?}",
                    peer.phase, peer.since, world.now
                );
                there
            });
        }
    }
}
