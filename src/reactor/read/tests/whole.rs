//! Messages that a read ends within.

use socket2::SockRef;

use crate::bridge::batch::Batch;
use crate::bridge::layout::{
    IN_BINARY, IN_FLAG_OWNED, IN_OPEN, IN_TEXT, OUT_FLAG_FIN, OUT_PAUSE, OUT_RESUME,
};
use crate::reactor::config::{READ_BUDGET, READ_SIZE, TURN_BUDGET};
use crate::reactor::tests::bridge::{Js, forward};
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, Forward, Reactor, ReactorConfig};

const KEY: Option<[u8; 4]> = Some([0xa5, 0x5a, 0x3c, 0xc3]);

/// A connection with a peer that can send a megabyte before anything is read.
fn open() -> (Js, Reactor<Forward>, Client, ConnectionId) {
    let (js, mut reactor) = forward(ReactorConfig::default());
    let mut client = Client::asking(js.address);
    while js.link.inbox.weight() == 0 {
        turn(&mut reactor);
    }
    let id = js.opened(IN_OPEN);
    client.expect_text(client::SWITCHED);
    let connection = reactor.connections.get_mut(id.slot).expect("it is open");
    SockRef::from(connection.transport.as_tcp().unwrap()).set_recv_buffer_size(2 << 20).unwrap();
    SockRef::from(&client.0).set_send_buffer_size(2 << 20).unwrap();
    (js, reactor, client, id)
}

fn turn(reactor: &mut Reactor<Forward>) {
    reactor.run_once(Some(Duration::from_millis(10))).expect("epoll works");
}

/// Writes, and waits until all of it can be read.
fn write(client: &mut Client, reactor: &mut Reactor<Forward>, id: ConnectionId, stream: &[u8]) {
    client.write(stream);
    let connection = reactor.connections.get_mut(id.slot).expect("it is open");
    let mut there = vec![0; stream.len()];
    let begun = std::time::Instant::now();
    while connection.transport.as_tcp().unwrap().peek(&mut there).ok() != Some(stream.len()) {
        assert!(begun.elapsed() < PATIENCE, "it did not come");
        std::thread::yield_now();
    }
}

/// Kind and payload of each message, and whether it has memory of its own.
fn messages(batch: &Batch) -> Vec<(u8, Vec<u8>, bool)> {
    let messages = batch.records.iter().map(|record| {
        let (kind, flags, _) = record.kind();
        let (at, len) = (record.0[2] as usize, record.0[3] as usize);
        let owned = flags & IN_FLAG_OWNED != 0;
        let payload = if owned { batch.large[at].clone() } else { batch.bytes[at..at + len].to_vec() };
        (kind, payload, owned)
    });
    messages.collect()
}

/// Takes `count` messages.
fn receive(js: &Js, reactor: &mut Reactor<Forward>, count: usize) -> Vec<(u8, Vec<u8>, bool)> {
    let mut all = Vec::new();
    while all.len() < count {
        turn(reactor);
        while let Some(batch) = js.link.inbox.take() {
            all.extend(messages(&batch));
            let _ = js.link.inbox.give_back(batch);
        }
    }
    all
}

fn payload(n: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| b'a' + ((n * 7 + at / 5) % 26) as u8).collect()
}

/// Each message is longer than a read, and the bytes of a turn end within one.
#[test]
fn a_message_that_a_read_ends_within_stays_where_it_was_read_to() {
    let (js, mut reactor, mut client, id) = open();
    let len = READ_SIZE + 5_000;
    let stream: Vec<u8> = (0..6).flat_map(|n| frame(0x81, KEY, &payload(n, len))).collect();
    write(&mut client, &mut reactor, id, &stream);
    let seen = receive(&js, &mut reactor, 6);
    for (n, (kind, text, owned)) in seen.iter().enumerate() {
        assert!(*kind == IN_TEXT && *text == payload(n, len), "message {n}");
        assert!(!owned, "message {n} was assembled");
    }
}

/// Only the rest of one message is read beyond the connection's share.
#[test]
fn r17_the_share_of_a_turn_is_exceeded_by_the_rest_of_a_message_only() {
    let (js, mut reactor, mut client, id) = open();
    let len = 50_000;
    let stream: Vec<u8> = (0..12).flat_map(|n| frame(0x82, KEY, &payload(n, len))).collect();
    write(&mut client, &mut reactor, id, &stream);
    turn(&mut reactor);
    let spent = TURN_BUDGET - reactor.reader.turn_budget;
    assert!(spent > READ_BUDGET && spent < READ_BUDGET + len, "{spent} bytes were read");
    assert_eq!(spent % (stream.len() / 12), 0, "a turn ends with a message");
    let seen = receive(&js, &mut reactor, 12);
    assert!(seen.iter().enumerate().all(|(n, (_, data, _))| *data == payload(n, len)));
}

/// A message too long to wait for is assembled; the one after it stays where it is.
#[test]
fn a_message_behind_one_that_was_assembled() {
    let (js, mut reactor, mut client, id) = open();
    let lengths = [10, 3 * READ_SIZE, 30_000, 30_000, READ_SIZE + 1, 20];
    let frames: Vec<Vec<u8>> =
        lengths.iter().enumerate().map(|(n, len)| frame(0x82, KEY, &payload(n, *len))).collect();
    write(&mut client, &mut reactor, id, &frames.concat());
    let seen = receive(&js, &mut reactor, lengths.len());
    for (n, (kind, data, owned)) in seen.iter().enumerate() {
        assert!(*kind == IN_BINARY && *data == payload(n, lengths[n]), "message {n}");
        assert_eq!(*owned, n == 1, "message {n}");
    }
}

/// A turn that ends within a message because the socket is empty leaves its beginning to the
/// engine, also where its rest, and what a paused connection is sent, comes much later.
#[test]
fn a_message_whose_rest_comes_later() {
    let (js, mut reactor, mut client, id) = open();
    let stream: Vec<u8> = (0..4).flat_map(|n| frame(0x81, KEY, &payload(n, 40_000))).collect();
    let (now, later) = stream.split_at(READ_SIZE);
    write(&mut client, &mut reactor, id, now);
    let first = receive(&js, &mut reactor, 1);
    assert!(first[0].1 == payload(0, 40_000));
    let connection = reactor.connections.get_mut(id.slot).expect("it is open");
    assert!(connection.engine.buffered() >= READ_SIZE - 40_100);
    js.send(id, OUT_PAUSE, OUT_FLAG_FIN, 0, b"");
    turn(&mut reactor);
    write(&mut client, &mut reactor, id, later);
    turn(&mut reactor);
    js.send(id, OUT_RESUME, OUT_FLAG_FIN, 0, b"");
    let rest = receive(&js, &mut reactor, 3);
    assert!(rest.iter().zip(1..).all(|((_, data, _), n)| *data == payload(n, 40_000)));
    assert_eq!(reactor.connections.get_mut(id.slot).expect("it is open").engine.buffered(), 0);
}

/// Earlier bytes come first, and leave nothing.
#[test]
fn kept_bytes() {
    let (_js, mut reactor) = forward(ReactorConfig::default());
    let reader = &mut reactor.reader;
    reader.keep(7, b"abc");
    reader.keep(7, b"de");
    reader.keep(8, b"");
    let mut room = [0; 4];
    assert_eq!((reader.read_kept(7, &mut room), &room), (Some(4), b"abcd"));
    assert_eq!((reader.keeps(7), reader.keeps(8)), (true, false));
    assert_eq!((reader.read_kept(7, &mut room), room[0]), (Some(1), b'e'));
    assert!(reader.kept.is_empty() && reader.read_kept(7, &mut room).is_none());
}
