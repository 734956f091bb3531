//! Messages of all sizes, in and out.

use crate::bridge::chunk::Chunk;
use crate::bridge::layout::{OUT_FLAG_FIN, OUT_TEXT};
use crate::reactor::Command;
use crate::reactor::tests::*;

const KEY: Option<[u8; 4]> = Some([0xa5, 0x5a, 0x3c, 0xc3]);

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn a_small_message_sent_back_is_copied_and_a_large_one_leaves_from_where_it_lies() {
    let script = Script::on_message(|conn, message| {
        let large = message.payload.len() >= 2048;
        conn.send(message.kind, true, message.payload);
        // Bytes that left from the receive buffer are in the kernel; copies wait until the turn ends.
        assert_eq!(conn.queued() == 0, large);
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
    let script = Script::on_message(|conn, message| {
        conn.send(message.kind, true, message.payload);
        conn.end();
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

/// J01.
#[test]
fn frames_for_a_connection_that_is_not_open_are_dropped() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    let mut client = Client::connect(address);
    turns::until(&mut reactor, |reactor| reactor.connections() == 1);
    let id = reactor.connections.find(0).unwrap().0;
    let mut chunk = Chunk::default();
    chunk.push_record((id.slot, id.generation), OUT_TEXT, OUT_FLAG_FIN, 0, b"too early");
    reactor.handle().submit(Command::Chunk(chunk)).unwrap();
    client.write(UPGRADE.as_bytes());
    client.send("81 82 00000000 'ok'");
    client.end();
    turns::until(&mut reactor, |reactor| reactor.connections() == 0);
    client.expect_text(client::SWITCHED);
    client.expect("81 02 'ok'");
}
