//! UTF-8 in text messages (RFC 6455, section 8.1; RFC 3629).

use proptest::prelude::*;

use super::*;
use crate::engine::utf8::{Validator, is_valid};

const INVALID: Seen = Seen::Error(ErrorKind::InvalidUtf8, 0);

/// Not UTF-8: overlong, surrogate, above U+10FFFF, lone continuation, never a lead, cut short.
const NOT_UTF8: [&str; 14] = [
    "c080", "c1bf", "e08080", "e09fbf", "f0808080", "f08fbfbf", "eda080", "edbfbf", "f4908080", "f5808080",
    "80", "ff", "c3", "e282",
];

/// F11: one frame of invalid text.
#[test]
fn invalid_text() {
    for bytes in NOT_UTF8 {
        let len = 0x80 + bytes.len() / 2;
        assert_eq!(server(&format!("81{len:02x} 00000000 {bytes}")), [INVALID], "{bytes}");
    }
}

/// Both checks agree with the standard library at every length around a SIMD block.
#[test]
fn agrees_at_every_length() {
    let text = "a\u{e4}\u{20ac}\u{1f642}".repeat(20).into_bytes();
    for len in 0..text.len() {
        let expected = std::str::from_utf8(&text[..len]).is_ok();
        assert_eq!(is_valid(&text[..len]), expected, "{len}");
        let mut validator = Validator::default();
        assert!(validator.feed(&text[..len]), "{len}");
        assert_eq!(validator.is_complete(), expected, "{len}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 2048 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// F11: pieces of any size give the verdict of the standard library on the whole, and never
    /// refuse the beginning of valid text.
    #[test]
    fn pieces_agree_with_the_whole(
        pieces in prop::collection::vec(
            prop_oneof![
                "[a-c\u{e4}\u{20ac}\u{1f642}]{0,40}".prop_map(String::into_bytes),
                prop::collection::vec(
                    prop_oneof![Just(0xf0_u8), Just(0x9f), Just(0xe2), Just(0x82), any::<u8>()],
                    0..5,
                ),
            ],
            0..6,
        ),
        size in 1_usize..80,
    ) {
        let bytes = pieces.concat();
        let expected = std::str::from_utf8(&bytes);
        let mut validator = Validator::default();
        let fed = bytes.chunks(size).all(|piece| validator.feed(piece));
        prop_assert_eq!(fed && validator.is_complete(), expected.is_ok());
        let hopeless = expected.is_err_and(|error| error.error_len().is_some());
        prop_assert_eq!(fed, !hopeless);
    }
}
