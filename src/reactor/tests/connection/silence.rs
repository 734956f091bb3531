//! Pings, and the end of connections to peers that do not answer.

use std::time::{Duration, Instant};

use crate::bridge::layout::OUT_RESUME;
use crate::reactor::ListenerConfig;
use crate::reactor::config::TIMER_BUDGET;
use crate::reactor::tests::*;

const SOON: Duration = Duration::from_millis(60);

/// O04.
#[test]
fn after_the_ping_interval_a_ping_is_sent_and_after_another_the_connection_ended() {
    let server = Server::serve(ListenerConfig { ping_interval: SOON, ..ListenerConfig::default() });
    let begun = Instant::now();
    let mut client = Client::open(server.address);
    client.expect("89 00");
    assert!(begun.elapsed() >= SOON / 2);
    client.read_to_end();
    assert!(begun.elapsed() >= SOON);
    server.expect(&[Seen::Open("/".into()), Seen::Closed]);
}

#[test]
fn a_peer_that_answers_pings_stays() {
    let listener = ListenerConfig { ping_interval: SOON, ..ListenerConfig::default() };
    let (mut reactor, address, seen) = server::reactor(Setup { listener, ..Setup::default() });
    let mut client = Client::connect(address);
    client.write(UPGRADE.as_bytes());
    turns::until(&mut reactor, |_| seen.try_recv().is_ok());
    client.expect_text(client::SWITCHED);
    client.0.set_nonblocking(true).unwrap();
    for _ in 0..3 {
        // The peer answers before the next turn, however late that is.
        turns::until(&mut reactor, |_| client.0.peek(&mut [0; 2]).is_ok_and(|len| len == 2));
        client.expect("89 00");
        client.send("8a 80 00000000");
        turns::until(&mut reactor, |reactor| {
            assert_eq!(reactor.connections(), 1, "its answer had come");
            seen.try_recv().is_ok_and(|(_, seen)| seen == Seen::Pong(vec![]))
        });
    }
}

/// O04, R04.
#[test]
fn after_the_idle_timeout_the_connection_is_ended_without_a_ping() {
    let server = Server::serve(ListenerConfig { idle_timeout: SOON, ..ListenerConfig::default() });
    let begun = Instant::now();
    let mut client = Client::open(server.address);
    assert_eq!(client.read_to_end(), b"");
    assert!(begun.elapsed() >= SOON / 2);
    server.expect(&[Seen::Open("/".into()), Seen::Closed]);
}

#[test]
fn with_both_set_the_ping_comes_first_and_the_idle_timeout_ends() {
    let minute = Duration::from_secs(60);
    let listener =
        ListenerConfig { ping_interval: minute, idle_timeout: minute * 3 / 2, ..ListenerConfig::default() };
    let (mut reactor, address, seen) = server::reactor(Setup { listener, ..Setup::default() });
    let mut client = Client::connect(address);
    client.write(UPGRADE.as_bytes());
    turns::until(&mut reactor, |_| seen.try_recv().is_ok());
    client.expect_text(client::SWITCHED);
    // The minutes go by between two turns.
    reactor.work.now += minute + SOON;
    reactor.on_timers();
    reactor.run_once(Some(Duration::ZERO)).unwrap();
    client.expect("89 00");
    reactor.work.now += minute * 3;
    reactor.on_timers();
    assert_eq!(reactor.connections(), 0);
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn r13_whoever_is_not_read_is_not_called_silent() {
    let mut first = true;
    let script = Script::on_open(move |session| {
        if std::mem::take(&mut first) {
            session.pause();
        }
    });
    let listener = ListenerConfig { idle_timeout: SOON / 2, ..ListenerConfig::default() };
    let server = Server::with(Setup { script, listener, ..Setup::default() });
    let mut paused = Client::open(server.address);
    let id = server.opened();
    // The other connection is paused before this one opens, and this one's silence ends later.
    let mut silent = Client::open(server.address);
    let other = server.opened();
    silent.read_to_end();
    assert_eq!(server.next_of(), (other, Seen::Closed));
    paused.send("81 81 00000000 'x'");
    let mut again = Client::open(server.address);
    again.read_to_end();
    server.opened();
    assert_eq!(server.next(), Seen::Closed);
    server.records(id, &[(OUT_RESUME, 0, 0, b"")]);
    paused.expect("81 01 'x'");
    assert_eq!(server.next_of(), (id, Seen::Text(b"x".to_vec())));
}

/// O11.
#[test]
fn times_beyond_the_clock_are_for_ever() {
    let server = Server::serve(ListenerConfig {
        handshake_timeout: Duration::MAX,
        close_timeout: Duration::MAX,
        ping_interval: Duration::MAX,
        ..ListenerConfig::default()
    });
    let mut client = Client::open(server.address);
    client.send("88 80 00000000");
    client.expect("88 00");
    client.expect_end();
    client.end();
    server.expect(&[Seen::Open("/".into()), Seen::Close(None, vec![]), Seen::Closed]);
}

/// R16: deadlines of many connections in one tick are served one turn's share at a time, so that
/// others have their turns in between, and all of them are served.
#[test]
fn r16_a_thousand_deadlines_a_turn() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    let total = TIMER_BUDGET + 100;
    let mut silent = Vec::new();
    while silent.len() < total {
        // No more than the backlog at a time.
        let more = (total - silent.len()).min(256);
        silent.extend((0..more).map(|_| Client::connect(address)));
        turns::until(&mut reactor, |reactor| reactor.connections() == silent.len());
    }
    // Now it is too late for all of them.
    reactor.work.now += ListenerConfig::default().handshake_timeout * 2;
    reactor.on_timers();
    assert_eq!(reactor.connections(), total - TIMER_BUDGET);
    let begun = Instant::now();
    reactor.run_once(Some(PATIENCE)).unwrap();
    assert_eq!(reactor.connections(), 0);
    assert!(begun.elapsed() < PATIENCE, "it slept");
}
