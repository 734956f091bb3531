//! Which upgrade requests are accepted.

use super::*;

const PLAIN: (Option<Vec<u8>>, u8) = (None, 13);

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
    // A body is not one of them: as in ws, it is read as frames.
    let head = head.replace("Sec-WebSocket-Version", "13");
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
fn refusals_are_numbered_in_the_order_of_the_checks() {
    for (index, refusal) in (1..).zip(Refusal::ALL) {
        assert_eq!(refusal as u8, index);
        assert_eq!(refusal.before_should_handle(), (refusal as u8) < Refusal::Path as u8);
    }
}
