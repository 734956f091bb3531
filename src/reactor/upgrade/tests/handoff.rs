//! Connections for the consumer's HTTP server.

use std::sync::Arc;

use crate::bridge::layout::{OUT_ACCEPT, OUT_END, OUT_HEAD, OUT_WRITE};
use crate::reactor::tests::client::SWITCHED;
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId, Http, ListenerConfig};

const GET: &[u8] = b"GET /page HTTP/1.1\r\nHost: here\r\n\r\nand more";
const RELAYED: Http = Http { all: false, sockets: false };

fn server(http: Http, path: Option<&str>) -> Server {
    Server::serve(ListenerConfig {
        http: Some(http),
        path: path.map(|path| path.as_bytes().into()),
        health_check: Some(Box::from(*b"/healthz")),
        ..ListenerConfig::default()
    })
}

/// A connection that is relayed, with its bytes so far.
fn relayed(server: &Server, bytes: &[u8]) -> (Client, ConnectionId) {
    let mut client = Client::connect(server.address);
    client.write(bytes);
    let (id, seen) = server.next_of();
    assert_eq!(seen, Seen::Given(bytes.to_vec(), false));
    (client, id)
}

#[test]
fn everything_but_an_upgrade_of_ours_is_given_with_all_its_bytes() {
    let server = server(RELAYED, Some("/ours"));
    let upgrade = |line: &str, change: (&str, &str)| {
        UPGRADE.replacen("GET / HTTP/1.1", line, 1).replacen(change.0, change.1, 1)
    };
    let mut kept = Vec::new();
    for head in [
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "\r\n\r\nGET /ours HTTP/1.1\r\nHost: h\r\n\r\nbehind".to_owned(),
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\x16\x03\x01".to_owned(),
        upgrade("GET /theirs HTTP/1.1", ("", "")),
        upgrade("POST /ours HTTP/1.1", ("", "")),
        upgrade("GET /ours HTTP/1.1", ("Upgrade: websocket", "Upgrade: h2c")),
        upgrade("GET /ours HTTP/1.1", ("Connection: Upgrade", "Connection: close")),
    ] {
        kept.push(relayed(&server, head.as_bytes()));
    }
    let mut ours = Client::connect(server.address);
    ours.write(upgrade("GET /ours?x HTTP/1.1", ("", "")).as_bytes());
    ours.expect_text(SWITCHED);
    // A WebSocket that is asked for badly is refused here.
    let mut bad = Client::connect(server.address);
    bad.write(upgrade("GET /ours HTTP/1.1", ("Version: 13", "Version: 7")).as_bytes());
    assert!(bad.read_head().starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_relayed_connection_has_bytes_both_ways_and_ends_side_by_side() {
    let server = server(RELAYED, None);
    let (mut client, id) = relayed(&server, GET);
    client.write(b"bytes");
    assert_eq!(server.next(), Seen::Data(b"bytes".to_vec()));
    client.expect("'bytes'");
    client.end();
    assert_eq!(server.next(), Seen::End);
    // `Reporter` ends our side too.
    client.expect_end();
    assert_eq!(server.next_of(), (id, Seen::Closed));
}

#[test]
fn our_side_may_end_first() {
    let server = server(RELAYED, None);
    let (mut client, id) = relayed(&server, GET);
    server.records(id, &[(OUT_WRITE, 0, 0, b"answer"), (OUT_END, 0, 0, b"")]);
    client.expect("'answer'");
    client.expect_end();
    client.write(b"late");
    assert_eq!(server.next(), Seen::Data(b"late".to_vec()));
    client.end();
    assert_eq!(server.next(), Seen::Closed);
}

/// Bytes of frames that were read with the request come first, then those of the socket.
#[test]
fn a_relayed_connection_becomes_a_websocket_with_the_bytes_that_are_handed_back() {
    let server = server(RELAYED, None);
    let (mut client, id) = relayed(&server, GET);
    server.submit(Command::Serve { id, config: Arc::default(), deflate: None });
    let first = frame(0x81, Some([0; 4]), b"first");
    let (one, two) = first.split_at(3);
    server.records(
        id,
        &[(OUT_HEAD, 0, 0, one), (OUT_HEAD, 0, 0, two), (OUT_ACCEPT, 0, 0, SWITCHED.as_bytes())],
    );
    client.expect_text(SWITCHED);
    client.write(&frame(0x81, Some([0; 4]), b"second"));
    server.expect(&[Seen::Text(b"first".to_vec()), Seen::Text(b"second".to_vec())]);
    client.expect("81 05 'first' 81 06 'second'");
}

#[test]
#[cfg(unix)]
fn with_sockets_the_consumer_gets_the_socket_and_no_end() {
    let server = server(Http { all: false, sockets: true }, None);
    let mut client = Client::connect(server.address);
    client.write(GET);
    assert_eq!(server.next(), Seen::Given(GET.to_vec(), true));
    client.expect("'mine'");
    client.write(b"next");
    assert_eq!(server.next(), Seen::Socket(b"next".to_vec()));
    client.expect_end();
    assert_eq!(server.stop(), [Seen::ListenerClosed(0)]);
}

/// Its answer leaves before the other server can write.
#[test]
fn a_health_check_is_answered_before_the_next_request_is_given() {
    for sockets in [cfg!(unix), false] {
        let server = server(Http { all: false, sockets }, None);
        let mut client = Client::connect(server.address);
        let check = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
        client.write(&[check, GET].concat());
        assert_eq!(server.next(), Seen::Given(GET.to_vec(), sockets));
        assert!(client.read_head().starts_with("HTTP/1.1 200 OK"));
        client.expect_text("OK");
        client.write(b"next");
    }
}

#[test]
fn all_are_given_with_their_first_bytes() {
    let server = server(Http { all: true, sockets: false }, None);
    let _first = relayed(&server, b"G");
    // Whoever sends nothing stays here.
    let _silent = Client::connect(server.address);
    let _upgrade = relayed(&server, UPGRADE.as_bytes());
}

#[test]
fn a_closed_listener_gives_nothing() {
    let server = server(RELAYED, None);
    let mut client = Client::connect(server.address);
    client.write(b"GET / HTTP/1.1\r\n");
    // By then the first bytes have been read.
    let _later = relayed(&server, GET);
    server.submit(Command::CloseListener(0));
    assert_eq!(server.next(), Seen::ListenerClosed(0));
    client.write(b"\r\n");
    assert!(client.read_head().starts_with("HTTP/1.1 503 "));
}
