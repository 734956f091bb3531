//! The events of valid frames.

use super::*;

/// RFC 6455, section 5.7: a single-frame masked text message.
#[test]
fn masked_text() {
    assert_eq!(server("8185 37fa213d 7f9f4d5158"), [text("Hello")]);
}

/// RFC 6455, section 5.7: a single-frame unmasked text message.
#[test]
fn unmasked_text() {
    assert_eq!(client("8105 48656c6c6f"), [text("Hello")]);
}

/// RFC 6455, section 5.7: an unmasked ping, and a masked pong with the same body.
#[test]
fn ping_and_pong() {
    assert_eq!(client("8905 48656c6c6f"), [Seen::Ping(b"Hello".into())]);
    assert_eq!(server("8a85 37fa213d 7f9f4d5158"), [Seen::Pong(b"Hello".into())]);
}

/// RFC 6455, section 5.7: 256 bytes of binary message, unmasked.
#[test]
fn sixteen_bit_length() {
    let payload = "5a".repeat(256);
    assert_eq!(client(&format!("827e0100 {payload}")), [Seen::Binary(vec![0x5a; 256])]);
}

/// RFC 6455, section 5.7: 64 KiB of binary, unmasked. (Not cut everywhere: that takes long.)
#[test]
fn sixty_four_bit_length() {
    let mut stream = hex("827f 0000000000010000");
    stream.resize(10 + 0x10000, 0x5a);
    let config = Config { role: Role::Client, ..Config::default() };
    for cut in [0, 1, 2, 9, 10, 11, 0x8000, 0x10009] {
        let seen = receive(&config, [&stream[..cut], &stream[cut..]]);
        assert!(seen == [Seen::Binary(vec![0x5a; 0x10000])], "cut at {cut}");
    }
}

/// RFC 6455, section 5.2: a payload of no bytes is a payload.
#[test]
fn empty_frames() {
    let seen = server("8180 00000000 8280 01020304 8980 00000000 8a80 00000000");
    assert_eq!(seen, [text(""), Seen::Binary(vec![]), Seen::Ping(vec![]), Seen::Pong(vec![])]);
}

/// F09: RFC 6455, section 5.2 wants the shortest length; ws accepts any length, and so do we.
#[test]
fn lengths_that_are_not_minimal() {
    assert_eq!(server("81fe 0002 00000000 6869"), [text("hi")]);
    assert_eq!(server("81ff 0000000000000002 00000000 6869"), [text("hi")]);
    assert_eq!(server("81ff 0000000000000000 00000000"), [text("")]);
}

/// F06: RFC 6455, section 5.5: a control frame may have 125 bytes.
#[test]
fn longest_control_frame() {
    let payload = "61".repeat(125);
    assert_eq!(server(&format!("89fd 00000000 {payload}")), [Seen::Ping(vec![b'a'; 125])]);
}

/// F01: many frames in one input come out in order.
#[test]
fn coalesced_frames() {
    let seen = server(&"8181 00000000 61 8982 00000000 6262 8280 00000000".repeat(20));
    let expected = [text("a"), Seen::Ping(b"bb".into()), Seen::Binary(vec![])];
    assert_eq!(seen, times(20, &expected));
}

/// No input, no event.
#[test]
fn empty_input() {
    assert_eq!(receive(&Config::default(), [&[][..], &[]]), []);
}

/// A position behind the end counts as the end.
#[test]
fn position_behind_the_end() {
    let mut pos = 7;
    assert_eq!(Engine::new().poll(&Config::default(), &mut [0x81, 0x80], &mut pos), None);
    assert_eq!(pos, 2);
}
