//! Offers of extensions: no panic, and the same answer however the offers are spread over headers.
//! The answer keeps to the offer and to the server's settings.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::handshake::extensions::{Acceptance, PERMESSAGE_DEFLATE, WindowBits, negotiate};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    server_no_context_takeover: Option<bool>,
    client_no_context_takeover: Option<bool>,
    windows: [Option<u8>; 2],
    values: Vec<&'a [u8]>,
}

fuzz_target!(|input: Input<'_>| {
    let [server, client] = input.windows;
    let acceptance = Acceptance {
        server_no_context_takeover: input.server_no_context_takeover,
        client_no_context_takeover: input.client_no_context_takeover,
        server_max_window_bits: window(server),
        client_max_window_bits: window(client),
    };
    // A parser of HTTP leaves no spaces at the ends of a field: alone they are a fault, before a comma they are none.
    let values: Vec<&[u8]> = input.values.iter().map(|value| value.trim_ascii()).collect();
    let answer = negotiate(values.iter().copied(), &acceptance);
    let joined = values.join(&b", "[..]);
    let whole = (!values.is_empty()).then_some(&*joined);
    let same = negotiate(whole.into_iter(), &acceptance).map_err(|_fault| ());
    assert_eq!(same, answer.clone().map_err(|_fault| ()));

    let Ok(Some(accepted)) = answer else { return };
    let params = accepted.params;
    assert!((8..=15).contains(&params.server_max_window_bits) && (8..=15).contains(&params.client_max_window_bits));
    if let WindowBits::Exactly(bits) = acceptance.server_max_window_bits {
        assert_eq!(params.server_max_window_bits, bits);
    }
    if let WindowBits::Exactly(bits) = acceptance.client_max_window_bits {
        assert_eq!(params.client_max_window_bits, bits);
    }
    if let Some(wanted) = acceptance.server_no_context_takeover {
        assert_eq!(params.server_no_context_takeover, wanted);
    }
    assert!(acceptance.client_no_context_takeover != Some(true) || params.client_no_context_takeover);

    // The answer is a list of one extension, each parameter at most once.
    let mut parts = accepted.answer.split("; ");
    assert_eq!(parts.next(), Some(PERMESSAGE_DEFLATE));
    let names: Vec<_> = parts.map(|part| part.split('=').next()).collect();
    assert!((1..names.len()).all(|i| !names[i..].contains(&names[i - 1])), "{}", accepted.answer);
    assert!(accepted.answer.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
    // The same words as an offer, to a server that takes anything, mean the same.
    let again = negotiate(Some(accepted.answer.as_bytes()).into_iter(), &Acceptance::default());
    assert_eq!(again.ok().flatten().map(|accepted| accepted.params), Some(params));
});

fn window(wanted: Option<u8>) -> WindowBits {
    match wanted {
        None => WindowBits::Any,
        Some(0) => WindowBits::Refused,
        Some(bits) => WindowBits::Exactly(8 + bits % 8),
    }
}
