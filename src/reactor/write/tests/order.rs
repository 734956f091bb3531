//! Sent messages arrive whole and in order, and the sender gets reports of the progress.

use crate::bridge::chunk::Chunk;
use crate::bridge::large::Large;
use crate::bridge::layout::{
    OUT_BINARY, OUT_CLOSE, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT, OUT_PING, OUT_TEXT,
};
use crate::engine::MessageKind;
use crate::reactor::tests::*;
use crate::reactor::{Command, ListenerConfig};

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

#[test]
fn r02_small_and_large_sends_keep_their_order_under_partial_writes() {
    let server = narrow(no_mark(), Script::default());
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    let id = server.opened();
    let sizes = [1, 70_000, 10, 300, 65_536, 20_000, 0, 125, 126, 200_000, 5];
    let mut expected = Vec::new();
    let mut expected_marks = 0;
    for round in 0..4 {
        let mut chunk = Chunk { bytes: server.handle.buffer(), ..Chunk::default() };
        for (n, &len) in sizes.iter().enumerate() {
            let payload = numbered(round * 100 + n as u32, len);
            expected.extend(frame(0x82, None, &payload));
            expected_marks += 1;
            let flags = OUT_FLAG_FIN | OUT_FLAG_WANT_SENT;
            if n % 3 == 1 {
                chunk.push_large((id.slot, id.generation), OUT_BINARY, flags, 0, Large::copy(&payload));
            } else {
                chunk.push_record((id.slot, id.generation), OUT_BINARY, flags, 0, &payload);
            }
        }
        server.submit(Command::Chunk(chunk));
    }
    // Read in uneven pieces, so that the kernel takes uneven pieces.
    let mut got = Vec::new();
    for step in (1..).map(|n: usize| n * 7919 % 9000 + 1) {
        let step = step.min(expected.len() - got.len());
        if step == 0 {
            break;
        }
        got.extend(client.read(step));
    }
    assert!(got == expected, "all frames, in order");
    let mut marks = 0;
    while marks < expected_marks {
        match server.next() {
            Seen::Sent(count) => marks += count,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(marks, expected_marks);
}

#[test]
fn a_run_of_messages_leaves_in_order_whatever_comes_between_them() {
    let server = Server::serve(no_mark());
    let mut client = Client::open(server.address);
    let id = server.opened();
    let (whole, part) = (OUT_FLAG_FIN, 0);
    let middle = vec![b'm'; 126];
    let long = vec![b'l'; 5000];
    let mut chunk = Chunk::default();
    let own = (id.slot, id.generation);
    chunk.push_record(own, OUT_TEXT, whole, 0, b"one");
    chunk.push_record(own, OUT_BINARY, whole | OUT_FLAG_COMPRESS, 0, &middle);
    chunk.push_record((id.slot, id.generation + 1), OUT_TEXT, whole, 0, b"another's");
    chunk.push_record(own, OUT_TEXT, part, 0, b"a");
    chunk.push_record(own, OUT_PING, whole, 0, b"p");
    chunk.push_record(own, OUT_TEXT, whole, 0, b"b");
    chunk.push_record(own, OUT_TEXT, whole | OUT_FLAG_WANT_SENT, 0, b"");
    chunk.push_record(own, OUT_BINARY, whole, 0, &long);
    chunk.push_record(own, OUT_CLOSE, 0, 1000, b"");
    chunk.push_record(own, OUT_TEXT, whole, 0, b"too late");
    server.submit(Command::Chunk(chunk));
    let mut expected = Vec::new();
    for (first, payload) in [
        (0x81, &b"one"[..]),
        (0x82, &middle),
        (0x01, b"a"),
        (0x89, b"p"),
        (0x80, b"b"),
        (0x81, b""),
        (0x82, &long),
        (0x88, &[3, 232]),
    ] {
        expected.extend(frame(first, None, payload));
    }
    assert_eq!(client.read(expected.len()), expected);
    client.write(&frame(0x88, Some([0; 4]), &[3, 232]));
    client.expect_end();
}

/// R02.
#[test]
fn a_pong_between_partly_written_messages_lies_between_frames() {
    let server = narrow(no_mark(), Script::default());
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    let id = server.opened();
    let payload = numbered(1, 500_000);
    server.handle.send(id, MessageKind::Binary, &payload).unwrap();
    assert_eq!(client.read(10), bytes("82 7f 000000000007a120"));
    client.send("89 81 00000000 'p'");
    assert_eq!(server.next(), Seen::Ping(b"p".to_vec()));
    server.handle.send(id, MessageKind::Binary, b"last").unwrap();
    assert!(client.read(payload.len()) == payload);
    client.expect("8a 01 'p'  82 04 'last'");
}

#[test]
fn a_mark_is_reached_when_all_before_it_is_in_the_kernel_and_not_earlier() {
    let script = Script::on_message(|session, _| {
        session.mark();
        session.send(MessageKind::Binary, true, &[0; 4 << 20]);
        session.mark();
        session.mark();
        session.send(MessageKind::Text, true, b"last");
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
fn drain_comes_when_half_of_the_high_water_mark_is_reached_once_per_flood() {
    let listener = ListenerConfig { high_water_mark: 100_000, ..ListenerConfig::default() };
    let server = narrow(listener, Script::default());
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    let id = server.opened();
    for _ in 0..2 {
        server.handle.send(id, MessageKind::Binary, &[0; 4 << 20]).unwrap();
        client.read(10);
        client.send("8a 80 00000000");
        assert_eq!(server.next(), Seen::Pong(vec![]));
        client.read(4 << 20);
        assert_eq!(server.next(), Seen::Drain);
    }
    server.handle.send(id, MessageKind::Binary, &[0; 100]).unwrap();
    client.read(102);
    client.reset();
    assert_eq!(server.next(), Seen::Closed);
}
