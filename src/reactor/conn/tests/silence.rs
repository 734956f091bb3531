//! Pings, and the end of connections to peers that do not answer.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::reactor::ListenerConfig;
use crate::reactor::config::TIMER_BUDGET;
use crate::reactor::tests::*;

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
    reactor.timers.go_by(ListenerConfig::default().handshake_timeout * 2);
    turns::until(&mut reactor, |reactor| reactor.connections() < total);
    assert_eq!(reactor.connections(), total - TIMER_BUDGET);
    let begun = Instant::now();
    reactor.run_once(Some(PATIENCE)).unwrap();
    assert_eq!(reactor.connections(), 0);
    assert!(begun.elapsed() < PATIENCE, "it slept");
}

/// Read in several turns.
const LONG: usize = 1 << 20;

/// A peer with bytes that always wait to be read is judged all the same.
#[test]
fn a_flood_postpones_no_deadline_of_others_nor_its_own() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    let mut flood = Client::connect(address);
    // The body of a request, which is skipped, has no end.
    flood.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999999\r\n\r\n");
    let _silent = Client::connect(address);
    flood.0.set_nonblocking(true).unwrap();
    let more = vec![7; LONG];
    let mut pour = || while flood.0.write(&more).is_ok_and(|len| len > 0) {};
    turns::until(&mut reactor, |reactor| {
        pour();
        reactor.connections() == 2 && !reactor.reader.is_idle()
    });
    reactor.timers.go_by(ListenerConfig::default().handshake_timeout * 2);
    turns::until(&mut reactor, |reactor| {
        pour();
        reactor.connections() == 0
    });
}
