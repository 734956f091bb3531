//! Fragmentation (RFC 6455, section 5.4).

use super::*;

/// RFC 6455, section 5.7: a fragmented unmasked text message.
#[test]
fn fragmented_text() {
    assert_eq!(client("0103 48656c 8002 6c6f"), [text("Hello")]);
}

/// RFC 6455, section 5.3: each fragment has a key of its own.
#[test]
fn each_fragment_has_its_key() {
    assert_eq!(server("0183 37fa213d 7f9f4d 8082 01020304 6d6d"), [text("Hello")]);
}

/// F06: RFC 6455, section 5.4: control frames come in between and are delivered at once.
#[test]
fn control_frames_in_between() {
    let seen =
        server("0282 00000000 0102 8982 00000000 7069 0081 00000000 03 8a80 00000000 8081 00000000 04");
    assert_eq!(seen, [Seen::Ping(b"pi".into()), Seen::Pong(vec![]), Seen::Binary(vec![1, 2, 3, 4])]);
}

/// RFC 6455, section 5.4: any fragment may be empty, the last one too.
#[test]
fn empty_fragments() {
    let seen = server("0180 00000000 0081 00000000 61 0080 00000000 8080 00000000");
    assert_eq!(seen, [text("a")]);
}

/// A close frame ends a message that is under way, and its memory is released.
#[test]
fn close_inside_a_message() {
    let mut engine = Engine::new();
    let seen = feed(&mut engine, &Config::default(), &hex("0181 00000000 61 8882 00000000 03e8"));
    assert_eq!(seen, [Seen::Close(Some(1000), vec![])]);
    assert_eq!(engine.buffered(), 0);
}
