//! The opening handshake over sockets.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use crate::reactor::connection::life::Life;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::until;
use crate::reactor::tests::*;
use crate::reactor::{Command, ListenerConfig};

const PLAIN: &str = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";

#[test]
fn h17_a_head_cut_anywhere_is_answered_once() {
    let (mut reactor, address, _seen) = reactor(Setup::default());
    for cut in 1..UPGRADE.len() {
        let mut client = Client::connect(address);
        client.write(&UPGRADE.as_bytes()[..cut]);
        until(&mut reactor, |reactor| {
            reactor.connections.slots().iter().any(|&slot| {
                let life = &reactor.connections.get_mut(slot).unwrap().life;
                matches!(life, Life::Opening(head) if head.bytes.len() == cut)
            })
        });
        client.write(&UPGRADE.as_bytes()[cut..]);
        client.send("81 85 00000000 'hello'");
        client.end();
        until(&mut reactor, |reactor| reactor.connections() == 0);
        client.expect_text(client::SWITCHED);
        client.expect("81 05 'hello'");
        client.expect_end();
    }
}

#[test]
fn h17_frames_right_behind_the_head_are_served() {
    let server = Server::echo();
    for cut in [0, 1, 2, 5, 6, 7, 11] {
        let mut client = Client::connect(server.address);
        let first = bytes("81 85 00000000 'hello'");
        client.write(&[UPGRADE.as_bytes(), &first[..cut]].concat());
        client.expect_text(client::SWITCHED);
        client.write(&first[cut..]);
        client.expect("81 05 'hello'");
        server.expect(&[Seen::Open("/".into()), Seen::Text(b"hello".to_vec())]);
        client.reset();
        server.expect(&[Seen::Closed]);
    }
}

#[test]
fn h17_a_thousand_frames_behind_the_head_are_served_in_order() {
    let server = Server::echo();
    let mut client = Client::connect(server.address);
    let frames: Vec<u8> =
        (0..1000_u16).flat_map(|n| frame(0x82, Some([9, 8, 7, 6]), &n.to_be_bytes())).collect();
    client.write(&[UPGRADE.as_bytes(), &frames].concat());
    client.expect_text(client::SWITCHED);
    for n in 0..1000_u16 {
        assert_eq!(client.read(4), frame(0x82, None, &n.to_be_bytes()));
    }
}

#[test]
fn a_plain_request_is_answered_426_and_may_be_followed_by_an_upgrade() {
    let server = Server::echo();
    let mut client = Client::connect(server.address);
    for _ in 0..3 {
        client.write(PLAIN.as_bytes());
        let head = client.read_head();
        assert!(head.starts_with("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 16\r\n"), "{head}");
        assert!(head.contains("\r\nConnection: keep-alive\r\n"), "{head}");
        client.expect_text("Upgrade Required");
    }
    let mut client = client.upgrade();
    client.send("81 85 00000000 'hello'");
    client.expect("81 05 'hello'");
}

#[test]
fn a_plain_request_and_an_upgrade_in_one_segment_are_answered_in_order() {
    let server = Server::echo();
    let mut client = Client::connect(server.address);
    client.write(format!("{PLAIN}HEAD{}{UPGRADE}", &PLAIN[3..]).as_bytes());
    client.read_head();
    client.expect_text("Upgrade Required");
    assert!(client.read_head().starts_with("HTTP/1.1 426 "), "to HEAD, without a body");
    client.expect_text(client::SWITCHED);
}

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
fn h06_h07_h08_a_bad_upgrade_is_refused_and_the_connection_ends() {
    let server = Server::echo();
    for (from, to, status) in [
        ("Version: 13", "Version: 12", "400 Bad Request"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZQ==", "400 Bad Request"),
        ("GET", "POST", "405 Method Not Allowed"),
        ("HTTP/1.1", "HTTP/9.9", "400 Bad Request"),
        ("Upgrade: websocket", "Upgrade: h2c", "400 Bad Request"),
    ] {
        let mut client = Client::connect(server.address);
        client.write(UPGRADE.replace(from, to).as_bytes());
        let head = client.read_head();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{to}: {head}");
        client.read_to_end();
    }
    server.expect_silence();
}

#[test]
fn h08_what_is_not_http_is_answered_400_at_once() {
    let server = Server::echo();
    for text in ["16 03 01 02 00 01", "00000000", "0a", "'PRI * HTTP/2.0' 0d0a 0d0a 'SM' 0d0a 0d0a"] {
        let mut client = Client::connect(server.address);
        client.send(text);
        let answer = String::from_utf8(client.read_to_end()).unwrap();
        assert_eq!(answer, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "{text}");
    }
}

#[test]
fn h04_a_head_without_end_is_answered_431() {
    let server = Server::echo();
    let mut client = Client::connect(server.address);
    client.write(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(20 << 10)).as_bytes());
    client.expect_text("HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n");
    // Further bytes are thrown away, and no reset takes the answer from the client.
    client.write(&[b'x'; 100 << 10]);
    client.end();
    client.expect_end();
}

#[test]
fn h09_h10_too_many_headers_are_answered_431() {
    let server = Server::echo();
    let mut client = Client::connect(server.address);
    client.write(format!("GET / HTTP/1.1\r\n{}\r\n", "a:\r\n".repeat(300)).as_bytes());
    client.expect_text("HTTP/1.1 431 ");
}

#[test]
fn h13_bytes_above_ascii_in_headers_do_no_harm() {
    let server = Server::echo();
    for (header, status) in [("Cookie", "101"), ("Origin", "101"), ("Sec-WebSocket-Protocol", "400")] {
        let mut client = Client::connect(server.address);
        let mut request = UPGRADE.trim_end().as_bytes().to_vec();
        request.extend_from_slice(format!("\r\n{header}: ").as_bytes());
        request.extend([0x80, 0xc3, 0xff]);
        request.extend_from_slice(b"\r\n\r\n");
        client.write(&request);
        client.expect_text(&format!("HTTP/1.1 {status} "));
    }
}

#[test]
fn only_the_path_that_was_asked_for_is_served() {
    let server =
        Server::serve(ListenerConfig { path: Some((*b"/chat").into()), ..ListenerConfig::default() });
    for (target, status) in
        [("/chat", "101"), ("/chat?x=/", "101"), ("/", "400"), ("/chat/", "400"), ("/Chat", "400")]
    {
        let mut client = Client::connect(server.address);
        client.write(UPGRADE.replace("GET /", &format!("GET {target}")).as_bytes());
        client.expect_text(&format!("HTTP/1.1 {status} "));
    }
}

#[test]
fn h01_a_connection_that_says_nothing_is_closed_without_a_word() {
    let server = Server::serve(soon());
    let mut client = Client::connect(server.address);
    client.expect_end();
    server.expect_silence();
}

#[test]
fn h02_a_slow_head_is_answered_408_however_often_a_byte_comes() {
    let server = Server::serve(soon());
    // A client that has sent nothing when the time is over gets no answer: the test tries again if
    // that may be the case.
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
    let mut open = Client::connect(address);
    open.write(UPGRADE.as_bytes());
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

#[test]
fn h19_a_reset_at_any_stage_leaks_nothing() {
    let (mut reactor, address, seen) = reactor(Setup::default());
    for stage in [0, 1, 30, UPGRADE.len() - 1, UPGRADE.len()] {
        let mut client = Client::connect(address);
        client.write(&UPGRADE.as_bytes()[..stage]);
        client.reset();
        until(&mut reactor, |reactor| {
            reactor.run_once(Some(Duration::ZERO)).unwrap();
            reactor.connections() == 0
        });
    }
    let reported: Vec<Seen> = seen.try_iter().map(|(_, seen)| seen).collect();
    assert!(reported.is_empty() || reported == [Seen::Open("/".into()), Seen::Closed], "{reported:?}");
}
