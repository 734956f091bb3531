//! Messages that are reported in parts, and left where they are.

use proptest::prelude::*;

use super::splits::{config, frame, pieces, sizes};
use super::*;

/// The events of a stream in pieces when parts are requested.
fn parted(config: &Config, pieces: &[&[u8]]) -> Vec<Seen> {
    let config = Config { parts: true, ..config.clone() };
    let mut engine = Engine::new();
    pieces.iter().flat_map(|piece| feed(&mut engine, &config, piece)).collect()
}

fn part(bytes: &[u8], last: bool) -> Seen {
    Seen::Part(MessageKind::Text, bytes.into(), last)
}

/// The events with messages in place of parts.
fn joined(events: Vec<Seen>) -> Vec<Seen> {
    let mut message = Vec::new();
    let mut whole = Vec::new();
    for event in events {
        let Seen::Part(kind, bytes, last) = event else {
            whole.push(event);
            continue;
        };
        assert!(last || !bytes.is_empty());
        message.extend(bytes);
        if last {
            let message = std::mem::take(&mut message);
            let is_text = kind == MessageKind::Text;
            whole.push(if is_text { Seen::Text(message) } else { Seen::Binary(message) });
        }
    }
    whole
}

/// A frame that is cut, with a control frame behind it that is cut too.
#[test]
fn cut_frame() {
    let stream = hex("8105 48656c6c6f 8902 7069");
    let config = Config { role: Role::Client, ..Config::default() };
    let seen = parted(&config, &[&stream[..4], &stream[4..5], &stream[5..10], &stream[10..]]);
    let ping = Seen::Ping(b"pi".into());
    assert_eq!(seen, [part(b"He", false), part(b"l", false), part(b"lo", true), ping]);
    assert_eq!(parted(&config, &[&stream]), [text("Hello"), Seen::Ping(b"pi".into())], "whole: no parts");
}

/// Each fragment is a part, an empty one only at the end.
#[test]
fn fragments() {
    let stream = hex("0103 48656c 0000 8002 6c6f");
    let config = Config { role: Role::Client, ..Config::default() };
    assert_eq!(parted(&config, &[&stream]), [part(b"Hel", false), part(b"lo", true)]);
    let stream = hex("0103 48656c 8000");
    assert_eq!(parted(&config, &[&stream]), [part(b"Hel", false), part(b"", true)]);
}

/// Text is checked as it comes, across parts.
#[test]
fn text_in_parts() {
    let stream = hex("8104 c3a4c3a4");
    let config = Config { role: Role::Client, ..Config::default() };
    assert_eq!(
        parted(&config, &[&stream[..3], &stream[3..]]),
        [part(b"\xc3", false), part(b"\xa4\xc3\xa4", true)]
    );
    let stream = hex("8104 c361c3a4");
    let error = Seen::Error(ErrorKind::InvalidUtf8, 0);
    assert_eq!(parted(&config, &[&stream[..3], &stream[3..4]]), [part(b"\xc3", false), error]);
}

/// Nothing is collected.
#[test]
fn parts_take_no_memory() {
    let config = Config { role: Role::Client, parts: true, ..Config::default() };
    let mut engine = Engine::new();
    feed(&mut engine, &config, &hex("827e 03e8"));
    feed(&mut engine, &config, &[0; 500]);
    assert_eq!(engine.buffered(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 2048 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// The joined parts equal the message that is collected otherwise, however the stream is cut.
    #[test]
    fn parts_make_the_message(
        frames in prop::collection::vec(frame(), 0..12),
        sizes in sizes(),
        config in config(),
    ) {
        let stream = frames.concat();
        let pieces = pieces(&stream, &sizes);
        let collected = receive(&config, pieces.iter().copied());
        prop_assert_eq!(joined(parted(&config, &pieces)), collected);
    }
}
