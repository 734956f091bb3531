//! Rates of peers, refusals that are not read, and bytes that wait for peers that do not read.

use std::sync::Arc;
use std::time::Instant;

use crate::bridge::rates::Rates;
use crate::engine::ErrorKind;
use crate::reactor::tests::server::{bind, listen};
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ListenerConfig, ReactorConfig};

fn limited(messages: u32, bytes: u64, closes: bool) -> (Server, Arc<Rates>, Client, ConnectionId) {
    let rates = Arc::new(Rates::new(messages, bytes, closes));
    let listener = ListenerConfig { rates: Some(rates.clone()), ..ListenerConfig::default() };
    let (server, client, id) = opened(listener);
    (server, rates, client, id)
}

/// Ten messages a second, and the time that a connection which closes has for those that are held back.
fn slow(close_timeout: u64) -> ListenerConfig {
    ListenerConfig {
        rates: Some(Arc::new(Rates::new(10, 0, false))),
        close_timeout: Duration::from_millis(close_timeout),
        ..ListenerConfig::default()
    }
}

/// A server with these limits, and a client.
fn opened(listener: ListenerConfig) -> (Server, Client, ConnectionId) {
    let server = Server::with(Setup { listener, script: Script::on_message(|_, _| {}), ..Setup::default() });
    let client = Client::open(server.address);
    let id = server.opened();
    (server, client, id)
}

fn masked(payload: &[u8]) -> Vec<u8> {
    frame(0x82, Some([1, 2, 3, 4]), payload)
}

#[test]
fn no_more_messages_than_allowed_are_read_at_any_time_and_none_is_lost() {
    for size in [0, 1, 125, 126, 70_000] {
        // A machine that is busy may read them more slowly than is allowed: then none is held back.
        assert!((0..5).any(|_| are_held_back(size)), "{size} bytes");
    }
}

/// Whether some of 60 messages had to wait. None is lost or comes too early.
fn are_held_back(size: usize) -> bool {
    let (server, rates, mut client, _) = limited(40, 0, false);
    let begun = Instant::now();
    let payload = vec![7; size];
    let stream = masked(&payload).repeat(60);
    let writer = std::thread::spawn(move || {
        client.write(&stream);
        client
    });
    for count in 1..=60 {
        assert_eq!(server.next(), Seen::Binary(payload.clone()));
        let allowed = 41.0 + 40.0 * begun.elapsed().as_secs_f64();
        assert!(f64::from(count) <= allowed, "{count} of {size} bytes after {:?}", begun.elapsed());
    }
    drop(writer.join());
    server.expect(&[Seen::End, Seen::Closed]);
    assert_eq!(rates.exceeded()[1], 0);
    rates.exceeded()[0] >= 1
}

/// Reading the bytes in the kernel would take a minute; the peer no longer needs them.
#[test]
fn a_connection_whose_peer_is_gone_ends_after_the_close_timeout() {
    for is_reset in [false, true] {
        let (server, mut client, _) = opened(slow(300));
        client.write(&masked(b"x").repeat(600));
        assert_eq!(server.next(), Seen::Binary(b"x".to_vec()));
        match is_reset {
            true => client.reset(),
            false => drop(client),
        }
        let mut count = 1;
        while server.next() == Seen::Binary(b"x".to_vec()) {
            count += 1;
        }
        assert!(count < 600, "{is_reset}: all were read");
    }
}

/// The bytes that the peer has sent would come all at once.
#[test]
fn what_is_held_back_of_a_connection_that_closes_for_too_long_is_dropped() {
    let (server, mut client, id) = opened(slow(300));
    let begun = Instant::now();
    client.write(&masked(b"x").repeat(600));
    assert_eq!(server.next(), Seen::Binary(b"x".to_vec()));
    server.records(id, &[(crate::bridge::layout::OUT_CLOSE, 0, 1000, b"")]);
    let mut count = 1;
    while server.next() == Seen::Binary(b"x".to_vec()) {
        count += 1;
    }
    let allowed = 11.0 + 10.0 * begun.elapsed().as_secs_f64();
    assert!(f64::from(count) <= allowed, "{count} after {:?}", begun.elapsed());
}

/// The peer's request, its messages and its end are there when the reactor looks for the first
/// time.
#[test]
fn a_connection_whose_peer_is_gone_before_it_opens_ends_after_the_close_timeout() {
    let server = Server::script(Script::on_message(|_, _| {}));
    let listener = bind();
    let mut client = Client::connect(listener.address());
    client.write(&[UPGRADE.as_bytes(), &masked(b"x").repeat(600)].concat());
    client.end();
    listen(&server.handle, 1, listener, slow(300));
    server.opened();
    let count = std::iter::from_fn(|| (server.next() != Seen::Closed).then_some(())).count();
    assert!((1..600).contains(&count), "{count}");
}

/// The peer waits until its bytes have been read.
#[test]
fn a_peer_that_stays_is_read_for_as_long_as_it_takes() {
    let (server, mut client, _) = opened(slow(100));
    client.write(&masked(b"x").repeat(20));
    for _ in 0..20 {
        assert_eq!(server.next(), Seen::Binary(b"x".to_vec()));
    }
}

#[test]
fn no_more_bytes_than_allowed_are_read_at_any_time() {
    let (server, rates, mut client, _) = limited(0, 20_000, false);
    let begun = Instant::now();
    let stream = masked(&[7; 992]).repeat(30);
    client.write(&stream);
    for count in 1..=30 {
        assert_eq!(server.next(), Seen::Binary(vec![7; 992]));
        let allowed = 20_001.0 + 20_000.0 * begun.elapsed().as_secs_f64();
        assert!(f64::from(count) * 1000.0 <= allowed, "{count} after {:?}", begun.elapsed());
    }
    assert!(rates.exceeded()[1] >= 1 && rates.exceeded()[0] == 0);
}

#[test]
fn one_too_many_closes_with_1008_behind_those_that_were_allowed() {
    for piece in [1, 5, 7, 4096] {
        let (server, rates, mut client, _) = limited(1000, 0, true);
        let begun = Instant::now();
        let stream = masked(b"x").repeat(20_000);
        // Bytes that come while the peer is being closed may be answered with a reset. In pieces
        // they may be too slow, on a busy machine.
        for part in stream.chunks(piece).chain([&stream[..]]) {
            use std::io::Write;
            if client.0.write_all(part).is_err() {
                break;
            }
            if rates.exceeded()[0] > 0 {
                break;
            }
        }
        let mut count = 0;
        loop {
            match server.next() {
                Seen::Binary(_) => count += 1,
                Seen::Error(kind) => {
                    assert_eq!(kind, ErrorKind::TooManyMessages);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        let allowed = 1001.0 + 1000.0 * begun.elapsed().as_secs_f64();
        assert!(count >= 1000 && f64::from(count) <= allowed, "{count} after {:?}", begun.elapsed());
        assert_eq!(rates.exceeded(), [1, 0]);
        let closing = [&[0x88, 2 + 28, 0x03, 0xf0][..], b"Too many messages per second"].concat();
        assert_eq!(client.read(closing.len()), closing);
    }
}

/// Otherwise a message of fragments without a byte, which takes no token, would be read 6 bytes at a
/// time.
#[test]
fn fragments_count_beyond_one_for_each_kibibyte() {
    const FRAGMENTS: usize = 5000;
    for (length, is_allowed) in [(512, false), (1024, true), (0, false)] {
        let (server, rates, mut client, _) = limited(100, 0, true);
        let part = frame(0x00, Some([1, 2, 3, 4]), &vec![7; length]);
        let first = frame(0x02, Some([0; 4]), &[]);
        let parts = [first, part.repeat(FRAGMENTS), frame(0x80, Some([0; 4]), &[])].concat();
        let writer = std::thread::spawn(move || {
            // The rest may be answered with a reset.
            let _refused = std::io::Write::write_all(&mut client.0, &parts);
            client
        });
        let seen = server.next();
        if is_allowed {
            assert_eq!(seen, Seen::Binary(vec![7; FRAGMENTS * length]));
        } else {
            assert_eq!(seen, Seen::Error(ErrorKind::TooManyMessages), "{length} bytes");
        }
        assert_eq!(rates.exceeded(), [u64::from(!is_allowed), 0]);
        drop(writer.join());
    }
}

#[test]
fn pings_count_and_bytes_close_too() {
    let (server, rates, mut client, _) = limited(2, 0, true);
    client.write(&frame(0x89, Some([1, 2, 3, 4]), b"").repeat(200));
    while server.next() != Seen::Error(ErrorKind::TooManyMessages) {}
    assert_eq!(rates.exceeded(), [1, 0]);
    let (server, rates, mut client, _) = limited(0, 100, true);
    client.write(&masked(&[7; 100_000]));
    server.expect(&[Seen::Error(ErrorKind::TooManyBytes)]);
    assert_eq!(rates.exceeded(), [0, 1]);
}

/// Others are not held back, and closing does not wait for bytes that may not be read yet.
#[test]
fn a_connection_that_waits_holds_up_nobody_and_can_be_closed() {
    let (server, _, mut slow, id) = limited(1, 0, false);
    slow.write(&masked(b"a").repeat(50));
    server.expect(&[Seen::Binary(b"a".to_vec())]);
    let mut other = Client::open(server.address);
    server.opened();
    other.write(&masked(b"b"));
    while server.next() != Seen::Binary(b"b".to_vec()) {}
    server.records(id, &[(crate::bridge::layout::OUT_TERMINATE, 0, 0, b"")]);
    while server.next_of() != (id, Seen::Closed) {}
}

#[test]
fn above_the_send_budget_the_one_with_most_is_ended_and_the_others_go_on() {
    let setup = Setup {
        script: Script::on_message(|session, _| {
            for _ in 0..64 {
                session.send(crate::engine::MessageKind::Binary, true, &[7; 64 << 10]);
            }
        }),
        reactor: ReactorConfig { send_budget: 24 << 20, ..ReactorConfig::default() },
        send_buffer: Some(64 << 10),
        ..Setup::default()
    };
    let server = Server::with(setup);
    let mut clients: Vec<_> = (0..3)
        .map(|_| {
            let client = Client::connect_narrow(server.address, 64 << 10).upgrade();
            (client, server.opened())
        })
        .collect();
    // 4 MiB for two of them that do not read, then more and more for the third.
    let message = Seen::Binary(b"x".to_vec());
    for (client, _) in clients.iter_mut().take(2) {
        client.write(&masked(b"x"));
        assert_eq!(server.next(), message);
    }
    let (third, id) = clients.pop().unwrap();
    let mut third = third;
    for _ in 0..12 {
        use std::io::Write;
        if third.0.write_all(&masked(b"x")).is_err() {
            break;
        }
        if server.next_of() != (id, message.clone()) {
            break;
        }
    }
    while server.next_of() != (id, Seen::Closed) {}
    for (client, _) in &mut clients {
        let got = client.read((64 << 10) + 10);
        assert_eq!(got[0], 0x82);
        client.write(&masked(b"x"));
        assert_eq!(server.next(), message);
    }
}

/// R06: a refused peer that stays is given time to read the reason, but only a limited number of
/// peers are.
#[test]
fn refused_connections_that_stay_are_bounded() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    const EXTRA: usize = 40;
    let count = crate::reactor::config::MOST_LINGERING + EXTRA;
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = Client::connect(address);
        client.write(b"nothing\r\n\r\n");
        clients.push(client);
        if clients.len() % 32 == 0 {
            reactor.run_once(Some(Duration::ZERO)).unwrap();
        }
    }
    let begun = Instant::now();
    turns::until(&mut reactor, |reactor| {
        reactor.metrics.tally.cut_refusals == EXTRA as u64 || begun.elapsed() > Duration::from_millis(1500)
    });
    assert!(reactor.connections() <= crate::reactor::config::MOST_LINGERING);
    for client in clients.iter_mut().take(EXTRA) {
        assert!(client.read_to_end().starts_with(b"HTTP/1.1 400 "));
    }
}
