//! P11: a panic closes one connection, with 1011, and nothing else.

use std::sync::mpsc;

use crate::bridge::layout::{Cause, OUT_BINARY, OUT_FLAG_FIN};
use crate::reactor::tests::*;

/// The connection of the panic is closed with 1011, reported once with its cause, and a canary lives on.
fn survives(script: Script, act: impl FnOnce(&mut Client)) {
    check(script, true, act);
}

fn check(mut script: Script, says_1011: bool, act: impl FnOnce(&mut Client)) {
    let (sender, causes) = mpsc::channel();
    let mut closed = script.closed;
    script.closed = Box::new(move |cause| {
        sender.send(cause).unwrap();
        closed(cause);
    });
    let server = Server::script(script);
    let mut canary = Client::open(server.address);
    let canary_id = server.opened();
    let mut client = Client::asking(server.address);
    act(&mut client);
    let received = client.read_to_end();
    let last_word = bytes("88 02 03f3");
    assert_eq!(received.ends_with(&last_word), says_1011, "{received:02x?}");
    drop(client);
    loop {
        let (id, seen) = server.next_of();
        assert_ne!(id, canary_id);
        if seen == Seen::Closed {
            break;
        }
    }
    assert_eq!(causes.recv().unwrap(), if says_1011 { Cause::Panic } else { Cause::Closed });
    canary.send("82 81 00000000 01");
    canary.expect("82 01 01");
    assert_eq!(server.next_of(), (canary_id, Seen::Binary(vec![1])));
    server.expect_silence();
}

#[test]
fn p11_in_on_open() {
    let mut count = 0;
    let script = Script::on_open(move |_| {
        count += 1;
        assert_eq!(count, 1, "on purpose");
    });
    survives(script, |_| {});
}

#[test]
fn p11_in_on_close() {
    let script = Script { close: Some(Box::new(|_| panic!("on purpose"))), ..Script::default() };
    survives(script, |client| client.send("88 80 00000000"));
}

#[test]
fn p11_in_on_closed() {
    let mut first = true;
    let closed = Box::new(move |_| assert!(!std::mem::take(&mut first), "on purpose"));
    // Both close frames have been sent by then.
    check(Script { closed, ..Script::default() }, false, |client| {
        client.send("88 80 00000000");
        client.end();
    });
}

#[test]
fn p11_nothing_of_the_connection_is_reported_or_sent_after_it() {
    let script = Script::on_message(|conn, message| {
        conn.send(message.kind, true, b"before");
        assert_eq!(message.payload, b"", "on purpose");
    });
    let server = Server::script(script);
    let mut client = Client::open(server.address);
    let id = server.opened();
    client.send("82 81 00000000 01  82 81 00000000 02");
    client.expect("82 06 'before'  88 02 03f3");
    client.expect_end();
    server.expect(&[Seen::Binary(vec![1])]);
    server.records(id, &[(OUT_BINARY, OUT_FLAG_FIN, 0, b"late")]);
    client.send("82 81 00000000 03  89 80 00000000  88 80 00000000");
    client.end();
    client.expect_end();
    server.expect(&[Seen::Closed]);
    server.expect_silence();
}
