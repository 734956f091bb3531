//! Limits: a message at the bound passes, a message beyond it does not.

use super::*;
use crate::engine::deflate::{Params, Pool, Settings};

fn max_payload(max_payload: u64) -> Config {
    Config { max_payload, ..Config::default() }
}

fn max_fragments(max_fragments: u32) -> Config {
    Config { max_fragments, ..Config::default() }
}

/// F20: a message of exactly maxPayload passes; for one byte more, the header suffices for the
/// error, before its masking key.
#[test]
fn payload() {
    assert_eq!(with(&max_payload(3), "8183 00000000 616263"), [text("abc")]);
    decides(&max_payload(3), "8184", ErrorKind::UnsupportedMessageLength, 0);
    decides(&max_payload(255), "82fe 0100", ErrorKind::UnsupportedMessageLength, 0);
    decides(&max_payload(0xffff), "82ff 0000000000010000", ErrorKind::UnsupportedMessageLength, 0);
}

/// F20: the fragments of a message count together.
#[test]
fn payload_of_fragments() {
    let seen = with(&max_payload(3), "0182 00000000 6162 8081 00000000 63");
    assert_eq!(seen, [text("abc")]);
    decides(&max_payload(3), "0182 00000000 6162 8082", ErrorKind::UnsupportedMessageLength, 0);
    decides(
        &max_payload(3),
        "0182 00000000 6162 0081 00000000 63 8081",
        ErrorKind::UnsupportedMessageLength,
        0,
    );
}

/// The whole limit holds for each message.
#[test]
fn payload_of_the_next_message() {
    let message = "0182 00000000 6162 8081 00000000 63 8283 00000000 010203";
    let seen = with(&max_payload(3), &message.repeat(2));
    assert_eq!(seen, times(2, &[text("abc"), Seen::Binary(vec![1, 2, 3])]));
}

/// Empty frames pass at the limit, and control frames are not counted.
#[test]
fn payload_of_control_frames() {
    let seen = with(&max_payload(1), "0181 00000000 61 8983 00000000 313233 0080 00000000 8080 00000000");
    assert_eq!(seen, [Seen::Ping(b"123".into()), text("a")]);
}

/// Without a limit, or with a larger one, a message may be as long as 32 bits can express.
#[test]
fn no_payload_limit() {
    for config in [max_payload(0), max_payload(1 << 32), max_payload(u64::MAX)] {
        assert_eq!(with(&config, "8183 00000000 616263"), [text("abc")]);
        let engine = &mut Engine::new();
        assert_eq!(feed(engine, &config, &hex("82ff 00000000ffffffff 00000000 61")), []);
        assert!(engine.failure().is_none());
        for longer in ["82ff 0000000100000000", "c2ff 0000000100000000", "82ff 001fffffffffffff"] {
            let engine = &mut Engine::new();
            let (params, settings) = (Params::default(), Settings::default());
            engine.enable_deflate(Role::Server, params, &settings, &Arc::new(Pool::new(0)));
            let error = Seen::Error(ErrorKind::UnsupportedMessageLength, 0);
            assert_eq!(feed(engine, &config, &hex(longer)), [error]);
        }
        decides(&config, "0181 00000000 61 80ff 00000000ffffffff", ErrorKind::UnsupportedMessageLength, 0);
    }
}

/// F08: RFC 6455, section 5.2: no frame is longer than 2^53 - 1; the highest bit is no sign.
#[test]
fn safe_integer() {
    for len in ["0020000000000000", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff"] {
        for config in [max_payload(0), max_payload(1), Config::default()] {
            decides(&config, &format!("82ff {len}"), ErrorKind::UnsupportedDataPayloadLength, 0);
        }
    }
    decides(&Config::default(), "82ff 001fffffffffffff", ErrorKind::UnsupportedMessageLength, 0);
}

/// F12: a message of maxFragments passes; one more is refused when it is complete, as in ws.
#[test]
fn fragments() {
    let two = "0181 00000000 61 8081 00000000 62";
    assert_eq!(with(&max_fragments(2), &two.repeat(2)), [text("ab"), text("ab")]);
    let three = "0181 00000000 61 0081 00000000 62 8081 00000000 63";
    decides(&max_fragments(2), three, ErrorKind::TooManyFragments, 0);
    assert_eq!(with(&max_fragments(1), "8181 00000000 61"), [text("a")]);
}

/// F14: empty fragments count.
#[test]
fn empty_fragments() {
    decides(&max_fragments(2), "0180 00000000 0080 00000000 0080 00000000", ErrorKind::TooManyFragments, 0);
    assert_eq!(with(&max_fragments(2), "0180 00000000 8080 00000000"), [text("")]);
}

/// Control frames are no fragments.
#[test]
fn control_frames_are_no_fragments() {
    let seen = with(&max_fragments(2), "0181 00000000 61 8980 00000000 8a80 00000000 8081 00000000 62");
    assert_eq!(seen, [Seen::Ping(vec![]), Seen::Pong(vec![]), text("ab")]);
}

/// 0 means no limit.
#[test]
fn no_fragment_limit() {
    let many = "0080 00000000".repeat(100);
    assert_eq!(with(&max_fragments(0), &format!("0180 00000000 {many} 8080 00000000")), [text("")]);
}

/// The default limit is that of ws 8.23.
#[test]
fn defaults() {
    let Config { role, max_payload, max_fragments, skip_utf8_validation } = Config::default();
    assert_eq!(role, Role::Server);
    assert_eq!((max_payload, max_fragments, skip_utf8_validation), (104_857_600, 16_384, false));
}
