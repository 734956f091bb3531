//! Pings, and the end of connections to peers that do not answer.

use std::io::Write as _;
use std::net::SocketAddr;
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

/// More than one look at the sockets reports, and than one turn reads.
const CROWD: usize = 1300;
/// Read in several turns.
const LONG: usize = 1 << 20;

/// Opens as many connections, whose peers have been told.
fn crowd(reactor: &mut turns::Turned, address: SocketAddr, seen: &turns::Reports) -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    while clients.len() < CROWD {
        let mut more: Vec<Client> = (0..100).map(|_| Client::connect(address)).collect();
        more.iter_mut().for_each(|client| client.write(UPGRADE.as_bytes()));
        clients.append(&mut more);
        let mut opened = 0;
        turns::until(reactor, |reactor| {
            opened += seen.try_iter().count();
            opened == 100 && reactor.writer.has_written()
        });
    }
    clients.iter_mut().for_each(|client| client.expect_text(client::SWITCHED));
    clients
}

/// A peer of which more waits than one turn reads has had its share before anybody is judged.
#[test]
fn after_a_pause_peers_that_wait_for_their_share_of_a_turn_are_not_silent() {
    let minute = Duration::from_secs(60);
    let listener = ListenerConfig { idle_timeout: minute, ..ListenerConfig::default() };
    let (mut reactor, address, seen) = server::reactor(Setup { listener, ..Setup::default() });
    let mut clients = crowd(&mut reactor, address, &seen);
    let long = frame(0x82, Some([1, 2, 3, 4]), &[7; LONG]);
    for client in &mut clients {
        client.0.set_nonblocking(true).unwrap();
        let _filled = client.0.write(&long);
    }
    reactor.timers.go_by(minute * 2);
    for _ in 0..10 {
        reactor.run_once(Some(Duration::ZERO)).unwrap();
    }
    turns::until(&mut reactor, |reactor| !reactor.timers.is_behind());
    assert_eq!(reactor.connections(), CROWD);
}

/// A peer whose bytes always wait to be read is judged all the same.
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
