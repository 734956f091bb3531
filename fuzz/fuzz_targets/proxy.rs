//! Headers of the PROXY protocol: no panic, bounds, and the same answer for any pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::proxy::{Parsed, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    match whole {
        Parsed::Incomplete => assert!(bytes.len() < 4096),
        Parsed::Header(len, _) => assert!(len <= bytes.len() && len <= 4096),
        Parsed::Invalid => {}
    }
    let mut answer = Parsed::Incomplete;
    for cut in 0..=bytes.len().min(4096) {
        match (answer, parse(&bytes[..cut])) {
            (Parsed::Incomplete, next) => answer = next,
            (earlier, next) => assert_eq!(earlier, next, "an answer is not taken back"),
        }
    }
    assert_eq!(answer, whole);
});
