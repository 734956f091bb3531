//! Frames and their events (RFC 6455, sections 5 to 8). A row is a stream, which comes in one input and is
//! cut everywhere, and its events.

use super::*;
use crate::engine::deflate::{Params, Pool, Settings};
use ErrorKind::*;

/// `text(Hello) ping() close(1000,by) InvalidOpcode(3)`.
fn told(seen: &[Seen]) -> String {
    let one = |seen: &Seen| match seen {
        Seen::Text(bytes) => format!("text({})", bytes.escape_ascii()),
        Seen::Binary(bytes) => format!("binary({})", bytes.escape_ascii()),
        Seen::Ping(bytes) => format!("ping({})", bytes.escape_ascii()),
        Seen::Pong(bytes) => format!("pong({})", bytes.escape_ascii()),
        Seen::Close(code, reason) => {
            format!(
                "close({},{})",
                code.map_or(String::new(), |code| code.to_string()),
                reason.escape_ascii()
            )
        }
        Seen::Error(kind, detail) => format!("{kind:?}({detail})"),
    };
    seen.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn of_client() -> Config {
    Config { role: Role::Client, ..Config::default() }
}

fn max_payload(max_payload: u64) -> Config {
    Config { max_payload, ..Config::default() }
}

fn max_fragments(max_fragments: u32) -> Config {
    Config { max_fragments, ..Config::default() }
}

fn unchecked() -> Config {
    Config { skip_utf8_validation: true, ..Config::default() }
}

/// F06, F09, F10, F11, F19.
#[test]
fn what_a_server_sees() {
    for (frames, events) in [
        // Section 5.7; a payload of no bytes is a payload; no input is no event.
        ("8185 37fa213d 7f9f4d5158", "text(Hello)"),
        ("8a85 37fa213d 7f9f4d5158", "pong(Hello)"),
        ("8180 00000000 8280 01020304 8980 00000000 8a80 00000000", "text() binary() ping() pong()"),
        ("", ""),
        // Section 5.2 wants the shortest length; ws accepts any length, and so do we.
        ("81fe 0002 00000000 6869", "text(hi)"),
        ("81ff 0000000000000002 00000000 6869", "text(hi)"),
        ("81ff 0000000000000000 00000000", "text()"),
        // Each fragment has a key of its own, and can be empty; control frames come in between.
        ("0183 37fa213d 7f9f4d 8082 01020304 6d6d", "text(Hello)"),
        ("0180 00000000 0081 00000000 61 0080 00000000 8080 00000000", "text(a)"),
        (
            "0282 00000000 3132 8982 00000000 7069 0081 00000000 33 8a80 00000000 8081 00000000 34",
            "ping(pi) pong() binary(1234)",
        ),
        // Section 5.5.1: the body of a close frame is empty, or a code and perhaps a reason. Nothing follows.
        ("8880 00000000", "close(,)"),
        ("8882 00000000 03e8", "close(1000,)"),
        ("8884 00000000 03e86279", "close(1000,by)"),
        ("8880 00000000 8181 00000000 61 ffff", "close(,)"),
        ("8981 00000000 61", "ping(a)"),
        // A continuation continues something.
        ("0181 00000000 61 8081 00000000 62 8080", "text(ab) InvalidOpcode(0)"),
        ("8181 00000000 61 8080", "text(a) InvalidOpcode(0)"),
        // The order of ws where a header breaks more rules; one byte decides nothing, as in ws.
        ("ff01", "UnexpectedRsv23(0)"),
        ("4301", "UnexpectedRsv1(0)"),
        ("487f", "UnexpectedRsv1(0)"),
        ("0301", "InvalidOpcode(3)"),
        ("0801", "ExpectedFin(0)"),
        ("8801", "InvalidControlPayloadLength(1)"),
        ("897e", "InvalidControlPayloadLength(126)"),
        ("817f ffffffffffffffff", "ExpectedMask(0)"),
        ("ff", ""),
        // Binary messages are not text. A fragment can end inside a character, a message cannot.
        ("8281 00000000 ff", "binary(\\xff)"),
        ("0281 00000000 ff 8080 00000000", "binary(\\xff)"),
        ("0182 00000000 61e2 0081 00000000 82 8081 00000000 ac", "text(a\\xe2\\x82\\xac)"),
        ("0181 00000000 f0 8083 00000000 9f9982", "text(\\xf0\\x9f\\x99\\x82)"),
        ("0181 00000000 e2 8081 00000000 82", "InvalidUtf8(0)"),
        ("0181 00000000 e2 8080 00000000", "InvalidUtf8(0)"),
        ("0182 00000000 e282 8081 00000000 61", "InvalidUtf8(0)"),
        (
            "0182 00000000 c3a4 8080 00000000 8182 00000000 c3b6 0181 00000000 61 8081 00000000 62",
            "text(\\xc3\\xa4) text(\\xc3\\xb6) text(ab)",
        ),
    ] {
        assert_eq!(told(&server(frames)), events, "{frames}");
    }
}

/// F08, F12, F14, F20: a message at the bound passes; the bound is for each message, with all its fragments
/// and without control frames. 0 is no bound.
#[test]
fn what_other_settings_change() {
    let two = "0181 00000000 61 8081 00000000 62";
    let many = &format!("0180 00000000 {} 8080 00000000", "0080 00000000".repeat(100));
    let abc = "0182 00000000 6162 8081 00000000 63";
    for (config, frames, events) in [
        (of_client(), "8105 48656c6c6f", "text(Hello)"),
        (of_client(), "8905 48656c6c6f", "ping(Hello)"),
        (of_client(), "0103 48656c 8002 6c6f", "text(Hello)"),
        (unchecked(), "8181 00000000 ff", "text(\\xff)"),
        (unchecked(), "0181 00000000 c3 8080 00000000", "text(\\xc3)"),
        (unchecked(), "8883 00000000 03e8ff", "close(1000,\\xff)"),
        (max_payload(3), "8183 00000000 616263", "text(abc)"),
        (max_payload(3), &format!("{abc} 8283 00000000 313233 {abc}"), "text(abc) binary(123) text(abc)"),
        (
            max_payload(1),
            "0181 00000000 61 8983 00000000 313233 0080 00000000 8080 00000000",
            "ping(123) text(a)",
        ),
        (max_fragments(2), &two.repeat(2), "text(ab) text(ab)"),
        (max_fragments(1), "8181 00000000 61", "text(a)"),
        (max_fragments(2), "0180 00000000 8080 00000000", "text()"),
        (
            max_fragments(2),
            "0181 00000000 61 8980 00000000 8a80 00000000 8081 00000000 62",
            "ping() pong() text(ab)",
        ),
        (max_fragments(0), many, "text()"),
    ] {
        assert_eq!(told(&with(&config, frames)), events, "{frames}");
    }
    let Config { role, max_payload, max_fragments, skip_utf8_validation } = Config::default();
    assert_eq!(role, Role::Server);
    assert_eq!((max_payload, max_fragments, skip_utf8_validation), (104_857_600, 16_384, false));
}

/// F02 reserved bits, F03 no mask, F04 reserved opcodes, F06 control frames, F08, F10 fragments of nothing,
/// F11 text, F12, F14, F19 close frames, F20 the limits: with the last byte comes the error, not before.
#[test]
fn the_last_byte_decides() {
    let default = Config::default;
    let every = |firsts: &[&str], rest: &str, kind, detail| {
        firsts.iter().for_each(|first| decides(&default(), &format!("{first}{rest}"), kind, detail));
    };
    every(&["a1", "91", "b1", "a8", "90"], "80", UnexpectedRsv23, 0);
    every(&["c1", "c2", "c9", "c0"], "80", UnexpectedRsv1, 0);
    for opcode in [3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf] {
        every(&[&format!("{opcode:02x}"), &format!("{:02x}", 0x80 | opcode)], "80", InvalidOpcode, opcode);
    }
    every(&["80", "00"], "80", InvalidOpcode, 0);
    every(&["0181 00000000 61"], "8180", InvalidOpcode, 1);
    every(&["0180 00000000"], "0280", InvalidOpcode, 2);
    every(&["08", "09", "0a"], "80", ExpectedFin, 0);
    every(&["88", "89", "8a"], "fe", InvalidControlPayloadLength, 126);
    every(&["88", "89", "8a"], "ff", InvalidControlPayloadLength, 127);
    every(&["88"], "81", InvalidControlPayloadLength, 1);
    every(&["8105", "8900", "8800", "827e", "827f"], "", ExpectedMask, 0);
    for header in ["8185", "8980", "8880", "82fe"] {
        decides(&of_client(), header, UnexpectedMask, 0);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] {
        every(&["8882 00000000"], &format!("{code:04x}"), InvalidCloseCode, code);
    }
    // The code is looked at before the reason.
    every(&["8883 00000000"], "0001ff", InvalidCloseCode, 1);
    every(&["8884 00000000 03e8c328", "8883 00000000 03e8c3"], "", InvalidUtf8, 0);
    // Text fails with the first byte that nothing could follow.
    for text in ["6162ff", "ceff", "eda0", "f490", "e28228"] {
        every(&["81fe 4000 00000000"], text, InvalidUtf8, 0);
    }
    every(&["0181 00000000 f0 0080 00000000"], "00ff 0000000000000100 00000000 80", InvalidUtf8, 0);
    // The header suffices, before its masking key.
    for (most, frames) in [
        (3, "8184"),
        (255, "82fe 0100"),
        (0xffff, "82ff 0000000000010000"),
        (3, "0182 00000000 6162 8082"),
        (3, "0182 00000000 6162 0081 00000000 63 8081"),
        (104_857_600, "82ff 001fffffffffffff"),
    ] {
        decides(&max_payload(most), frames, UnsupportedMessageLength, 0);
    }
    // Section 5.2: no frame is longer than 2^53 - 1; the highest bit is no sign.
    for len in ["0020000000000000", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff"] {
        for config in [max_payload(0), max_payload(1), default()] {
            decides(&config, &format!("82ff {len}"), UnsupportedDataPayloadLength, 0);
        }
    }
    // One fragment more is refused when it is complete, as in ws; an empty one counts.
    for three in
        ["0181 00000000 61 0081 00000000 62 8081 00000000 63", "0180 00000000 0080 00000000 0080 00000000"]
    {
        decides(&max_fragments(2), three, TooManyFragments, 0);
    }
}

/// F19: section 7.4: which codes can be sent. All 65536 are tried.
#[test]
fn valid_codes() {
    let valid = |code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    for code in 0..=u16::MAX {
        assert_eq!(CloseCode::new(code).map(CloseCode::get), valid(code).then_some(code));
    }
    for code in [1000, 1003, 1007, 1014, 3000, 4999] {
        assert_eq!(server(&format!("8882 00000000 {code:04x}")), [Seen::Close(Some(code), vec![])]);
    }
}

/// F01, F06: section 5.7: lengths of 16 and 64 bits, the longest control frames, many frames in one input.
#[test]
fn long_ones() {
    assert_eq!(client(&format!("827e0100 {}", "5a".repeat(256))), [Seen::Binary(vec![0x5a; 256])]);
    assert_eq!(server(&format!("89fd 00000000 {}", "61".repeat(125))), [Seen::Ping(vec![b'a'; 125])]);
    let close = format!("887d 0fa0 {}", "61".repeat(123));
    assert_eq!(client(&close), [Seen::Close(Some(4000), vec![b'a'; 123])]);
    // Not cut everywhere: that takes long.
    let mut stream = hex("827f 0000000000010000");
    stream.resize(10 + 0x10000, 0x5a);
    for cut in [0, 1, 2, 9, 10, 11, 0x8000, 0x10009] {
        let seen = receive(&of_client(), [&stream[..cut], &stream[cut..]]);
        assert!(seen == [Seen::Binary(vec![0x5a; 0x10000])], "cut at {cut}");
    }
    let seen = server(&"8181 00000000 61 8982 00000000 6262 8280 00000000".repeat(20));
    assert_eq!(seen, times(20, &[text("a"), Seen::Ping(b"bb".into()), Seen::Binary(vec![])]));
}

/// Without a limit, or with a larger one, a message can be as long as 32 bits can express.
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
            assert_eq!(feed(engine, &config, &hex(longer)), [Seen::Error(UnsupportedMessageLength, 0)]);
        }
        decides(&config, "0181 00000000 61 80ff 00000000ffffffff", UnsupportedMessageLength, 0);
    }
}

/// F19: section 7.1.7: messages before an error or a close frame are delivered, those after it are not. A
/// message under way ends, and its memory is released.
#[test]
fn the_end_of_a_stream() {
    let (config, mut engine) = (Config::default(), Engine::new());
    let seen = feed(&mut engine, &config, &hex("8181 00000000 61 8100 8181 00000000 62"));
    assert_eq!(seen, [text("a"), Seen::Error(ExpectedMask, 0)]);
    assert_eq!(feed(&mut engine, &config, &hex("8181 00000000 62")), []);
    assert!(engine.failure().is_some() && !engine.close_received());
    let mut engine = Engine::new();
    let seen = feed(&mut engine, &config, &hex("0181 00000000 61 8880 00000000"));
    assert_eq!((seen, engine.buffered()), (vec![Seen::Close(None, vec![])], 0));
    assert_eq!(feed(&mut engine, &config, &hex("ffff 8880")), []);
    assert!(engine.close_received() && engine.failure().is_none() && !engine.close_sent());
    // A position after the end counts as the end.
    let mut pos = 7;
    assert_eq!(Engine::new().poll(&config, &mut [0x81, 0x80], &mut pos), None);
    assert_eq!(pos, 2);
}
