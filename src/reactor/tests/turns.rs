//! A reactor that the test turns itself.

use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::server::{Reporter, reactor};
use super::*;
use crate::reactor::{ConnectionId, Consumer, Reactor};

pub(crate) type Turned = Reactor<Reporter>;
pub(crate) type Reports = Receiver<(ConnectionId, Seen)>;

/// Turns until `done`.
#[track_caller]
pub(crate) fn until<C: Consumer>(reactor: &mut Reactor<C>, mut done: impl FnMut(&mut Reactor<C>) -> bool) {
    let begun = Instant::now();
    while !done(reactor) {
        assert!(begun.elapsed() < PATIENCE, "it did not come");
        reactor.run_once(Some(Duration::from_millis(10))).expect("epoll works");
    }
}

/// A client that has upgraded, and its connection.
pub(crate) fn open(reactor: &mut Turned, address: SocketAddr, seen: &Reports) -> (Client, ConnectionId) {
    let mut client = Client::asking(address);
    let mut opened = None;
    until(reactor, |_| {
        opened = seen.try_recv().ok();
        opened.is_some()
    });
    client.expect_text(client::SWITCHED);
    (client, opened.expect("it is open").0)
}

/// A reactor with one such client.
pub(crate) fn opened(setup: Setup) -> (Turned, Reports, Client, ConnectionId) {
    let (mut reactor, address, seen) = reactor(setup);
    let (client, id) = open(&mut reactor, address, &seen);
    (reactor, seen, client, id)
}

/// Each takes about as long as 16 KiB of messages.
#[test]
fn sockets_that_end_together_are_closed_in_several_turns() {
    let (mut reactor, address, _seen) = reactor(Setup::default());
    let mut clients = Vec::new();
    while clients.len() < 600 {
        // Fewer connections than can wait to be accepted.
        clients.extend(std::iter::repeat_with(|| Client::connect(address)).take(200));
        until(&mut reactor, |reactor| reactor.connections() == clients.len());
    }
    clients.into_iter().for_each(Client::reset);
    reactor.run_once(Some(Duration::ZERO)).expect("epoll works");
    let left = reactor.connections();
    assert!(left >= 600 - 512, "{left}");
    until(&mut reactor, |reactor| reactor.connections() == 0);
}

/// Whether one turn waits for as long as it should.
pub(crate) fn idle_for(reactor: &mut Turned, wait: Duration) -> bool {
    let begun = Instant::now();
    reactor.run_once(Some(wait)).expect("epoll works");
    begun.elapsed() >= wait
}

#[test]
fn nothing_is_left_to_do_when_a_turn_returns() {
    let (mut reactor, address, seen) = reactor(Setup::default());
    let mut client = Client::asking(address);
    client.write(&frame(0x82, Some([1, 2, 3, 4]), &[7; 300 << 10]));
    client.end();
    let mut open = 0;
    until(&mut reactor, |reactor| {
        assert!(reactor.writer.has_written() && !reactor.teardown.is_due());
        open += seen.try_iter().count();
        open >= 3
    });
}
