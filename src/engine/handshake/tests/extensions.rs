//! Offers of permessage-deflate and their answers: those of ws 8.23 to the same header.

use super::super::extensions::{Acceptance, WindowBits, negotiate};
use super::*;

const ANY: Acceptance = Acceptance {
    server_no_context_takeover: None,
    client_no_context_takeover: None,
    server_max_window_bits: WindowBits::Any,
    client_max_window_bits: WindowBits::Any,
};

#[derive(Debug, PartialEq)]
struct Unacceptable;

fn answer(header: &str, acceptance: &Acceptance) -> Result<Option<String>, Unacceptable> {
    let accepted = negotiate(std::iter::once(header.as_bytes()), acceptance);
    accepted.map(|accepted| accepted.map(|accepted| accepted.answer)).map_err(|_fault| Unacceptable)
}

fn accepts(header: &str, acceptance: &Acceptance, expected: &str) {
    let expected = if expected.is_empty() {
        "permessage-deflate".to_owned()
    } else {
        format!("permessage-deflate; {expected}")
    };
    assert_eq!(answer(header, acceptance), Ok(Some(expected)), "{header}");
}

#[test]
fn numbers_are_those_of_javascript() {
    for (spelling, bits) in
        [("010", 10), ("1e1", 10), ("0xA", 10), ("0b1001", 9), ("0o17", 15), ("+9", 9), ("8.0", 8)]
    {
        let header =
            format!("permessage-deflate; client_max_window_bits=\"{}\"", spelling.replace('1', "\\1"));
        accepts(&header, &ANY, &format!("client_max_window_bits={bits}"));
    }
}

#[test]
fn several_headers_are_one_list() {
    let head = Head::new()
        .with("Sec-WebSocket-Extensions", "foo")
        .with("Sec-WebSocket-Extensions", "permessage-deflate; server_no_context_takeover");
    let bytes = head.bytes();
    let upgrade = check(&request(&bytes), &Options { path: None, deflate: Some(&ANY) }).unwrap();
    assert_eq!(upgrade.deflate.unwrap().answer, "permessage-deflate; server_no_context_takeover");
    let bytes = Head::new().with("Sec-WebSocket-Extensions", "").bytes();
    assert_eq!(
        check(&request(&bytes), &Options { path: None, deflate: Some(&ANY) }),
        Err(Refusal::Extensions)
    );
    assert!(check(&request(&bytes), &Options { path: None, deflate: None }).unwrap().deflate.is_none());
}

/// H14: ten thousand offers or parameters are not looked at twice.
#[test]
fn h14_long_lists_take_linear_time() {
    let offers = vec!["permessage-deflate; server_no_context_takeover"; 10_000].join(",");
    accepts(&offers, &ANY, "server_no_context_takeover");
    let params = format!("foo{}", "; a=b".repeat(10_000));
    assert_eq!(answer(&params, &ANY), Ok(None));
    assert_eq!(answer(&params.replace("foo", "permessage-deflate"), &ANY), Err(Unacceptable));
}
