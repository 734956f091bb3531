//! Messages of all sizes, in and out.

use crate::bridge::layout::{OUT_BINARY, OUT_FLAG_FIN, OUT_PING, OUT_PONG, OUT_TEXT};
use crate::engine::MessageKind;
use crate::reactor::tests::*;

const KEY: Option<[u8; 4]> = Some([0xa5, 0x5a, 0x3c, 0xc3]);

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn every_class_of_length_is_echoed() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    for len in [0, 1, 125, 126, 127, 2047, 2048, 2049, 65_535, 65_536, 65_537, 200_000, 1 << 20] {
        let payload = noise(len);
        client.write(&frame(0x82, KEY, &payload));
        let expected = frame(0x82, None, &payload);
        assert!(client.read(expected.len()) == expected, "{len} bytes");
    }
}

#[test]
fn texts_and_binaries_stay_what_they_are() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    client.send("81 85 00000000 'hello'  82 83 00000000 ffc080  81 80 00000000");
    client.expect("81 05 'hello'  82 03 ffc080  81 00");
    server.expect(&[
        Seen::Open("/".into()),
        Seen::Text(b"hello".to_vec()),
        Seen::Binary(vec![0xff, 0xc0, 0x80]),
        Seen::Text(vec![]),
    ]);
}

#[test]
fn f01_a_stream_of_single_bytes_is_the_same_stream() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    for byte in bytes("01 83 00000000 'abc'  89 81 00000000 'p'  80 83 00000000 'def'  81 82 00000000 'xy'") {
        client.write(&[byte]);
    }
    client.expect("8a 01 'p'  81 06 'abcdef'  81 02 'xy'");
}

#[test]
fn fragments_are_sent_as_continuations() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let id = server.opened();
    server.records(
        id,
        &[
            (OUT_TEXT, 0, 0, b"a"),
            (OUT_PING, 0, 0, b"between"),
            (OUT_TEXT, 0, 0, b""),
            (OUT_TEXT, OUT_FLAG_FIN, 0, b"b"),
            (OUT_PONG, 0, 0, b""),
            (OUT_BINARY, OUT_FLAG_FIN, 0, b"c"),
        ],
    );
    client.expect("01 01 'a'  89 07 'between'  00 00  80 01 'b'  8a 00  82 01 'c'");
}

#[test]
fn a_small_message_sent_back_is_copied_and_a_large_one_leaves_from_where_it_lies() {
    let script = Script::on_message(|session, message| {
        let large = message.payload.len() >= 2048;
        session.send(message.kind, true, message.payload);
        // Bytes that left from the receive buffer are in the kernel already, copied ones wait for
        // the end of the turn.
        assert_eq!(session.queued() == 0, large);
    });
    let server = Server::script(script);
    let mut client = Client::open(server.address);
    for len in [100, 2047, 2048, 10_000] {
        let payload = noise(len);
        client.write(&frame(0x82, KEY, &payload));
        assert!(client.read(frame(0x82, None, &payload).len()) == frame(0x82, None, &payload), "{len} bytes");
    }
}

#[test]
fn a_large_message_sent_back_behind_a_small_one_keeps_its_place() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let (small, large) = (noise(10), noise(30_000));
    client.write(&[frame(0x82, KEY, &small), frame(0x82, KEY, &large), frame(0x82, KEY, &small)].concat());
    let expected = [frame(0x82, None, &small), frame(0x82, None, &large), frame(0x82, None, &small)].concat();
    assert!(client.read(expected.len()) == expected);
}

#[test]
fn a_large_message_sent_back_after_our_end_is_dropped_and_closes_nothing() {
    let script = Script::on_message(|session, message| {
        session.send(message.kind, true, message.payload);
        session.end();
    });
    let server = Server::script(script);
    let mut client = Client::open(server.address);
    client.send("82 81 00000000 01");
    client.expect("82 01 01");
    client.expect_end();
    client.write(&frame(0x82, KEY, &noise(5000)));
    server.expect(&[Seen::Open("/".into()), Seen::Binary(vec![1]), Seen::Binary(noise(5000))]);
    client.send("82 81 00000000 02");
    client.end();
    server.expect(&[Seen::Binary(vec![2]), Seen::Closed]);
}

#[test]
fn pings_are_answered_before_the_handler_hears_of_them() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    client.send("89 84 00000000 'ping'  8a 82 00000000 'po'");
    client.expect("8a 04 'ping'");
    server.expect(&[Seen::Open("/".into()), Seen::Ping(b"ping".to_vec()), Seen::Pong(b"po".to_vec())]);
}

#[test]
fn pings_are_not_answered_when_the_handler_wants_to() {
    let config = crate::reactor::ListenerConfig { auto_pong: false, ..Default::default() };
    let server = Server::serve(config);
    let mut client = Client::open(server.address);
    client.send("89 81 00000000 'p'  81 81 00000000 't'");
    client.expect("81 01 't'");
}

#[test]
fn pings_are_not_answered_after_our_close_frame() {
    let server = Server::script(Script::on_message(|session, _| session.close(None, &[])));
    let mut client = Client::open(server.address);
    client.send("81 81 00000000 't'  89 81 00000000 'p'  88 80 00000000");
    client.expect("88 00");
    client.expect_end();
}

#[test]
fn other_threads_send_by_handle() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let id = server.opened();
    server.handle.send(id, MessageKind::Text, b"hi").unwrap();
    server.handle.send(id, MessageKind::Binary, &[0; 126]).unwrap();
    client.expect("81 02 'hi'  82 7e 007e");
    assert_eq!(client.read(126), [0; 126]);
    server.handle.close(id, crate::engine::CloseCode::new(4000), b"bye").unwrap();
    client.expect("88 05 0fa0 'bye'");
}

/// J01.
#[test]
fn frames_for_a_connection_that_is_not_open_are_dropped() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    let mut client = Client::connect(address);
    turns::until(&mut reactor, |reactor| reactor.connections() == 1);
    let id = reactor.connections.id(0).unwrap();
    reactor.handle().send(id, MessageKind::Text, b"too early").unwrap();
    client.write(UPGRADE.as_bytes());
    client.send("81 82 00000000 'ok'");
    client.end();
    turns::until(&mut reactor, |reactor| reactor.connections() == 0);
    client.expect_text(client::SWITCHED);
    client.expect("81 02 'ok'");
}

#[test]
fn f02_to_f11_a_broken_rule_is_answered_with_its_code() {
    use crate::engine::ErrorKind;
    let server = Server::echo();
    for (input, answer, kind) in [
        ("91 80 00000000", "88 02 03ea", ErrorKind::UnexpectedRsv23),
        ("c1 80 00000000", "88 02 03ea", ErrorKind::UnexpectedRsv1),
        ("81 00", "88 02 03ea", ErrorKind::ExpectedMask),
        ("83 80 00000000", "88 02 03ea", ErrorKind::InvalidOpcode),
        ("09 80 00000000", "88 02 03ea", ErrorKind::ExpectedFin),
        ("81 81 00000000 ff", "88 02 03ef", ErrorKind::InvalidUtf8),
        ("82 ff 0000000007000000 00000000", "88 02 03f1", ErrorKind::UnsupportedMessageLength),
        ("88 82 00000000 03ed", "88 02 03ea", ErrorKind::InvalidCloseCode),
    ] {
        let mut client = Client::open(server.address);
        client.send("81 81 00000000 'x'");
        client.send(input);
        client.expect("81 01 'x'");
        client.expect(answer);
        client.expect_end();
        client.send("81 81 00000000 'y'");
        client.end();
        server.expect(&[Seen::Open("/".into()), Seen::Text(b"x".to_vec()), Seen::Error(kind), Seen::Closed]);
    }
}
