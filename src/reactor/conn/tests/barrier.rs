//! The order of events for a peer and for the consumer on another thread.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::ops::Deref;

use crate::bridge::batch::Batch;
use crate::bridge::layout::*;
use crate::reactor::tests::bridge::{Js, forward};
use crate::reactor::tests::client::SWITCHED;
use crate::reactor::tests::server::{bind, listen};
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId, ListenerConfig, ReactorConfig};

/// Another listener of the same reactor, with the defaults: its handshakes wait.
const GATED: u32 = 1;

struct Gated {
    js: Js,
    address: SocketAddr,
}

impl Deref for Gated {
    type Target = Js;

    fn deref(&self) -> &Js {
        &self.js
    }
}

fn start() -> Gated {
    let (mut js, mut reactor) = forward(ReactorConfig::default());
    let listener = bind();
    let address = listener.address();
    listen(&js.handle, GATED, listener, ListenerConfig::default());
    js.thread = Some(std::thread::spawn(move || reactor.run().expect("epoll works")));
    Gated { js, address }
}

/// A client that is open.
fn opened() -> (Gated, Client, ConnectionId) {
    let js = start();
    let mut client = js.ask();
    let id = js.opened(IN_OPEN);
    client.expect_text(SWITCHED);
    (js, client, id)
}

impl Gated {
    fn ask(&self) -> Client {
        Client::asking(self.address)
    }

    /// Nothing arrived although the reactor has run: it has answered a client that came later.
    #[track_caller]
    fn nothing_came(&self, client: &Client) {
        let mut other = Client::connect(self.js.address);
        other.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(other.read_head().starts_with("HTTP/1.1 426"));
        client.0.set_nonblocking(true).unwrap();
        let peeked = client.0.peek(&mut [0]);
        client.0.set_nonblocking(false).unwrap();
        assert!(peeked.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{peeked:?}");
    }
}

impl Js {
    /// Gives the batch back, as JavaScript does when all that is in it has been delivered.
    fn give_back(&self, batch: Box<Batch>) {
        if self.link.inbox.give_back(batch) {
            self.handle.wake().unwrap();
        }
    }
}

/// The consumer decides about the connection although it is open: its answer comes instead of the
/// 101, which it can release later.
#[test]
fn an_answer_that_has_not_left_can_be_taken_back() {
    const REFUSAL: &[u8] = b"HTTP/1.1 401 Unauthorized\r\n\r\n";
    for (kind, payload) in
        [(OUT_RESUME, &b""[..]), (OUT_RESPOND, REFUSAL), (OUT_WRITE, REFUSAL), (OUT_TERMINATE, b"")]
    {
        let js = start();
        let mut client = js.ask();
        client.write(&bytes("89 80 00000000"));
        let batch = js.take();
        let id = identify(&batch);
        js.send(id, OUT_PAUSE, 0, 1, b"");
        js.give_back(batch);
        js.nothing_came(&client);
        js.send(id, kind, 0, 0, payload);
        match kind {
            OUT_RESUME => client.expect_text(SWITCHED),
            OUT_TERMINATE => {
                // The ping can be too late for the batch.
                while js.records(1)[0].kind != IN_CLOSED {}
                client.expect_end();
            }
            _ => client.expect_text(std::str::from_utf8(payload).unwrap()),
        }
    }
}

/// The consumer has dealt with the connection; earlier ends come first.
#[test]
fn an_answer_that_is_withheld_leaves_when_the_consumer_says_so_or_ends_the_connection() {
    for kind in [OUT_DEFER, OUT_TERMINATE] {
        let js = start();
        let mut client = js.ask();
        let batch = js.take();
        let id = identify(&batch);
        js.send(id, OUT_DEFER, OUT_FLAG_ON, 0, b"");
        js.send(id, OUT_TEXT, OUT_FLAG_FIN, 0, b"first");
        js.give_back(batch);
        js.nothing_came(&client);
        js.send(id, kind, 0, 0, b"");
        client.expect_text(SWITCHED);
        client.expect("81 05 'first'");
        if kind == OUT_TERMINATE {
            assert_eq!(js.records(1)[0].kind, IN_CLOSED);
            client.expect_end();
        }
    }
}

#[test]
fn one_that_is_refused_behind_its_answer_ends() {
    let (js, mut client, id) = opened();
    js.send(id, OUT_PAUSE, 0, 1, b"");
    js.send(id, OUT_RESPOND, 0, 0, b"HTTP/1.1 401 Unauthorized\r\n\r\n");
    assert_eq!(js.records(1)[0].kind, IN_CLOSED);
    client.expect_end();
}

#[test]
fn one_that_is_terminated_before_has_its_answer() {
    let js = start();
    let mut client = js.ask();
    let batch = js.take();
    js.send(identify(&batch), OUT_TERMINATE, 0, 0, b"");
    client.expect_text(SWITCHED);
    js.nothing_came(&client);
    js.give_back(batch);
    assert_eq!(js.records(1)[0].kind, IN_CLOSED);
    client.expect_end();
}

#[test]
fn the_end_of_a_socket_follows_that_its_record_has_been_dealt_with() {
    for kind in [OUT_TERMINATE, OUT_END] {
        let (js, mut client, id) = opened();
        if kind == OUT_END {
            client.end();
            assert_eq!(js.records(1)[0].kind, IN_END);
        }
        js.send(id, kind, 0, 0, b"");
        let batch = js.take();
        assert_eq!(batch.records[0].kind().0, IN_CLOSED);
        js.nothing_came(&client);
        js.give_back(batch);
        client.expect_end();
    }
}

#[test]
fn nobody_waits_for_a_reactor_that_stops() {
    let js = start();
    let mut client = js.ask();
    let batch = js.take();
    js.send(identify(&batch), OUT_TEXT, OUT_FLAG_FIN, 0, b"last");
    js.handle.submit(Command::Stop).unwrap();
    client.expect_text(SWITCHED);
    client.expect("81 04 'last'");
    client.expect_end();
}

/// The connection that a batch opens.
fn identify(batch: &Batch) -> ConnectionId {
    let words = batch.records[0].0;
    let start = words[2] as usize;
    let generation = u32::from_le_bytes(*batch.bytes[start..].first_chunk().unwrap());
    ConnectionId { slot: words[0], generation }
}
