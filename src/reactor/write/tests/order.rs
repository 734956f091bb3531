//! Sent messages arrive whole and in order, and the sender gets reports of the progress.

use std::time::Duration;

use crate::bridge::layout::OUT_BINARY;
use crate::engine::MessageKind;
use crate::reactor::ListenerConfig;
use crate::reactor::tests::turns::opened;
use crate::reactor::tests::*;

/// A server with writes that block early.
fn narrow(listener: ListenerConfig, script: Script) -> Server {
    Server::with(Setup { script, listener, send_buffer: Some(4 << 10), ..Setup::default() })
}

fn no_mark() -> ListenerConfig {
    ListenerConfig { high_water_mark: usize::MAX, ..ListenerConfig::default() }
}

fn numbered(n: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at ^ n.wrapping_mul(31)) as u8).collect()
}

/// R02.
#[test]
fn a_pong_between_partly_written_messages_lies_between_frames() {
    let server = narrow(no_mark(), Script::default());
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    let id = server.opened();
    let payload = numbered(1, 500_000);
    server.send(id, OUT_BINARY, &payload);
    assert_eq!(client.read(10), bytes("82 7f 000000000007a120"));
    client.send("89 81 00000000 'p'");
    assert_eq!(server.next(), Seen::Ping(b"p".to_vec()));
    server.send(id, OUT_BINARY, b"last");
    assert!(client.read(payload.len()) == payload);
    client.expect("8a 01 'p'  82 04 'last'");
}

#[test]
#[cfg_attr(windows, ignore = "Windows takes more from one send than a socket buffers")]
fn a_mark_is_reached_when_all_before_it_is_in_the_kernel_and_not_earlier() {
    let script = Script::on_message(|conn, _| {
        conn.mark();
        conn.send(MessageKind::Binary, true, &[0; 4 << 20]);
        conn.mark();
        conn.mark();
        conn.send(MessageKind::Text, true, b"last");
    });
    let server = narrow(no_mark(), script);
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    client.send("81 81 00000000 'x'");
    server.expect(&[Seen::Open("/".into()), Seen::Text(b"x".to_vec()), Seen::Sent(1)]);
    client.read(10);
    // The rest cannot be in the kernel, as this event would claim if it were reported too early.
    client.send("8a 80 00000000");
    assert_eq!(server.next(), Seen::Pong(vec![]));
    client.read(4 << 20);
    client.expect("81 04 'last'");
    assert_eq!(server.next(), Seen::Sent(2));
}

#[test]
#[cfg_attr(windows, ignore = "Windows takes more from one send than a socket buffers")]
fn drain_comes_when_half_of_the_high_water_mark_is_reached_once_per_flood() {
    let listener = ListenerConfig { high_water_mark: 100_000, ..ListenerConfig::default() };
    let server = narrow(listener, Script::default());
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    let id = server.opened();
    for _ in 0..2 {
        server.send(id, OUT_BINARY, &[0; 4 << 20]);
        client.read(10);
        client.send("8a 80 00000000");
        assert_eq!(server.next(), Seen::Pong(vec![]));
        client.read(4 << 20);
        assert_eq!(server.next(), Seen::Drain);
    }
    server.send(id, OUT_BINARY, &[0; 100]);
    client.read(102);
    client.reset();
    assert_eq!(server.next(), Seen::Closed);
}

#[test]
fn the_first_long_message_of_a_turn_leaves_at_once_and_the_second_with_others() {
    let (mut reactor, _seen, mut client, id) = opened(Setup::default());
    for _turn in 0..2 {
        reactor.run_once(Some(Duration::ZERO)).unwrap();
        let (mut conn, ..) = reactor.conn_of(id).unwrap();
        let mut waits = || {
            conn.send(MessageKind::Binary, true, &[0; 2048]);
            !conn.state.write.outgoing.is_empty()
        };
        assert_eq!([waits(), waits()], [false, true]);
    }
    reactor.run_once(Some(Duration::ZERO)).unwrap();
    assert_eq!(client.read(4 * (4 + 2048)).len(), 4 * (4 + 2048));
}
