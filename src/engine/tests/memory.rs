//! Memory follows the received bytes, never a declared length.

use proptest::prelude::*;

use super::splits::{config, frame, pieces, sizes};
use super::*;

/// F07: a header can declare 99 MiB: their first byte takes one byte of memory.
#[test]
fn declared_length_is_not_allocated() {
    let mut engine = Engine::new();
    feed(&mut engine, &Config::default(), &hex("82ff 0000000006300000 00000000"));
    assert_eq!(engine.buffered(), 0);
    feed(&mut engine, &Config::default(), &[1]);
    assert!(engine.buffered() <= 2, "{}", engine.buffered());
}

/// F15: a message in many inputs is one buffer, which is handed out without slack.
#[test]
fn one_buffer_of_the_right_size() {
    let config = Config::default();
    let mut engine = Engine::new();
    feed(&mut engine, &config, &hex("82fe ffff 00000000 00"));
    for _ in 0..0xfffd {
        feed(&mut engine, &config, &[0]);
    }
    assert_eq!(engine.buffered(), 0xffff);
    let (mut input, mut pos) = ([0], 0);
    let Some(Event::Message { payload: Payload::Owned(data), .. }) =
        engine.poll(&config, &mut input, &mut pos)
    else {
        panic!("a message")
    };
    assert_eq!((data.len(), data.capacity()), (0xffff, 0xffff));
    assert_eq!(engine.buffered(), 0);
}

/// F15: after half of a message, the rest needs no other memory.
#[test]
fn the_end_is_near() {
    let mut engine = Engine::new();
    let mut input = hex("82fe 4000 00000000");
    input.resize(input.len() + 0x2000, 0);
    feed(&mut engine, &Config::default(), &input[..input.len() - 1]);
    assert_eq!(engine.buffered(), 0x1fff);
    feed(&mut engine, &Config::default(), &[0]);
    assert_eq!(engine.buffered(), 0x4000);
}

/// F14: empty fragments occupy nothing.
#[test]
fn empty_fragments() {
    let mut engine = Engine::new();
    feed(&mut engine, &Config::default(), &hex(&format!("0180 00000000 {}", "0080 00000000".repeat(1000))));
    assert_eq!(engine.buffered(), 0);
}

/// F12: an error releases the kept part of the message.
#[test]
fn error_releases() {
    let mut engine = Engine::new();
    feed(&mut engine, &Config::default(), &hex("0182 00000000 6162 8983 00000000 61"));
    assert_ne!(engine.buffered(), 0);
    feed(&mut engine, &Config::default(), &hex("6262 8180"));
    assert!(engine.failure().is_some());
    assert_eq!(engine.buffered(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 1024 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// F07, F12: never more than twice the received bytes (plus the eight bytes of the smallest
    /// control buffer), and nothing between messages.
    #[test]
    fn bounded_by_what_came_in(
        frames in prop::collection::vec(frame(), 0..12),
        config in config(),
        sizes in sizes(),
    ) {
        let stream = frames.concat();
        let (mut engine, mut received) = (Engine::new(), 0);
        for piece in pieces(&stream, &sizes) {
            feed(&mut engine, &config, piece);
            received += piece.len();
            prop_assert!(engine.buffered() <= 2 * received + 8);
            let idle = engine.message.is_none() && !matches!(engine.stage, Stage::Payload(_));
            prop_assert!(!idle || engine.buffered() == 0);
        }
    }
}
