//! The closing handshake in every order, and every other way in which a connection ends.

use std::time::{Duration, Instant};

use crate::bridge::layout::{OUT_CLOSE, OUT_FLAG_FIN, OUT_TEXT};
use crate::engine::CloseCode;
use crate::reactor::ListenerConfig;
use crate::reactor::tests::*;

fn open() -> Seen {
    Seen::Open("/".into())
}

/// A client with the server's close frame 1000 on its way to it.
fn closed_by_server() -> (Server, Client) {
    let server = Server::script(Script::on_open(|session| session.close(CloseCode::new(1000), b"bye")));
    let mut client = Client::open(server.address);
    client.expect("88 05 03e8 'bye'");
    assert_eq!(server.next(), open());
    (server, client)
}

#[test]
fn the_peer_closes_first_and_ends_when_it_has_our_end_or_at_once() {
    for (frame, answer, code, reason) in [
        ("88 85 00000000 03e8 'bye'", "88 05 03e8 'bye'", Some(1000), &b"bye"[..]),
        ("88 80 00000000", "88 00", None, b""),
    ] {
        for ends_at_once in [false, true] {
            let server = Server::echo();
            let mut client = Client::open(server.address);
            client.send(frame);
            if ends_at_once {
                client.end();
            }
            client.expect(answer);
            client.expect_end();
            drop(client);
            server.expect(&[open(), Seen::Close(code, reason.to_vec()), Seen::Closed]);
        }
    }
}

#[test]
fn we_close_first_and_the_peer_answers_says_more_or_just_ends() {
    let answered = Seen::Close(Some(1000), vec![]);
    for (answer, seen) in [
        ("88 82 00000000 03e8", vec![answered.clone(), Seen::Closed]),
        ("81 81 00000000 'x'  88 82 00000000 03e8", vec![Seen::Text(b"x".to_vec()), answered, Seen::Closed]),
        ("", vec![Seen::End, Seen::Closed]),
    ] {
        for ends_at_once in [false, true] {
            let (server, mut client) = closed_by_server();
            client.send(answer);
            if ends_at_once || answer.is_empty() {
                client.end();
            }
            client.expect_end();
            drop(client);
            server.expect(&seen);
        }
    }
}

#[test]
fn both_close_at_once() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let id = server.opened();
    client.send("88 82 00000000 03e9");
    server.handle.close(id, CloseCode::new(1000), b"").unwrap();
    let code = client.read(4);
    assert!(code == bytes("88 02 03e8") || code == bytes("88 02 03e9"), "{code:02x?}");
    client.expect_end();
    client.end();
    server.expect(&[Seen::Close(Some(1001), vec![]), Seen::Closed]);
}

#[test]
fn f19_what_comes_after_a_close_frame_is_ignored() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    client.send("88 82 00000000 03e8  81 81 00000000 'x'  88 82 00000000 03e9  ff");
    client.expect("88 02 03e8");
    client.expect_end();
    server.expect(&[open(), Seen::Close(Some(1000), vec![]), Seen::Closed]);
}

#[test]
fn f19_a_peer_that_never_answers_our_close_frame_is_cut_off() {
    without_end("81 80 00000000");
}

#[test]
fn f19_a_peer_that_never_ends_after_its_close_frame_is_cut_off() {
    without_end("88 82 00000000 03e8");
}

fn without_end(answer: &str) {
    let script = Script::on_message(|_, _| {});
    let listener = ListenerConfig { close_timeout: Duration::from_millis(60), ..ListenerConfig::default() };
    let server = Server::with(Setup { script, listener, ..Setup::default() });
    let mut client = Client::open(server.address);
    let id = server.opened();
    let begun = Instant::now();
    server.handle.close(id, None, b"").unwrap();
    client.expect("88 00");
    client.send(answer);
    while server.next() != Seen::Closed {}
    assert!(begun.elapsed() >= Duration::from_millis(60));
    client.drain();
}

/// Our answer is the last frame: the connection waits for nobody (RFC 6455 section 7.1.1).
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

/// O03.
#[test]
fn an_end_without_a_close_frame_is_reported_and_answered() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    client.send("81 81 00000000 'x'");
    client.end();
    client.expect("81 01 'x'");
    client.expect_end();
    server.expect(&[open(), Seen::Text(b"x".to_vec()), Seen::End, Seen::Closed]);
}

#[test]
fn o03_an_end_in_the_middle_of_a_frame_is_an_end() {
    let server = Server::echo();
    let stream = bytes("81 83 01020304 6061 62");
    for cut in 1..stream.len() {
        let mut client = Client::open(server.address);
        client.write(&stream[..cut]);
        client.end();
        client.expect_end();
        server.expect(&[open(), Seen::End, Seen::Closed]);
    }
}

#[test]
fn o05_what_is_queued_when_the_peer_ends_is_written() {
    let script = Script {
        end: Some(Box::new(|session| {
            session.send(crate::engine::MessageKind::Binary, true, &[7; 3 << 20]);
            session.end();
        })),
        ..Script::default()
    };
    let listener = ListenerConfig { high_water_mark: usize::MAX, ..ListenerConfig::default() };
    let server = Server::with(Setup { script, listener, send_buffer: Some(8 << 10), ..Setup::default() });
    let mut client = Client::open(server.address);
    client.end();
    client.expect("82 7f 0000000000300000");
    assert_eq!(client.drain(), 3 << 20);
    server.expect(&[open(), Seen::End, Seen::Closed]);
}

#[test]
fn o01_a_reset_closes_without_more_ado() {
    let server = Server::echo();
    for before in ["", "81", "81 81 00000000 'x'"] {
        let mut client = Client::open(server.address);
        client.send(before);
        if before.len() > 2 {
            client.expect("81 01 'x'");
        }
        client.reset();
        assert_eq!(server.next(), open());
        while server.next() != Seen::Closed {}
    }
    let (server, client) = closed_by_server();
    client.reset();
    assert_eq!(server.next(), Seen::Closed);
    server.expect_silence();
}

#[test]
fn o01_a_reset_after_both_close_frames_closes() {
    let (server, mut client) = closed_by_server();
    client.send("88 80 00000000");
    client.expect_end();
    client.reset();
    server.expect(&[Seen::Close(None, vec![]), Seen::Closed]);
}

/// J05.
#[test]
fn terminate_writes_what_is_queued_and_reports_no_more_of_what_was_read() {
    let script = Script::on_message(|session, message| {
        session.send(message.kind, true, message.payload);
        session.terminate();
        session.terminate();
    });
    let server = Server::script(script);
    let mut client = Client::open(server.address);
    client.send("81 81 00000000 'a'  81 81 00000000 'b'  89 80 00000000  88 80 00000000");
    client.expect("81 01 'a'");
    assert_eq!(client.read_to_end(), b"");
    server.expect(&[open(), Seen::Text(b"a".to_vec()), Seen::Closed]);
    server.expect_silence();
}

#[test]
fn terminate_on_opening_reports_nothing_that_came_behind_the_head() {
    let server = Server::script(Script::on_open(|session| session.terminate()));
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
    server.handle.send(id, crate::engine::MessageKind::Binary, &[0; 1 << 20]).unwrap();
    server.handle.terminate(id).unwrap();
    server.handle.terminate(id).unwrap();
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
fn r05_a_peer_that_does_not_read_what_comes_before_the_close_frame_is_cut_off() {
    let listener = ListenerConfig { close_timeout: Duration::from_millis(60), ..ListenerConfig::default() };
    let server = Server::with(Setup { listener, send_buffer: Some(8 << 10), ..Setup::default() });
    let client = Client::connect_narrow(server.address, 8 << 10).upgrade();
    let id = server.opened();
    server.handle.send(id, crate::engine::MessageKind::Binary, &[0; 8 << 20]).unwrap();
    server.handle.close(id, None, b"").unwrap();
    assert_eq!(server.next(), Seen::Closed);
    drop(client);
}

#[test]
fn stop_writes_what_was_queued_before_it_and_closes_all() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let mut silent = Client::connect(server.address);
    let id = server.opened();
    server.handle.send(id, crate::engine::MessageKind::Text, b"last").unwrap();
    assert_eq!(server.stop(), [Seen::Closed, Seen::ListenerClosed(0)]);
    client.expect("81 04 'last'");
    client.read_to_end();
    silent.read_to_end();
}
