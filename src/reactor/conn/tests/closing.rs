//! The closing handshake in every order, and every other way in which a connection ends.

use std::time::Duration;

use crate::bridge::layout::{OUT_BINARY, OUT_CLOSE, OUT_FLAG_FIN, OUT_TERMINATE, OUT_TEXT};
use crate::reactor::ListenerConfig;
use crate::reactor::tests::*;

fn open() -> Seen {
    Seen::Open("/".into())
}

/// Our answer is the last frame: the connection ends at once (RFC 6455 section 7.1.1).
#[test]
fn f19_a_peer_that_closes_and_never_ends_keeps_nothing() {
    let listener = ListenerConfig { close_timeout: Duration::from_secs(600), ..ListenerConfig::default() };
    let server = Server::with(Setup { listener, ..Setup::default() });
    let mut client = Client::open(server.address);
    client.send("88 82 00000000 03e8");
    while server.next() != Seen::Closed {}
    client.expect("88 02 03e8");
    client.expect_end();
}

#[test]
fn a_consumer_that_answers_neither_end_nor_close_frame_keeps_no_dead_connection() {
    for last in ["", "88 82 00000000 03e8"] {
        let script =
            Script { end: Some(Box::new(|_| {})), close: Some(Box::new(|_| {})), ..Script::default() };
        let listener =
            ListenerConfig { close_timeout: Duration::from_millis(30), ..ListenerConfig::default() };
        let server = Server::with(Setup { script, listener, ..Setup::default() });
        let mut client = Client::open(server.address);
        client.send(last);
        client.end();
        while server.next() != Seen::Closed {}
    }
}

#[test]
fn terminate_on_opening_reports_nothing_that_came_behind_the_head() {
    let server = Server::script(Script::on_open(|conn| conn.terminate()));
    let mut client = Client::connect(server.address);
    client.write(&[UPGRADE.as_bytes(), &bytes("81 81 00000000 'a'")].concat());
    client.expect_text(client::SWITCHED);
    server.expect(&[open(), Seen::Closed]);
    server.expect_silence();
}

/// R01.
#[test]
fn terminate_by_handle_closes_although_the_peer_does_not_read() {
    let server = Server::with(Setup { send_buffer: Some(8 << 10), ..Setup::default() });
    let client = Client::connect_narrow(server.address, 8 << 10).upgrade();
    let id = server.opened();
    server.send(id, OUT_BINARY, &[0; 1 << 20]);
    server.send(id, OUT_TERMINATE, b"");
    server.send(id, OUT_TERMINATE, b"");
    assert_eq!(server.next(), Seen::Closed);
    drop(client);
    server.expect_silence();
}

#[test]
fn r05_frames_after_our_close_frame_are_dropped_and_a_second_close_is_none() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let id = server.opened();
    let far = OUT_FLAG_FIN;
    server.records(
        id,
        &[
            (OUT_TEXT, far, 0, b"a"),
            (OUT_CLOSE, 0, 1001, b"x"),
            (OUT_TEXT, far, 0, b"b"),
            (OUT_CLOSE, 0, 1000, b""),
        ],
    );
    client.expect("81 01 'a'  88 03 03e9 'x'");
    client.send("88 82 00000000 03e9");
    client.expect_end();
}

#[test]
fn stop_writes_what_was_queued_before_it_and_closes_all() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let mut silent = Client::connect(server.address);
    let id = server.opened();
    server.send(id, OUT_TEXT, b"last");
    assert_eq!(server.stop(), [Seen::Closed, Seen::ListenerClosed(0)]);
    client.expect("81 04 'last'");
    client.read_to_end();
    silent.read_to_end();
}
