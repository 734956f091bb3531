use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, Error, HandshakeKind};

use super::client::{BOTH, Secured, certificate, config};
use super::{echo, listener};
use crate::bridge::admission::{Admission, Limits};
use crate::engine::proxy::Network;
use crate::reactor::ListenerConfig;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::{Turned, until};
use crate::reactor::tests::{Client, Server, Setup, UPGRADE};
use crate::reactor::tls::ContextOptions;
use crate::reactor::tls::tests::{DEFAULTS, context, der, pair, server, server_context, server_of};

fn alert(error: &Error) -> Option<AlertDescription> {
    if let Error::AlertReceived(alert) = error { Some(*alert) } else { None }
}

/// The bytes with which a client begins.
fn first_flight() -> Vec<u8> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut tls = ClientConnection::new(Arc::new(config(&BOTH, None)), name).unwrap();
    let mut hello = Vec::new();
    tls.write_tls(&mut hello).unwrap();
    hello
}

#[test]
fn a_handshake_that_ends_anywhere_leaves_the_server_as_it_was() {
    let server = echo();
    let hello = first_flight();
    for len in (0..hello.len()).step_by(97).chain([1, 4, 5, 6, hello.len()]) {
        let mut client = Client::connect(server.address);
        client.write(&hello[..len]);
        client.end();
        client.drain();
    }
    drop(Secured::open(server.address));
}

#[test]
fn what_is_no_tls_is_refused_and_counted() {
    let (mut reactor, address, _seen) = reactor(Setup { listener: listener(server()), ..Setup::default() });
    let counts = |reactor: &Turned| {
        let tally = &reactor.metrics.tally;
        [tally.tls_plain_http, tally.tls_malformed, tally.tls_gone]
    };
    let mut expected = [0; 3];
    for (bytes, at) in [
        (UPGRADE.as_bytes(), 0),
        (b"OPTIONS / HTTP/1.1\r\n\r\n", 0),
        (b"\x16\x03\x01\x00\x05hello", 1),
        (b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00", 1),
        (b"hello, who is there?", 1),
        (b"\x16\x03\x01\xff\xff", 1),
        (b"", 2),
        (b"GE", 2),
        (b"GEnugh", 1),
    ] {
        let before = expected;
        expected[at] += 1;
        let mut client = Client::connect(address);
        client.write(bytes);
        client.end();
        until(&mut reactor, |reactor| counts(reactor) != before && reactor.connections() == 0);
        assert_eq!(counts(&reactor), expected, "{}", String::from_utf8_lossy(bytes));
        client.drain();
    }
}

#[test]
fn a_session_goes_on_only_where_the_same_clients_are_trusted() {
    let tls = server();
    let server = Server::with(Setup { listener: listener(tls.clone()), ..Setup::default() });
    let other = Server::with(Setup { listener: listener(tls.clone()), ..Setup::default() });
    for version in BOTH {
        let config = config(&[version], None);
        let kind = |address| {
            let client = Secured::to(address, config.clone()).upgrade();
            client.tls.handshake_kind().unwrap()
        };
        assert_eq!(kind(server.address), HandshakeKind::Full);
        assert_eq!(kind(server.address), HandshakeKind::Resumed);
        // Another reactor with the same keys, and another certificate for the same clients.
        assert_eq!(kind(other.address), HandshakeKind::Resumed);
        tls.set_context(&server_context());
        assert_eq!(kind(server.address), HandshakeKind::Resumed);
        let clients = ContextOptions { request_cert: true, reject_unauthorized: false, ..DEFAULTS };
        tls.set_context(&context(&ContextOptions { pairs: &[pair("server")], ..clients }));
        assert_eq!(kind(server.address), HandshakeKind::Full);
        assert_eq!(kind(server.address), HandshakeKind::Resumed);
        // Other ones for each version.
        tls.set_ticket_keys(&[u16::from(version.version) as u8; 48]);
        assert_eq!(kind(server.address), HandshakeKind::Full);
        tls.set_context(&server_context());
    }
}

#[test]
fn of_several_pairs_the_one_is_used_that_the_client_supports() {
    let pairs = [pair("server-rsa"), pair("server")];
    let tls = server_of(context(&ContextOptions { pairs: &pairs, ..DEFAULTS }), &[]);
    let server = Server::with(Setup { listener: listener(tls), ..Setup::default() });
    for version in BOTH {
        let client = Secured::to(server.address, config(&[version], None)).upgrade();
        assert_eq!(client.tls.peer_certificates().unwrap()[0], certificate("server"));
    }
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|suite| format!("{:?}", suite.suite()).contains("ECDHE_RSA"));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate("ca")).unwrap();
    let only_rsa = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Secured::to(server.address, only_rsa).upgrade();
    assert_eq!(client.tls.peer_certificates().unwrap()[0], certificate("server-rsa"));
}

#[test]
fn a_client_without_a_good_certificate_is_refused_with_the_reason() {
    let options = ContextOptions {
        pairs: &[pair("server")],
        ca: &[der("ca.pem")],
        crl: &[der("ca.crl")],
        request_cert: true,
        ..DEFAULTS
    };
    let server =
        Server::with(Setup { listener: listener(server_of(context(&options), &[])), ..Setup::default() });
    for version in BOTH {
        drop(Secured::to(server.address, config(&[version], Some("client"))).upgrade());
        for (name, reason) in [
            (Some("expired"), AlertDescription::CertificateExpired),
            (Some("stranger"), AlertDescription::UnknownCA),
            (Some("revoked"), AlertDescription::CertificateRevoked),
            (Some("self"), AlertDescription::UnknownCA),
            (None, AlertDescription::CertificateRequired),
        ] {
            let refusal = Secured::to(server.address, config(&[version], name)).refusal();
            assert_eq!(alert(&refusal), Some(reason), "{name:?} {refusal}");
        }
    }
    let lenient = ContextOptions { reject_unauthorized: false, ..options };
    let server =
        Server::with(Setup { listener: listener(server_of(context(&lenient), &[])), ..Setup::default() });
    for name in [None, Some("client"), Some("expired"), Some("stranger"), Some("revoked"), Some("self")] {
        drop(Secured::to(server.address, config(&BOTH, name)).upgrade());
    }
}

#[test]
fn who_may_not_connect_is_told_before_the_handshake() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let admission = Some(Arc::new(Admission::new(limits)));
    let listener = ListenerConfig { admission, ..listener(server()) };
    let server = Server::with(Setup { listener, ..Setup::default() });
    let first = Secured::open(server.address);
    let refusal = Secured::to(server.address, config(&BOTH, None)).refusal();
    assert_eq!(alert(&refusal), Some(AlertDescription::AccessDenied), "{refusal}");
    drop(first);
}

#[test]
fn the_header_of_a_proxy_comes_before_tls() {
    let proxies = Box::new([Network::parse("127.0.0.0/8").unwrap()]);
    let listener = ListenerConfig { proxies, ..listener(server()) };
    let server = Server::with(Setup { listener, ..Setup::default() });
    for header in ["PROXY TCP4 1.2.3.4 5.6.7.8 1000 443\r\n", "PROXY UNKNOWN\r\n"] {
        for chopped in [false, true] {
            let mut client = Secured::to(server.address, config(&BOTH, None));
            client.chopped = chopped;
            if chopped {
                header.bytes().for_each(|byte| client.socket.write(&[byte]));
            } else {
                // In one segment with the first record.
                let mut bytes = header.as_bytes().to_vec();
                client.tls.write_tls(&mut bytes).unwrap();
                client.socket.write(&bytes);
            }
            drop(client.upgrade());
        }
    }
    // TLS without the header, and a header that is none.
    for bytes in [first_flight(), b"PROXY TCP4 nonsense\r\n".to_vec()] {
        let mut client = Client::connect(server.address);
        client.write(&bytes);
        client.end();
        client.drain();
    }
}
