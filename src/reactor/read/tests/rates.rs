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

/// The peer's request, messages and end are there when the reactor looks for the first time.
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

/// Otherwise fragments without a byte, which take no token, would be read 6 bytes at a time.
#[test]
fn fragments_count_beyond_one_for_each_kibibyte() {
    const FRAGMENTS: usize = 5000;
    for (length, is_allowed) in [(512, false), (1024, true), (0, false)] {
        let (server, rates, mut client, _) = limited(100, 0, true);
        let part = frame(0x00, Some([1, 2, 3, 4]), &vec![7; length]);
        let first = frame(0x02, Some([0; 4]), &[]);
        let parts = [first, part.repeat(FRAGMENTS), frame(0x80, Some([0; 4]), &[])].concat();
        let writer = std::thread::spawn(move || {
            // The rest can be answered with a reset.
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

/// What waited for those that are gone counts no more, nor does what has left.
#[test]
fn above_the_send_budget_the_one_with_most_is_ended_and_the_others_go_on() {
    const ANSWER: usize = 64 * ((64 << 10) + 10);
    let script = Script::on_message(|conn, _| {
        (0..64).for_each(|_| conn.send(crate::engine::MessageKind::Binary, true, &[7; 64 << 10]));
    });
    let listener = ListenerConfig { high_water_mark: usize::MAX, ..ListenerConfig::default() };
    let reactor = ReactorConfig { send_budget: 24 << 20, ..ReactorConfig::default() };
    let server = Server::with(Setup { script, listener, reactor, send_buffer: Some(64 << 10) });
    let open = || (Client::connect_narrow(server.address, 64 << 10).upgrade(), server.opened());
    let asked = (masked(b"x"), Seen::Binary(b"x".to_vec()));
    let ask = |client: &mut Client| {
        client.write(&asked.0);
        assert_eq!(server.next(), asked.1);
    };
    let mut gone: Vec<_> = std::iter::repeat_with(open).take(5).collect();
    gone.iter_mut().for_each(|(client, _)| ask(client));
    for (client, _) in gone {
        client.reset();
        assert_eq!(server.next(), Seen::Closed);
    }
    let (mut reader, _) = open();
    for _ in 0..5 {
        (0..3).for_each(|_| ask(&mut reader));
        reader.read(3 * ANSWER);
    }
    let (mut stuck, id) = open();
    ask(&mut reader);
    for _ in 0..12 {
        use std::io::Write;
        if stuck.0.write_all(&asked.0).is_err() || server.next_of() != (id, asked.1.clone()) {
            break;
        }
    }
    while server.next_of() != (id, Seen::Closed) {}
    reader.read(ANSWER);
}

/// R06: a refused peer that stays can read the reason, but only a limited number of them can.
#[test]
fn refused_connections_that_stay_are_bounded() {
    let (mut reactor, address, _seen) = server::reactor(Setup::default());
    const EXTRA: usize = 40;
    let count = crate::reactor::config::MOST_DRAINING + EXTRA;
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
    assert!(reactor.connections() <= crate::reactor::config::MOST_DRAINING);
    for client in clients.iter_mut().take(EXTRA) {
        assert!(client.read_to_end().starts_with(b"HTTP/1.1 400 "));
    }
}
