//! The opening handshake over sockets.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use crate::reactor::conn::life::Life;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::until;
use crate::reactor::tests::*;
use crate::reactor::{Command, ListenerConfig};

const PLAIN: &str = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";

#[test]
fn h18_the_body_of_a_plain_request_is_skipped() {
    let server = Server::echo();
    for body in [0, 1, 100, 200_000] {
        let mut client = Client::connect(server.address);
        client.write(format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {body}\r\n\r\n").as_bytes());
        client.write(&vec![b'\n'; body]);
        client.read_head();
        client.expect_text("Upgrade Required");
        client.upgrade();
    }
}

#[test]
fn a_request_that_asks_for_close_or_has_a_body_of_unknown_length_is_the_last() {
    let server = Server::echo();
    for extra in ["Connection: close\r\n", "Transfer-Encoding: chunked\r\n"] {
        let mut client = Client::connect(server.address);
        client.write(format!("POST / HTTP/1.1\r\nHost: h\r\n{extra}\r\n").as_bytes());
        let head = client.read_head();
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
        client.expect_text("Upgrade Required");
        client.expect_end();
    }
}

/// R01.
#[test]
fn a_client_that_asks_on_and_on_and_reads_no_answer_is_not_answered_for_ever() {
    let (mut reactor, address, _seen) = reactor(Setup::default());
    let mut client = Client::connect(address);
    client.write(PLAIN.repeat(1000).as_bytes());
    let mut most = 0;
    until(&mut reactor, |reactor| {
        let slot = reactor.connections.slots().first().copied();
        let connection = slot.and_then(|slot| reactor.connections.get_mut(slot));
        connection.is_some_and(|connection| {
            most = most.max(connection.write.queued());
            matches!(connection.life, Life::Draining { .. })
        })
    });
    client.end();
    until(&mut reactor, |reactor| reactor.connections() == 0);
    let answers = client.drain();
    assert!(answers > 1000 && answers < 64 << 10, "{answers} bytes of answers");
}

#[test]
fn h02_a_slow_head_is_answered_408_however_often_a_byte_comes() {
    let server = Server::serve(soon());
    // A client that has sent nothing in time gets no answer: the test then tries again.
    let mut client = loop {
        let begun = std::time::Instant::now();
        let mut client = Client::connect(server.address);
        client.write(b"GET /");
        if begun.elapsed() < soon().handshake_timeout {
            break client;
        }
    };
    // Waiting for the answer paces the bytes.
    client.0.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut first = [0];
    let answered = (0..PATIENCE.as_millis() / 5).any(|_| {
        client.write(b"x");
        match client.0.read(&mut first) {
            Ok(len) => len == 1,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
                false
            }
        }
    });
    assert!(answered);
    client.0.set_read_timeout(Some(PATIENCE)).unwrap();
    client.expect_text("TTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
}

fn soon() -> ListenerConfig {
    ListenerConfig { handshake_timeout: Duration::from_millis(100), ..ListenerConfig::default() }
}

#[test]
fn a_request_that_is_not_complete_when_its_listener_closes_is_answered_503() {
    let (mut reactor, address, seen) = reactor(Setup::default());
    let handle = reactor.handle();
    let (mut silent, mut begun) = (Client::connect(address), Client::connect(address));
    begun.write(&UPGRADE.as_bytes()[..30]);
    let mut open = Client::asking(address);
    until(&mut reactor, |reactor| {
        let mut heads = reactor.connections.slots();
        heads.retain(|&slot| {
            let life = &reactor.connections.get_mut(slot).unwrap().life;
            matches!(life, Life::Opening(head) if head.bytes.len() == 30)
        });
        reactor.connections() == 3 && heads.len() == 1 && seen.try_recv().is_ok()
    });
    handle.submit(Command::CloseListener(0)).unwrap();
    until(&mut reactor, |reactor| reactor.connections() == 2);
    assert_eq!(seen.try_recv().unwrap().1, Seen::ListenerClosed(0));
    silent.expect_end();
    begun.write(&UPGRADE.as_bytes()[30..]);
    begun.end();
    until(&mut reactor, |reactor| reactor.connections() == 1);
    begun.expect_text("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n");
    open.expect_text(client::SWITCHED);
    open.send("81 85 00000000 'hello'");
    until(&mut reactor, |_| seen.try_recv().is_ok());
    open.expect("81 05 'hello'");
}
