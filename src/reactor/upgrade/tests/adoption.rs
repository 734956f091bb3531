//! Sockets with an upgrade that was answered elsewhere.

use std::collections::HashSet;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::bridge::gauges::MAX_SLOTS;
use crate::bridge::layout::ADOPTED_SLOTS;
use crate::engine::{self, Role, mask};
use crate::reactor::config::IN_PLACE;
use crate::reactor::tests::bridge::forward;
use crate::reactor::tests::*;
use crate::reactor::{Adoption, Command, ConnectionId, ListenerConfig, ReactorConfig};

/// Both ends of a connection.
fn pair() -> (Client, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::connect(listener.local_addr().unwrap());
    (client, listener.accept().unwrap().0)
}

fn adoption(stream: TcpStream) -> Adoption {
    Adoption {
        stream: stream.into(),
        id: None,
        response: Vec::new(),
        prefix: Vec::new(),
        listener: 7,
        config: Arc::new(ListenerConfig::default()),
        deflate: None,
        asked: None,
    }
}

fn adopt_as(server: &Server, id: ConnectionId, stream: TcpStream) {
    server.submit(Command::Adopt(Box::new(Adoption {
        id: Some(id),
        response: b"HTTP/1.1 101 x\r\n\r\n".to_vec(),
        prefix: frame(0x81, Some([0; 4]), b"first"),
        ..adoption(stream)
    })));
}

#[test]
fn an_id_that_was_chosen_is_used_again_and_only_its_end_is_reported() {
    let server = Server::echo();
    for generation in [3, 9] {
        let (mut client, stream) = pair();
        adopt_as(&server, ConnectionId { slot: ADOPTED_SLOTS + 5, generation }, stream);
        client.expect("'HTTP/1.1 101 x' 0d0a0d0a  81 05 'first'");
        client.send("88 80 00000000");
        client.expect("88 00");
        client.expect_end();
        client.end();
        server.expect(&[Seen::Text(b"first".to_vec()), Seen::Close(None, vec![]), Seen::Closed]);
    }
}

#[test]
fn an_id_that_cannot_be_used_is_reported_as_closed() {
    let server = Server::echo();
    let (mut client, stream) = pair();
    let taken = ConnectionId { slot: ADOPTED_SLOTS, generation: 1 };
    adopt_as(&server, taken, stream);
    client.expect("'HTTP/1.1 101 x' 0d0a0d0a  81 05 'first'");
    server.expect(&[Seen::Text(b"first".to_vec())]);
    for slot in [taken.slot, ADOPTED_SLOTS - 1, ADOPTED_SLOTS + MAX_SLOTS] {
        let (mut refused, stream) = pair();
        adopt_as(&server, ConnectionId { slot, generation: 2 }, stream);
        refused.expect_end();
        server.expect(&[Seen::Closed]);
    }
    client.send("81 81 00000000 'x'");
    client.expect("81 01 'x'");
}

/// One connection is older than the other two: the poll has not reported their sockets as writable.
#[test]
fn first_messages_are_reported_in_the_order_in_which_they_came() {
    let (js, mut reactor) = forward(ReactorConfig::default());
    let mut clients = [0, 1, 2].map(|index| {
        let (client, stream) = pair();
        let id = Some(ConnectionId { slot: ADOPTED_SLOTS + index, generation: 1 });
        js.handle.submit(Command::Adopt(Box::new(Adoption { id, ..adoption(stream) }))).unwrap();
        for _ in 0..if index == 0 { 3 } else { 0 } {
            reactor.run_once(Some(Duration::ZERO)).unwrap();
        }
        client
    });
    reactor.serve_commands();
    for client in &mut clients {
        client.send("81 81 00000000 'x'");
    }
    for _ in 0..3 {
        reactor.run_once(Some(Duration::ZERO)).unwrap();
    }
    let slots: Vec<_> = js.records(3).iter().map(|record| record.slot - ADOPTED_SLOTS).collect();
    assert_eq!(slots, [0, 1, 2]);
}

/// Its end shows that peer nothing.
#[test]
fn a_socket_that_the_peer_has_reset_waits_for_no_consumer() {
    let (js, mut reactor) = forward(ReactorConfig::default());
    let (client, stream) = pair();
    let id = Some(ConnectionId { slot: ADOPTED_SLOTS, generation: 1 });
    js.handle.submit(Command::Adopt(Box::new(Adoption { id, ..adoption(stream) }))).unwrap();
    reactor.serve_commands();
    client.reset();
    while reactor.connections() > 0 {
        reactor.run_once(None).unwrap();
    }
    assert!(!reactor.barrier.is_waiting());
}

/// RFC 6455, section 5.1: a client masks each frame with its own key, and takes none masked.
#[test]
fn the_role_of_a_client_masks_and_takes_no_masked_frame() {
    let server = Server::echo();
    let (mut peer, stream) = pair();
    let engine = engine::Config { role: Role::Client, ..engine::Config::default() };
    let config = Arc::new(ListenerConfig { engine, ..ListenerConfig::default() });
    server.submit(Command::Adopt(Box::new(Adoption { config, ..adoption(stream) })));
    let mut keys = HashSet::new();
    for len in [0, 1, 125, 126, IN_PLACE - 1, IN_PLACE, 65_535, 65_536, 200_000] {
        for (sent, answer) in [(0x82, 0x82), (0x89, 0x8a)] {
            if sent == 0x89 && len > 125 {
                continue;
            }
            let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
            peer.write(&frame(sent, None, &payload));
            let header = frame(answer, Some([0; 4]), &payload).len() - 4 - len;
            let head = peer.read(header + 4);
            let key: [u8; 4] = head[header..].try_into().unwrap();
            let mut body = peer.read(len);
            mask::unmask(key, 0, &mut body);
            assert_eq!(head[..header], frame(answer, Some(key), &payload)[..header]);
            assert!(body == payload && keys.insert(key), "{len}");
        }
    }
    // As many frames of two bytes as a read can bring.
    peer.write(&[0x82, 0].repeat(100_000));
    let echoed = peer.read(6 * 100_000);
    assert!(echoed.chunks(6).all(|frame| frame[..2] == [0x82, 0x80]));
    peer.send("82 81 00000000 'x'");
    assert_eq!(peer.read(2), [0x88, 0x82]);
}

#[test]
fn a_socket_for_a_reactor_that_has_ended_is_closed() {
    let (js, reactor) = forward(ReactorConfig::default());
    let adopt = || {
        let (client, stream) = pair();
        js.handle.submit(Command::Adopt(Box::new(adoption(stream)))).unwrap();
        client
    };
    let mut clients = vec![adopt()];
    drop(reactor);
    clients.push(adopt());
    js.handle.wake().unwrap();
    clients.push(adopt());
    clients.iter_mut().for_each(Client::expect_end);
}
