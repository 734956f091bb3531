use std::sync::mpsc::{channel, sync_channel};

use super::client::{BOTH, Secured, config};
use super::{echo, listener};
use crate::bridge::layout::{OUT_FLAG_FIN, OUT_FLAG_WANT_SENT, OUT_PAUSE, OUT_RESUME, OUT_TEXT};
use crate::reactor::tests::{Client, Script, Seen, Server, Setup, frame};
use crate::reactor::tls::tests::server;
use crate::reactor::{Cause, Command, ConnectionId, Export};

const KEY: [u8; 4] = [1, 2, 3, 4];

/// Around the sizes that matter: of frames, of messages written from where they are, of records, of
/// reads.
const SIZES: [usize; 24] = [
    0, 1, 20, 125, 126, 1000, 2047, 2048, 2049, 4095, 4096, 4097, 8192, 16_300, 16_383, 16_384, 16_385,
    20_000, 32_768, 65_535, 65_536, 65_537, 200_000, 1_048_576,
];

fn payload(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + size) as u8).collect()
}

fn expect_echo(client: &mut Secured, size: usize) {
    let expected = frame(0x82, None, &payload(size));
    let got = client.read(expected.len());
    assert!(got == expected, "{size}");
}

#[test]
fn messages_of_every_size_come_back_with_either_version_and_byte_by_byte() {
    let server = echo();
    for (version, chopped) in BOTH.into_iter().flat_map(|version| [(version, false), (version, true)]) {
        let mut client = Secured::to(server.address, config(&[version], None));
        client.chopped = chopped;
        let mut client = client.upgrade();
        for size in SIZES.into_iter().filter(|&size| !chopped || size <= 20_000) {
            client.write(&frame(0x82, Some(KEY), &payload(size)));
            expect_echo(&mut client, size);
        }
    }
}

#[test]
fn a_peer_that_reads_late_gets_everything() {
    let server =
        Server::with(Setup { listener: listener(server()), send_buffer: Some(8 << 10), ..Setup::default() });
    let socket = Client::connect_narrow(server.address, 4 << 10);
    let mut client = Secured::over(socket, config(&BOTH, None), "localhost").upgrade();
    // Less than both sockets' buffers hold: the echo is not read meanwhile.
    for _ in 0..3 {
        for size in SIZES.into_iter().filter(|&size| size <= 4096) {
            client.write(&frame(0x82, Some(KEY), &payload(size)));
        }
        for size in SIZES.into_iter().filter(|&size| size <= 4096) {
            expect_echo(&mut client, size);
        }
    }
}

/// What is sent to a peer that does not read is reported when the kernel has it, and not when it is
/// encrypted.
#[test]
fn a_report_waits_for_the_kernel() {
    const LONG: usize = 300_000;
    let server =
        Server::with(Setup { listener: listener(server()), send_buffer: Some(8 << 10), ..Setup::default() });
    let socket = Client::connect_narrow(server.address, 4 << 10);
    let mut client = Secured::over(socket, config(&BOTH, None), "localhost").upgrade();
    let id = server.opened();
    let long = payload(LONG);
    let send: (u8, u8, u16, &[u8]) = (OUT_TEXT, OUT_FLAG_FIN | OUT_FLAG_WANT_SENT, 0, &long);
    server.records(id, &[send]);
    client.write(&frame(0x89, Some(KEY), b"ping"));
    server.expect(&[Seen::Ping(b"ping".to_vec())]);
    // The kernel's buffers are much shorter.
    server.expect_silence();
    let got = client.read(frame(0x81, None, &long).len());
    assert!(got == frame(0x81, None, &long));
    server.expect(&[Seen::Sent(1)]);
}

#[test]
fn a_paused_connection_is_read_on_where_it_was() {
    let server = echo();
    for size in SIZES.into_iter().filter(|&size| size <= 65_537) {
        let mut client = Secured::open(server.address);
        let id = server.opened();
        server.records(id, &[(OUT_PAUSE, 0, 0, b"")]);
        client.write(&frame(0x82, Some(KEY), &payload(size)));
        client.write(&frame(0x82, Some(KEY), &payload(1)));
        server.records(id, &[(OUT_RESUME, 0, 0, b"")]);
        expect_echo(&mut client, size);
        expect_echo(&mut client, 1);
        client.close_notify();
        server.expect(&[Seen::Binary(payload(size)), Seen::Binary(payload(1)), Seen::End]);
        client.expect_end();
        server.expect(&[Seen::Closed]);
    }
}

/// The end is a record, which is not read with the bytes before it.
#[test]
fn a_paused_connection_whose_peer_leaves_is_told_so() {
    let server = echo();
    let mut client = Secured::open(server.address);
    let id = server.opened();
    server.records(id, &[(OUT_PAUSE, 0, 0, b"")]);
    client.close_notify();
    client.socket.end();
    server.expect(&[Seen::End]);
    client.expect_end();
    server.expect(&[Seen::Closed]);
}

/// A server with connections that report why they have ended.
fn reporting() -> (Server, std::sync::mpsc::Receiver<Cause>) {
    let (sender, causes) = channel();
    let script = Script { closed: Box::new(move |cause| sender.send(cause).unwrap()), ..Script::default() };
    (Server::with(Setup { script, listener: listener(server()), ..Setup::default() }), causes)
}

#[test]
fn close_notify_and_a_fin_alone_are_both_ends_and_only_the_cause_differs() {
    let (server, causes) = reporting();
    let mut client = Secured::open(server.address);
    server.opened();
    client.close_notify();
    server.expect(&[Seen::End]);
    client.expect_end();
    server.expect(&[Seen::Closed]);
    assert_eq!(causes.recv(), Ok(Cause::Fin));

    let client = Secured::open(server.address);
    server.opened();
    client.socket.end();
    server.expect(&[Seen::End, Seen::Closed]);
    assert_eq!(causes.recv(), Ok(Cause::Reset));

    // After the closing handshake of WebSocket nothing is missing.
    let mut client = Secured::open(server.address);
    server.opened();
    client.write(&frame(0x88, Some(KEY), &[3, 232]));
    client.socket.end();
    server.expect(&[Seen::Close(Some(1000), Vec::new()), Seen::Closed]);
    assert_eq!(causes.recv(), Ok(Cause::Closed));
}

#[test]
fn a_server_that_closes_ends_with_close_notify() {
    let server = echo();
    let mut client = Secured::open(server.address);
    server.opened();
    client.write(&frame(0x88, Some(KEY), &[3, 232]));
    assert_eq!(client.read(4), [0x88, 2, 3, 232]);
    client.expect_end();
}

#[test]
fn records_that_break_the_rules_end_the_connection_after_what_came_before() {
    for bad in [&[23, 3, 3, 0, 20][..], &[99, 3, 3, 0, 1, 0], &[23, 3, 3, 255, 255], &[22, 3, 3, 0, 0]] {
        let (server, causes) = reporting();
        let mut client = Secured::open(server.address);
        server.opened();
        client.write(&frame(0x82, Some(KEY), b"last"));
        let mut bytes = bad.to_vec();
        bytes.resize(64, 0);
        client.socket.write(&bytes);
        server.expect(&[Seen::Binary(b"last".to_vec()), Seen::Closed]);
        assert_eq!(causes.recv(), Ok(Cause::Reset));
    }
}

#[test]
fn both_sides_export_the_same_key_material() {
    let server = echo();
    let client = Secured::open(server.address);
    let id = server.opened();
    let ask = |id: ConnectionId, len, label: &[u8], context: Option<&[u8]>| {
        let (reply, answer) = sync_channel(1);
        let context = context.map(<[u8]>::to_vec);
        let export = Export { len, label: label.to_vec(), context, reply };
        server.submit(Command::Export { id, export });
        answer.recv().ok().flatten()
    };
    for context in [None, Some(&b"context"[..])] {
        let expected = client.tls.export_keying_material([0; 32], b"EXPORTER-test", context).unwrap();
        assert_eq!(ask(id, 32, b"EXPORTER-test", context).as_deref(), Some(&expected[..]));
    }
    let gone = ConnectionId { generation: id.generation + 1, ..id };
    assert_eq!(ask(gone, 32, b"EXPORTER-test", None), None);
    assert_eq!(ask(id, 1 << 20, b"EXPORTER-test", None), None);
}
