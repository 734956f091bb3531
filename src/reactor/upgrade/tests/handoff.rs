//! Connections for the consumer's HTTP server.

use std::sync::Arc;

use crate::reactor::tests::*;
use crate::reactor::{Http, ListenerConfig};

const GET: &[u8] = b"GET /page HTTP/1.1\r\nHost: here\r\n\r\nand more";

fn server(sockets: bool) -> Server {
    Server::serve(ListenerConfig {
        http: Some(Http { routes: Arc::default(), sockets }),
        health_check: Some(Box::from(*b"/healthz")),
        ..ListenerConfig::default()
    })
}

#[test]
#[cfg(unix)]
fn with_sockets_the_consumer_gets_the_socket_and_no_end() {
    let server = server(true);
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
        let server = server(sockets);
        let mut client = Client::connect(server.address);
        let check = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
        client.write(&[check, GET].concat());
        assert_eq!(server.next(), Seen::Given(GET.to_vec(), sockets));
        assert!(client.read_head().starts_with("HTTP/1.1 200 OK"));
        client.expect_text("OK");
        client.write(b"next");
    }
}
