//! permessage-deflate over sockets: the shares of a turn, and the release of contexts.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use crate::bridge::chunk::Chunk;
use crate::bridge::layout::{OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN};
use crate::engine::deflate::{Params, Pool, Settings};
use crate::engine::{Config, Engine, Event, FrameKind, Role};
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::{Reports, Turned, until};
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId, DeflateConfig, ListenerConfig, Reactor};

fn listener() -> ListenerConfig {
    let settings = Settings { threshold: 0, ..Settings::default() };
    let deflate = DeflateConfig { settings, release_after: Duration::ZERO, ..DeflateConfig::default() };
    ListenerConfig { deflate: Some(deflate), ..ListenerConfig::default() }
}

/// A client that speaks the extension.
struct Peer {
    client: Client,
    engine: Engine,
}

impl Peer {
    fn offer(params: &str) -> String {
        UPGRADE
            .replace("\r\n\r\n", &format!("\r\nSec-WebSocket-Extensions: permessage-deflate{params}\r\n\r\n"))
    }

    fn new(client: Client, no_takeover: bool) -> Self {
        let mut engine = Engine::new();
        let params = Params {
            server_no_context_takeover: no_takeover,
            client_no_context_takeover: no_takeover,
            ..Params::default()
        };
        let settings = Settings { threshold: 0, ..Settings::default() };
        engine.enable_deflate(Role::Client, params, &settings, &Arc::new(Pool::new(1 << 30)));
        Self { client, engine }
    }

    fn open(server: &Server) -> Self {
        let mut client = Client::connect(server.address);
        client.write(Self::offer("").as_bytes());
        assert!(client.read_head().contains("\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"));
        Self::new(client, false)
    }

    fn message(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        assert!(self.engine.will_compress(true, payload.len()));
        self.engine.compress(payload, true, &mut body);
        let mut bytes = self.engine.encode(FrameKind::Binary, true, body.len(), Some([0; 4])).to_vec();
        bytes.extend_from_slice(&body);
        bytes
    }

    /// The next message or ping.
    fn receive(&mut self) -> Vec<u8> {
        let config = Config { role: Role::Client, ..Config::default() };
        loop {
            let mut input = self.client.read(1);
            let mut pos = 0;
            match self.engine.poll(&config, &mut input, &mut pos) {
                Some(Event::Message { payload, .. } | Event::Ping(payload)) => {
                    return payload.bytes(&input).to_vec();
                }
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    }
}

/// A reactor that the test turns, with a client that has negotiated the extension.
fn turned(setup: Setup) -> (Turned, Reports, Client, ConnectionId) {
    let (mut reactor, address, seen) = reactor(setup);
    let mut client = Client::connect(address);
    client.write(Peer::offer("").as_bytes());
    let mut opened = None;
    until(&mut reactor, |_| {
        opened = seen.try_recv().ok();
        opened.is_some()
    });
    client.read_head();
    (reactor, seen, client, opened.expect("it is open").0)
}

fn random(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn what_waits_behind_a_long_message_is_copied_in_several_turns_too() {
    const LEN: usize = 5 << 20;
    let listener = ListenerConfig { high_water_mark: usize::MAX, ..listener() };
    let (mut reactor, _seen, _client, id) = turned(Setup { listener, ..Setup::default() });
    let mut chunk = Chunk::default();
    let of = (id.slot, id.generation);
    chunk.push_record(of, OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_COMPRESS, 0, &random(100 << 10));
    for _ in 0..6 {
        chunk.push_record(of, OUT_BINARY, OUT_FLAG_FIN, 0, &vec![0; LEN]);
    }
    reactor.handle().submit(Command::Chunk(chunk)).expect("an eventfd takes it");
    let mut most = 0;
    while reactor.writer.is_behind() || most == 0 {
        let pushed =
            |reactor: &mut Reactor<_>| reactor.connections.get(id).expect("open").write.outgoing.pushed();
        let before = pushed(&mut reactor);
        reactor.run_once(Some(PATIENCE)).expect("epoll works");
        most = most.max(pushed(&mut reactor) - before);
    }
    // The rest of the last turn's budget is for callers between turns.
    assert!(most < 3 * LEN as u64, "{most} bytes");
}

#[test]
fn a_share_of_what_waits_is_compressed_before_the_reactor_stops() {
    let server = Server::serve(listener());
    let (mut peer, id) = (Peer::open(&server), server.opened());
    let message = vec![3; 60 << 10];
    server.records(id, &[(OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_COMPRESS, 0, &message)]);
    let stopping = std::thread::spawn(move || server.stop());
    assert!(peer.receive() == message);
    stopping.join().unwrap();
}

/// The end of the process does not wait for a backlog.
#[test]
fn a_backlog_is_not_compressed_before_the_reactor_stops() {
    let (mut reactor, _seen, mut client, id) = turned(Setup { listener: listener(), ..Setup::default() });
    let mut chunk = Chunk::default();
    for _ in 0..100 {
        let of = (id.slot, id.generation);
        chunk.push_record(of, OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_COMPRESS, 0, &random(100 << 10));
    }
    reactor.handle().submit(Command::Chunk(chunk)).expect("an eventfd takes it");
    reactor.close();
    let mut received = Vec::new();
    let _reset_or_end = client.0.read_to_end(&mut received);
    assert!(received.len() < 512 << 10, "{} bytes", received.len());
}

/// Z10: bombs get their share of a turn, measured in inflated bytes.
#[test]
fn z10_bombs_leave_room_for_others() {
    let setup = Setup {
        listener: listener(),
        script: Script::on_message(|conn, message| {
            if message.payload.len() < 1000 {
                conn.send(message.kind, true, message.payload);
            }
        }),
        ..Setup::default()
    };
    let (mut reactor, address, seen) = reactor(setup);
    let mut open = || {
        let mut client = Client::connect(address);
        client.write(Peer::offer("; client_no_context_takeover; server_no_context_takeover").as_bytes());
        until(&mut reactor, |_| seen.try_recv().is_ok());
        client.read_head();
        Peer::new(client, true)
    };
    let mut peers: Vec<Peer> = (0..6).map(|_| open()).collect();
    let mut canary = peers.pop().unwrap();
    for peer in &mut peers {
        let bomb = peer.message(&vec![0; 16 << 20]);
        peer.client.write(&bomb);
        peer.client.write(&bomb);
    }
    let bytes = canary.message(b"canary");
    canary.client.write(&bytes);
    let mut turns = 0;
    loop {
        reactor.run_once(Some(PATIENCE)).unwrap();
        turns += 1;
        assert!(turns < 20, "the canary waits for ever");
        if seen.try_iter().any(|(_, seen)| seen == Seen::Binary(b"canary".to_vec())) {
            break;
        }
    }
    assert_eq!(canary.receive(), b"canary");
}

/// Z10: also those that come together with the request.
#[test]
fn z10_bombs_behind_a_request_leave_room_for_others() {
    let setup = Setup { listener: listener(), ..Setup::default() };
    let (mut reactor, address, seen) = reactor(setup);
    let mut peer = Peer::new(Client::connect(address), true);
    let mut bytes = Peer::offer("; client_no_context_takeover; server_no_context_takeover").into_bytes();
    let bomb = peer.message(&vec![0; 1 << 20]);
    while bytes.len() + bomb.len() < 60_000 {
        bytes.extend_from_slice(&bomb);
    }
    peer.client.write(&bytes);
    let mut first = 0;
    until(&mut reactor, |_| {
        first = seen.try_iter().count();
        first > 0
    });
    assert!(first < 5, "{first} bombs in the first turn");
}

#[test]
fn contexts_are_released_when_they_were_not_used_for_their_time_and_not_before() {
    let deflate = listener().deflate.map(|deflate| DeflateConfig { release_after: PATIENCE, ..deflate });
    let (mut reactor, seen, client, id) =
        turned(Setup { listener: ListenerConfig { deflate, ..listener() }, ..Setup::default() });
    let mut peer = Peer::new(client, false);
    let message = peer.message(b"hello");
    peer.client.write(&message);
    until(&mut reactor, |_| seen.try_recv().is_ok());
    let now = reactor.timers.now();
    for (used, stay) in [(now, true), (now - PATIENCE, false)] {
        reactor.connections.get(id).expect("open").write.contexts_used = Some(Box::new(used));
        reactor.writer.compression.holders.push(now, id);
        reactor.run_once(Some(Duration::ZERO)).expect("epoll works");
        assert_eq!(reactor.connections.get(id).expect("open").engine.holds_contexts(), stay);
    }
}
