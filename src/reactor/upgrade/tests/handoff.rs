//! Connections for the consumer's HTTP server.

use std::sync::Arc;

use crate::reactor::tests::*;
use crate::reactor::{Http, ListenerConfig, Route, Routes};

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

/// Only a GET can be an upgrade, so other heads do not wait for their ends.
#[test]
fn with_a_route_upgrades_for_it_stay_here_and_all_others_are_given() {
    let routes = Arc::new(Routes::default());
    let path =
        |path: &[u8]| Arc::new(ListenerConfig { path: Some(path.into()), ..ListenerConfig::default() });
    routes.set(vec![Route { listener: 7, config: path(b"/a") }, Route { listener: 8, config: path(b"/") }]);
    let http = Some(Http { routes: routes.clone(), sockets: false });
    let server = Server::serve(ListenerConfig { http, ..ListenerConfig::default() });
    let open = || Client::connect(server.address);
    let mut client = open();
    client.write(UPGRADE.as_bytes());
    assert_eq!(server.next(), Seen::Open("/".into()));
    assert!(client.read_head().starts_with("HTTP/1.1 101 "));
    let other = UPGRADE.replace("GET /", "GET /other");
    let no_upgrade = UPGRADE.replace("Connection: Upgrade", "Connection: close");
    let mut clients = Vec::new();
    let mut give = |bytes: &[u8]| {
        let mut client = open();
        client.write(bytes);
        clients.push(client);
        assert_eq!(server.next(), Seen::Given(bytes.to_vec(), false));
    };
    for bytes in [b"POST / HT", GET, other.as_bytes(), no_upgrade.as_bytes(), b"\r\nX"] {
        give(bytes);
    }
    routes.set(Vec::new());
    give(b"G");
}
