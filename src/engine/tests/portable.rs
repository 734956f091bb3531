//! The state of an engine moves between any two inputs, and no bytes do harm.

use proptest::prelude::*;

use super::deflate::{frame as deflated_frame, pool};
use super::splits::{config, frame, pieces, sizes};
use super::*;
use crate::engine::deflate::{Params, Settings};
use crate::engine::portable::{Decoder, Encoder, Portable};

/// Through the bytes, into another engine. `None`: the state cannot move.
fn moved(engine: &Engine, config: &Config) -> Option<Engine> {
    let state = engine.export(config.role)?;
    let mut bytes = Vec::new();
    state.encode(&mut bytes);
    let mut from = Decoder(&bytes);
    let decoded = Portable::decode(&mut from).expect("it was just encoded");
    assert!(from.is_empty());
    assert_eq!(decoded, state);
    for len in 0..bytes.len() {
        assert_eq!(Portable::decode(&mut Decoder(&bytes[..len])), None, "cut at {len}");
    }
    Engine::import(decoded, config, &Settings { movable: true, ..Settings::default() }, &pool())
}

/// All events of a stream, with a move before each piece.
fn receive_moving<'a>(config: &Config, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let mut engine = Engine::new();
    let mut seen = Vec::new();
    for piece in pieces {
        match moved(&engine, config) {
            Some(next) => engine = next,
            None => assert!(engine.close_received() || engine.failure().is_some()),
        }
        seen.extend(feed(&mut engine, config, piece));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 1024 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn moves_do_not_matter(
        frames in prop::collection::vec(frame(), 0..12), config in config(), sizes in sizes()
    ) {
        let stream = frames.concat();
        let whole = receive(&config, [&stream[..]]);
        prop_assert_eq!(receive_moving(&config, pieces(&stream, &sizes)), &whole[..]);
        prop_assert_eq!(receive_moving(&config, stream.chunks(1)), whole);
    }

    /// A state from anyone is refused, or serves.
    #[test]
    fn hostile_states(bytes in prop::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..120), config in config()) {
        if let Some(state) = Portable::decode(&mut Decoder(&bytes))
            && let Some(mut engine) = Engine::import(state, &config, &Settings::default(), &pool())
        {
            feed(&mut engine, &config, &bytes);
        }
    }
}

/// RFC 7692, section 7.2.3: a later message refers to an earlier one. Each engine serves one input.
#[test]
fn a_compressed_stream_moves_at_any_byte() {
    let config = Config::default();
    let settings = Settings { movable: true, ..Settings::default() };
    let text = "a message that refers to earlier ones: gr\u{fc}\u{df}e ".repeat(9);
    // The first fragment ends within a character.
    let bytes = text.as_bytes();
    for no_takeover in [false, true] {
        let params = Params { client_no_context_takeover: no_takeover, ..Params::default() };
        let mut client = Engine::new();
        client.enable_deflate(Role::Client, params, &Settings::default(), &pool());
        let mut stream = Vec::new();
        for _ in 0..3 {
            for (first, part, fin) in
                [(0x41, &bytes[..42], false), (0, &bytes[42..200], false), (0x80, &bytes[200..], true)]
            {
                let mut payload = Vec::new();
                assert!(client.will_compress(true, 5000));
                client.compress(part, fin, &mut payload);
                client.encode(FrameKind::Text, fin, payload.len(), None);
                stream.extend(deflated_frame(first, &payload));
                stream.extend(deflated_frame(0x89, b"ping"));
            }
        }
        let engine = || {
            let mut engine = Engine::new();
            engine.enable_deflate(Role::Server, params, &settings, &pool());
            engine
        };
        let expected = feed(&mut engine(), &config, &stream);
        assert_eq!(expected.iter().filter(|seen| **seen == super::text(&text)).count(), 3);
        for size in [1, 2, 3, 7, 50, 400] {
            let mut server = engine();
            let mut seen = Vec::new();
            for piece in stream.chunks(size) {
                server = moved(&server, &config).expect("at any byte");
                seen.extend(feed(&mut server, &config, piece));
            }
            assert_eq!(seen, expected, "pieces of {size}");
        }
    }
}

/// After a block with BFINAL nothing before it is remembered, for another engine or for after a release.
#[test]
fn a_compressed_stream_that_ended_is_forgotten() {
    let config = Config::default();
    let settings = Settings { movable: true, releasable: true, ..Settings::default() };
    let begin = || deflate::engine(Role::Server, Params::default(), &settings);
    // The last of each refers to bytes before the end, or is no block.
    for (frames, kind) in [
        (&[(0xc1, "59"), (0xc1, "5e")][..], ErrorKind::DeflateInvalidBlockType),
        (&[(0xc1, "f2 48 cd c9 c9 07 04"), (0xc1, "f2 00 11 00 00")], ErrorKind::DeflateDistanceTooFar),
        (&[(0xc1, "f3 48 cd c9 c9 07 00 00"), (0xc1, "f2 00 11 00 00")], ErrorKind::DeflateDistanceTooFar),
        (
            &[(0x41, "f3 48 cd c9 c9 07 00"), (0x80, "00 01 00 fe ff 78 00"), (0xc1, "f2 00 11 00 00")],
            ErrorKind::DeflateDistanceTooFar,
        ),
    ] {
        let stream: Vec<u8> =
            frames.iter().flat_map(|(first, payload)| deflated_frame(*first, &hex(payload))).collect();
        let expected = feed(&mut begin(), &config, &stream);
        assert_eq!(expected.last(), Some(&Seen::Error(kind, 0)), "{frames:?}");
        for size in 1..stream.len() {
            let (mut moving, mut releasing) = (begin(), begin());
            let (mut seen, mut same) = (Vec::new(), Vec::new());
            for piece in stream.chunks(size) {
                moving = moved(&moving, &config).unwrap_or(moving);
                releasing.release_contexts();
                seen.extend(feed(&mut moving, &config, piece));
                same.extend(feed(&mut releasing, &config, piece));
            }
            assert_eq!((&seen, &same), (&expected, &expected), "{frames:?} in pieces of {size}");
        }
    }
}

#[test]
fn an_outgoing_compressed_message_goes_on_elsewhere() {
    let config = Config::default();
    let settings = Settings { movable: true, ..Settings::default() };
    let mut server = Engine::new();
    server.enable_deflate(Role::Server, Params::default(), &settings, &pool());
    let mut client = Engine::new();
    client.enable_deflate(Role::Client, Params::default(), &Settings::default(), &pool());
    let as_client = Config { role: Role::Client, ..Config::default() };
    for n in 0..3 {
        for (part, fin) in [("one one one ", false), ("two one two ", false), ("three", true)] {
            server = moved(&server, &config).expect("between frames");
            assert!(server.will_compress(true, part.len()));
            let mut payload = Vec::new();
            server.compress(part.as_bytes(), fin, &mut payload);
            let mut frame = server.encode(FrameKind::Text, fin, payload.len(), None).as_bytes().to_vec();
            frame.extend(payload);
            let seen = feed(&mut client, &as_client, &frame);
            let whole = if fin { vec![text("one one one two one two three")] } else { vec![] };
            assert_eq!(seen, whole, "message {n}");
        }
    }
}

/// A window that is not remembered is lost, as is a message too long to be remembered.
#[test]
fn a_context_in_use_does_not_move() {
    let config = Config::default();
    let mut server = Engine::new();
    server.enable_deflate(Role::Server, Params::default(), &Settings::default(), &pool());
    assert!(moved(&server, &config).is_some(), "no message came");
    // "a", compressed with fixed codes.
    assert_eq!(feed(&mut server, &config, &deflated_frame(0xc1, &[0x4a, 0x04, 0x00])), [text("a")]);
    assert!(moved(&server, &config).is_none(), "its window is lost");
    let mut server = Engine::new();
    let settings = Settings { movable: true, ..Settings::default() };
    server.enable_deflate(Role::Server, Params::default(), &settings, &pool());
    // A stored block.
    let block = [&[0, 0xff, 0xff, 0, 0][..], &[b'x'; 0xffff]].concat();
    assert_eq!(feed(&mut server, &config, &deflated_frame(0x41, &block)), []);
    assert!(moved(&server, &config).is_none(), "too long");
    assert_eq!(feed(&mut server, &config, &deflated_frame(0x80, &[0])).len(), 1);
    assert!(moved(&server, &config).is_some());
}

/// A state with a compressed message under way, from these parts.
fn deflated(bits: u8, window: usize, is_compressed: bool, ends: &[u64]) -> Option<Portable> {
    const BYTES: &[u8] = b"abcd";
    let mut bytes = Vec::new();
    let put = &mut Encoder(&mut bytes);
    put.flag(false);
    put.option(Some(()), |put, ()| {
        put.flag(true);
        put.number(BYTES.len() as u64);
        put.number(1);
        put.flag(is_compressed);
        put.bytes(if is_compressed { b"" } else { BYTES });
    });
    put.bytes(b"");
    put.flag(false);
    put.number(0);
    put.option(Some(()), |put, ()| {
        put.flag(false);
        put.flag(false);
        put.byte(15);
        put.byte(bits);
        put.bytes(&vec![0; window]);
        put.option(Some(()), |put, ()| {
            put.bytes(BYTES);
            put.number(ends.len() as u64);
            ends.iter().for_each(|&end| put.number(end));
        });
        put.flag(false);
    });
    Portable::decode(&mut Decoder(&bytes))
}

#[test]
fn states_that_no_engine_has_are_refused() {
    assert!(deflated(15, 1 << 15, true, &[2, 4]).is_some());
    assert!(deflated(8, 0, true, &[]).is_some());
    for bits in [0, 7, 16, 255] {
        assert_eq!(deflated(bits, 0, true, &[2]), None, "a window of {bits} bits");
    }
    assert_eq!(deflated(15, (1 << 15) + 1, true, &[2]), None, "more than a window");
    for ends in [&[4, 2][..], &[2, 2], &[5], &[1 << 16]] {
        assert_eq!(deflated(15, 0, true, ends), None, "{ends:?}");
    }
    assert_eq!(deflated(15, 0, false, &[2]), None, "not compressed");
}
