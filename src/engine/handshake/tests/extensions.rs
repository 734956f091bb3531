//! Offers of permessage-deflate and their answers: those of ws 8.23 to the same header.

use super::super::extensions::{Acceptance, WindowBits, negotiate};
use super::*;
use crate::engine::deflate::Params;

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

/// H14.
#[test]
fn h14_what_is_no_list_of_extensions_is_refused() {
    for header in [
        "",
        ";;;",
        ",,",
        ",",
        "permessage-deflate,",
        "permessage-deflate;",
        "permessage-deflate ",
        " permessage-deflate",
        "permessage-deflate; a=",
        "permessage-deflate; a=\"",
        "permessage-deflate; a=\"\"",
        "foo; a = b",
        "foo; a= b",
        "foo; a=\"b c\"",
        "foo; a=\"b\\\"",
        "foo; a=\"b\"c",
        "foo bar",
        "permessage-deflate; client_max_window_bits=\"9",
        "f\u{e9}",
        "foo;;a",
        "foo; a,,b",
    ] {
        assert_eq!(answer(header, &ANY), Err(Unacceptable), "{header}");
    }
}

#[test]
fn h14_other_extensions_are_ignored() {
    for header in
        ["constructor", "__proto__; toString=valueOf", "x-webkit-deflate-frame", "a; b; c=d; e=\"f\", g"]
    {
        assert_eq!(answer(header, &ANY), Ok(None), "{header}");
    }
    accepts("a; b=c , permessage-deflate", &ANY, "");
}

#[test]
fn h14_an_invalid_offer_spoils_the_valid_ones() {
    for param in [
        "unknown",
        "server_no_context_takeover=1",
        "client_no_context_takeover=true",
        "server_max_window_bits",
        "server_max_window_bits=7",
        "server_max_window_bits=16",
        "client_max_window_bits=99999999999",
        "client_max_window_bits=8.5",
        "client_max_window_bits=0x",
        "client_max_window_bits=-9",
        "client_max_window_bits=inf",
        "client_max_window_bits=8; client_max_window_bits=8",
        "server_no_context_takeover; server_no_context_takeover",
        "__proto__",
        "Server_no_context_takeover",
    ] {
        let header = format!("permessage-deflate; {param}, permessage-deflate");
        assert_eq!(answer(&header, &ANY), Err(Unacceptable), "{header}");
    }
}

#[test]
fn parameters_are_answered_in_the_order_of_the_offer() {
    let offer = "permessage-deflate; client_max_window_bits=9; server_max_window_bits=10; \
                 client_no_context_takeover; server_no_context_takeover";
    accepts(offer, &ANY, offer.strip_prefix("permessage-deflate; ").unwrap());
    let accepted = negotiate(std::iter::once(offer.as_bytes()), &ANY).unwrap().unwrap();
    assert_eq!(
        accepted.params,
        Params {
            server_no_context_takeover: true,
            client_no_context_takeover: true,
            server_max_window_bits: 10,
            client_max_window_bits: 9,
        }
    );
}

#[test]
fn client_max_window_bits_without_a_value_is_dropped() {
    accepts("permessage-deflate; client_max_window_bits", &ANY, "");
    let exactly = Acceptance { client_max_window_bits: WindowBits::Exactly(10), ..ANY };
    accepts("permessage-deflate; client_max_window_bits", &exactly, "client_max_window_bits=10");
    accepts(
        "permessage-deflate, permessage-deflate; client_max_window_bits=12",
        &exactly,
        "client_max_window_bits=10",
    );
    assert_eq!(answer("permessage-deflate", &exactly), Err(Unacceptable));
    assert_eq!(answer("permessage-deflate; client_max_window_bits=9", &exactly), Err(Unacceptable));
    let refused = Acceptance { client_max_window_bits: WindowBits::Refused, ..ANY };
    accepts("permessage-deflate; client_max_window_bits=9", &refused, "");
}

#[test]
fn the_window_of_the_server() {
    let exactly = Acceptance { server_max_window_bits: WindowBits::Exactly(11), ..ANY };
    accepts("permessage-deflate", &exactly, "server_max_window_bits=11");
    accepts("permessage-deflate; server_max_window_bits=12", &exactly, "server_max_window_bits=11");
    assert_eq!(answer("permessage-deflate; server_max_window_bits=10", &exactly), Err(Unacceptable));
    let refused = Acceptance { server_max_window_bits: WindowBits::Refused, ..ANY };
    assert_eq!(answer("permessage-deflate; server_max_window_bits=10", &refused), Err(Unacceptable));
}

#[test]
fn context_takeover() {
    let both =
        Acceptance { server_no_context_takeover: Some(true), client_no_context_takeover: Some(true), ..ANY };
    accepts("permessage-deflate", &both, "server_no_context_takeover; client_no_context_takeover");
    accepts(
        "permessage-deflate; client_no_context_takeover",
        &both,
        "client_no_context_takeover; server_no_context_takeover",
    );
    let never = Acceptance { server_no_context_takeover: Some(false), ..ANY };
    assert_eq!(answer("permessage-deflate; server_no_context_takeover", &never), Err(Unacceptable));
    accepts("permessage-deflate; server_no_context_takeover, permessage-deflate", &never, "");
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
