//! Admission of connections.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bridge::admission::{Admission, Denial, Limits};
use crate::bridge::origins::Origins;

fn ip(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

#[test]
fn connections_are_counted_and_given_back() {
    let admission = Arc::new(Admission::new(Limits { connections: 2, ..Limits::default() }));
    let first = admission.admit(None).unwrap();
    let _second = admission.admit(ip("192.0.2.1")).unwrap();
    assert_eq!(admission.admit(None).unwrap_err(), Denial::Connections);
    drop(first);
    let _third = admission.admit(None).unwrap();
    assert_eq!(admission.enter(None), Err(Denial::Connections));
    assert_eq!(admission.denied().collect::<Vec<_>>(), [2, 0, 0, 0, 0]);
}

#[test]
fn an_address_is_one_of_ipv4_or_a_64_of_ipv6() {
    let limits = || Limits { connections_per_address: 1, ..Limits::default() };
    for (one, other, same) in [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", true),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
    ] {
        let admission = Admission::new(limits());
        assert_eq!(admission.enter(ip(one)), Ok(()));
        assert_eq!(admission.enter(ip(other)).is_err(), same, "{one} {other}");
        admission.leave(ip(one));
        assert_eq!(admission.enter(ip(one)), Ok(()));
    }
    // A connection without an address, such as one on a Unix socket, has no limit of its own.
    let admission = Admission::new(limits());
    assert_eq!((admission.enter(None), admission.enter(None)), (Ok(()), Ok(())));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn handshakes_of_a_second_may_come_at_once_and_then_one_by_one() {
    let admission = Admission::new(Limits { handshakes_per_second: 10, ..Limits::default() });
    let start = Instant::now();
    let admitted =
        |at: u64| (0..100).filter(|_| admission.handshake(start + Duration::from_millis(at)).is_ok()).count();
    assert_eq!(
        [admitted(0), admitted(99), admitted(100), admitted(450), admitted(10_000)],
        [10, 0, 1, 3, 10]
    );
    let free = Admission::new(Limits::default());
    assert!((0..1000).all(|_| free.handshake(start).is_ok()));
}

#[test]
fn origins() {
    let allows = |patterns: &[&str], origin: &str| {
        Origins::matching(patterns.iter().map(|&pattern| pattern.to_owned())).allow(origin.as_bytes())
    };
    for (pattern, origin, allowed) in [
        ("https://example.com", "https://example.com", true),
        ("https://Example.com", "HTTPS://EXAMPLE.COM", true),
        ("https://example.com", "http://example.com", false),
        ("https://example.com", "https://example.com.evil.net", false),
        ("https://example.com", "https://example.com:8443", false),
        ("https://*.example.com", "https://a.example.com", true),
        ("https://*.example.com", "https://a.b.example.com", true),
        ("https://*.example.com", "https://example.com", false),
        ("https://*.example.com", "https://.example.com", false),
        ("https://*.example.com", "https://evil.net/.example.com", false),
        ("https://*.example.com", "https://evil.net:1.example.com", false),
        ("https://*.example.com", "https://evil.net?.example.com", false),
        ("https://*.example.com", "https://a.example.com.evil.net", false),
        ("http://localhost:*", "http://localhost:3000", true),
        ("http://localhost:*", "http://localhost", false),
        ("http://localhost:*", "http://localhost:3000/", false),
        ("*://*.example.com:*", "https://a.b.example.com:8443", true),
        ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false),
        ("*", "anything at all / ?", true),
        ("null", "null", true),
        ("https://example.com", "null", false),
        ("https://example.com", "", false),
        ("", "", true),
        ("https://\u{e4}.com", "https://\u{e4}.com", false),
    ] {
        assert_eq!(allows(&[pattern], origin), allowed, "{pattern} {origin}");
    }
    assert!(!allows(&[], "https://example.com"));
    assert!(allows(&["https://a.com", "https://b.com"], "https://b.com"));
    assert!(!allows(&["https://*.com"], &format!("https://{}.com", "a".repeat(512))));
    assert!(Origins::default().allow(b"https://example.com"));
}

#[test]
fn without_an_origin_there_is_no_page() {
    let origins = Origins::matching(["https://example.com".to_owned()]);
    let admission = Admission::new(Limits { origins, ..Limits::default() });
    assert!(admission.allows(None));
    assert!(!admission.allows(Some(b"https://evil.net")));
    assert_eq!((0..100).filter(|_| admission.shows_origin()).count(), 10);
}
