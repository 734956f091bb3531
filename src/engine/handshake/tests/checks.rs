//! Which upgrade requests are accepted.

use super::*;

const PLAIN: (Option<Vec<u8>>, u8) = (None, 13);

#[test]
fn h05_key() {
    for key in [
        "",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZ===",
        "dGhlIHNhbXBsZSBub25jZQ==A",
        "AdGhlIHNhbXBsZSBub25jZQ==",
        "dGhlIHNhbXBsZSBub25jZQA=",
        "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25j-_==",
        "dGhlIHNhbXBs SBub25jZQ==",
    ] {
        assert_eq!(Head::new().replace("Sec-WebSocket-Key", key).check(), Err(Refusal::Key), "{key}");
    }
    assert_eq!(Head::new().without("Sec-WebSocket-Key").check(), Err(Refusal::Key));
    assert_eq!(Head::new().with("sec-websocket-key", KEY).check(), Err(Refusal::Key));
    assert_eq!(Head::new().replace("Sec-WebSocket-Key", "+/AZaz09AAAAAAAAAAAAAA==").check(), Ok(PLAIN));
}

#[test]
fn h06_upgrade() {
    let is_upgrade = |head: &Head| request(&head.bytes()).is_upgrade();
    for connection in ["Upgrade", "keep-alive, Upgrade", "UPGRADE,close", "keep-alive ,\tupgrade"] {
        let head = Head::new().replace("Connection", connection);
        assert_eq!((is_upgrade(&head), head.check()), (true, Ok(PLAIN)), "{connection}");
    }
    assert!(is_upgrade(&Head::new().replace("Connection", "close").with("connection", "upgrade")));
    for connection in ["", "keep-alive", "xupgrade", "upgrade x"] {
        assert!(!is_upgrade(&Head::new().replace("Connection", connection)), "{connection}");
    }
    assert!(!is_upgrade(&Head::new().without("Upgrade")));
    assert!(!is_upgrade(&Head::new().replace("Upgrade", "")));
    assert_eq!(Head::new().replace("Upgrade", "WebSocket").check(), Ok(PLAIN));
    for upgrade in ["h2c", "websocket, websocket", "websocket/13", "web socket"] {
        let head = Head::new().replace("Upgrade", upgrade);
        assert_eq!((is_upgrade(&head), head.check()), (true, Err(Refusal::Upgrade)), "{upgrade}");
    }
    assert_eq!(Head::new().with("upgrade", "websocket").check(), Err(Refusal::Upgrade));
}

#[test]
fn h07_version() {
    assert_eq!(Head::new().replace("Sec-WebSocket-Version", " 13 ").check(), Ok(PLAIN));
    assert_eq!(Head::new().replace("Sec-WebSocket-Version", "8").check(), Ok((None, 8)));
    for version in ["", "7", "12", "130", "1 3", "13, 8", "-13", "013", "0xd", "13.0"] {
        let head = Head::new().replace("Sec-WebSocket-Version", version);
        assert_eq!(head.check(), Err(Refusal::Version), "{version}");
    }
    assert_eq!(Head::new().replace("Sec-WebSocket-Version", b"\x80\xff").check(), Err(Refusal::Version));
    assert_eq!(Head::new().with("Sec-WebSocket-Version", "13").check(), Err(Refusal::Version));
    assert_eq!(Head::new().without("Sec-WebSocket-Version").check(), Err(Refusal::Version));
    let draft_76 = Head::new()
        .without("Sec-WebSocket-Key")
        .without("Sec-WebSocket-Version")
        .with("Sec-WebSocket-Key1", "4 @1  46546xW%0l 1 5")
        .with("Sec-WebSocket-Key2", "12998 5 Y3 1  .P00");
    assert_eq!(draft_76.check(), Err(Refusal::Key));
}

#[test]
fn h08_method() {
    for line in [b"POST / HTTP/1.1".as_slice(), b"CONNECT / HTTP/1.1", b"get / HTTP/1.1", b"FOO / HTTP/1.1"] {
        assert_eq!(Head::new().line(line).check(), Err(Refusal::Method));
    }
}

#[test]
fn h11_the_first_failed_check_is_reported() {
    let head = Head::new().line(b"POST / HTTP/1.1").replace("Upgrade", "h2c").without("Sec-WebSocket-Key");
    let head = head.replace("Sec-WebSocket-Version", "1").with("Content-Length", "1");
    let head = head.with("Sec-WebSocket-Protocol", "");
    let path = Some(b"/other".as_slice());
    assert_eq!(head.check_path(path), Err(Refusal::Method));
    let head = head.line(b"GET / HTTP/1.1");
    assert_eq!(head.check_path(path), Err(Refusal::Upgrade));
    let head = head.replace("Upgrade", "websocket");
    assert_eq!(head.check_path(path), Err(Refusal::Key));
    let head = head.with("Sec-WebSocket-Key", KEY);
    assert_eq!(head.check_path(path), Err(Refusal::Version));
    let head = head.replace("Sec-WebSocket-Version", "13");
    assert_eq!(head.check_path(path), Err(Refusal::Body));
    let head = head.without("Content-Length");
    assert_eq!(head.check_path(path), Err(Refusal::Path));
    assert_eq!(head.check(), Err(Refusal::Protocol));
    assert_eq!(head.without("Sec-WebSocket-Protocol").check(), Ok(PLAIN));
}

#[test]
fn h12_path_is_the_target_up_to_the_query() {
    let check = |line, path: &[u8]| Head::new().line(line).check_path(Some(path));
    assert_eq!(check(b"GET /chat HTTP/1.1", b"/chat"), Ok(PLAIN));
    assert_eq!(check(b"GET /chat?a=?b HTTP/1.1", b"/chat"), Ok(PLAIN));
    assert_eq!(check(b"GET /chat/ HTTP/1.1", b"/chat"), Err(Refusal::Path));
    assert_eq!(check(b"GET /Chat HTTP/1.1", b"/chat"), Err(Refusal::Path));
    assert_eq!(check(b"GET /chat#x HTTP/1.1", b"/chat"), Err(Refusal::Path));
    assert_eq!(check(b"GET http://x/chat HTTP/1.1", b"/chat"), Err(Refusal::Path));
    assert_eq!(check(b"GET /anything HTTP/1.1", b""), Ok(PLAIN));
}

#[test]
fn h13_non_ascii_protocols_are_refused_and_other_values_are_not() {
    for byte in 0x80..=0xff {
        let head = Head::new().with("Sec-WebSocket-Protocol", [byte]);
        assert_eq!(head.check(), Err(Refusal::Protocol));
        let head = Head::new().replace("Host", [byte]).with("Origin", [byte]).with("Cookie", [byte]);
        assert_eq!(head.with("Sec-WebSocket-Extensions", [byte]).check(), Ok(PLAIN));
    }
}

#[test]
fn h13_subprotocol_lists() {
    let parse = |list: &str| {
        subprotocol::parse([list.as_bytes()].into_iter()).map(|names| names.first().map(|name| name.to_vec()))
    };
    for (list, first) in
        [("a", "a"), ("a,b", "a"), ("b ,\ta", "b"), ("!#$%&'*+-.^_`|~09azAZ", "!#$%&'*+-.^_`|~09azAZ")]
    {
        assert_eq!(parse(list), Ok(Some(first.as_bytes().to_vec())), "{list}");
    }
    for list in
        ["", ",", "a,", ",a", "a,,b", "a, ,b", "a,a", "b,a,a", "a b", "a/b", "a;b", "\"a\"", "(a)", "a\u{7f}"]
    {
        assert_eq!(parse(list).map_err(|fault| fault.class), Err("SyntaxError"), "{list}");
    }
    assert_eq!(subprotocol::parse([].into_iter()), Ok(Vec::new()));
}

#[test]
fn h13_repeated_subprotocol_headers_are_one_list() {
    let head =
        |second| Head::new().with("Sec-WebSocket-Protocol", "a, b").with("sec-websocket-protocol", second);
    assert_eq!(head("c").check(), Ok((Some(b"a".to_vec()), 13)));
    assert_eq!(head("b").check(), Err(Refusal::Protocol));
    assert_eq!(head("").check(), Err(Refusal::Protocol));
}

#[test]
fn h15_long_lists_take_linear_time() {
    let spaces = format!("a{}", " ,".repeat(7000));
    assert_eq!(Head::new().with("Sec-WebSocket-Protocol", spaces).check(), Err(Refusal::Protocol));
    assert_eq!(
        Head::new().with("Sec-WebSocket-Protocol", " ".repeat(15_000)).check(),
        Err(Refusal::Protocol)
    );
    // A quadratic search for duplicates would make a million comparisons for each of these names.
    let names: Vec<String> = (0..1_000_000).map(|i| format!("p{i}")).collect();
    let list = names.join(",");
    let parsed = subprotocol::parse([list.as_bytes()].into_iter());
    assert_eq!(parsed, Ok(names.iter().map(String::as_bytes).collect()));
}

#[test]
fn h18_an_upgrade_with_a_body_is_refused() {
    assert_eq!(Head::new().with("Content-Length", "5").check(), Err(Refusal::Body));
    assert_eq!(Head::new().with("Transfer-Encoding", "chunked").check(), Err(Refusal::Body));
    assert_eq!(Head::new().with("Transfer-Encoding", "gzip").check(), Err(Refusal::Body));
    assert_eq!(Head::new().with("Content-Length", "0").check(), Ok(PLAIN));
}

#[test]
fn refusals_are_numbered_in_the_order_of_the_checks() {
    for (index, refusal) in (1..).zip(Refusal::ALL) {
        assert_eq!(refusal as u8, index);
        assert_eq!(refusal.before_should_handle(), (refusal as u8) < Refusal::Path as u8);
    }
}
