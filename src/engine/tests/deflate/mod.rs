//! permessage-deflate: RFC 7692, and the rows Z01 to Z06 of the list of faults.

mod contexts;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::engine::deflate::{INFLATER_BYTES, Params, Pool, Settings};

pub(super) const BOTH_NO_TAKEOVER: Params = Params {
    server_no_context_takeover: true,
    client_no_context_takeover: true,
    server_max_window_bits: 15,
    client_max_window_bits: 15,
};

pub(super) fn pool() -> Arc<Pool> {
    Arc::new(Pool::new(1 << 30))
}

pub(super) fn engine(role: Role, params: Params, settings: &Settings) -> Engine {
    let mut engine = Engine::new();
    engine.enable_deflate(role, params, settings, &pool());
    engine
}

pub(super) fn deflating(params: Params) -> Engine {
    engine(Role::Server, params, &Settings::default())
}

/// A client's frame; its key of zeros masks nothing.
pub(super) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..=125 => bytes.push(0x80 | len as u8),
        len @ 126..=0xffff => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

/// A server's events for a stream: the same in one input, byte by byte, and cut once anywhere.
fn inflated(config: &Config, params: Params, stream: &[u8]) -> Vec<Seen> {
    let receive = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut engine = deflating(params);
        pieces.flat_map(|piece| feed(&mut engine, config, piece)).collect::<Vec<_>>()
    };
    let seen = receive(&mut std::iter::once(stream));
    assert_eq!(receive(&mut stream.chunks(1)), seen, "byte by byte");
    for cut in (0..stream.len()).step_by(1 + stream.len() / 200) {
        assert_eq!(receive(&mut [&stream[..cut], &stream[cut..]].into_iter()), seen, "cut at {cut}");
    }
    seen
}

fn takes(frames: &[(u8, &str)]) -> Vec<Seen> {
    let stream: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, &hex(payload))).collect();
    inflated(&Config::default(), Params::default(), &stream)
}

/// A message as `engine` sends it.
pub(super) fn sent(engine: &mut Engine, payload: &[u8], fin: bool) -> Vec<u8> {
    let compressed = engine.will_compress(true, payload.len());
    let mut body = Vec::new();
    if compressed {
        engine.compress(payload, fin, &mut body);
    } else {
        body.extend_from_slice(payload);
    }
    let mut bytes = engine.encode(FrameKind::Binary, fin, body.len(), Some([1, 2, 3, 4])).to_vec();
    let start = bytes.len();
    bytes.extend_from_slice(&body);
    mask::unmask([1, 2, 3, 4], 0, &mut bytes[start..]);
    bytes
}

/// RFC 7692, sections 6.1 and 7.2.3.1 to 7.2.3.6. The block after one with BFINAL starts anew; control frames
/// come in between.
#[test]
fn examples_of_the_rfc() {
    let (hello, again) = ((0xc1, "f2 48 cd c9 c9 07 00"), (0xc1, "f3 48 cd c9 c9 07 00 00"));
    let one = || vec![text("Hello")];
    let between = [Seen::Ping(vec![0x2a]), Seen::Pong(vec![]), text("Hello"), text("a")];
    let pieces =
        [(0x41, "f2 48 cd"), (0x89, "2a"), (0, ""), (0, "c9 c9 07"), (0x8a, ""), (0x80, "00"), (0x81, "61")];
    for (frames, seen) in [
        (&[hello][..], one()),
        (&[(0x41, "f2 48 cd"), (0x80, "c9 c9 07 00")], one()),
        (&[hello, (0xc1, "f2 00 11 00 00")], times(2, &one())),
        (&[(0xc1, "00 05 00 fa ff 48 65 6c 6c 6f 00")], one()),
        (&[again, again, hello], times(3, &one())),
        (&[(0xc1, "f2 48 05 00 00 00 ff ff ca c9 c9 07 00")], one()),
        (&[(0xc1, "00"), (0xc2, ""), hello], vec![text(""), Seen::Binary(vec![]), text("Hello")]),
        (&pieces, between.to_vec()),
    ] {
        assert_eq!(takes(frames), seen, "{frames:?}");
    }
    let stream = [frame(0xc1, &hex(hello.1)), frame(0xc1, &hex("f2 00 11 00 00"))].concat();
    let seen = inflated(&Config::default(), BOTH_NO_TAKEOVER, &stream);
    assert_eq!(seen, [text("Hello"), Seen::Error(ErrorKind::DeflateDistanceTooFar, 0)]);
}

/// A block with BFINAL, however it is fragmented: a fragment without a byte is no block.
#[test]
fn rfc_a_block_with_bfinal_in_fragments() {
    let payload = hex("f3 48 cd c9 c9 07 00 00");
    for first in 0..=payload.len() {
        for second in first..=payload.len() {
            let parts =
                [(0x41, &payload[..first]), (0x00, &payload[first..second]), (0x80, &payload[second..])];
            let again = parts.map(|(head, part)| frame(head, part)).concat();
            let stream = [&again[..], &again, &frame(0xc1, &hex("f2 48 cd c9 c9 07 00"))].concat();
            for params in [Params::default(), BOTH_NO_TAKEOVER] {
                let seen = inflated(&Config::default(), params, &stream);
                assert_eq!(seen, times(3, &[text("Hello")]), "cut at {first} and {second}");
            }
        }
    }
}

/// RFC 7692, section 7.2.1: the block that the trailer ends can have BFINAL. The next message begins anew; ws loses it.
#[test]
fn rfc_a_block_with_bfinal_that_the_trailer_ends() {
    let (hello, refers) = ((0xc1, "f2 48 cd c9 c9 07 00"), (0xc1, "f2 00 11 00 00"));
    for (last, seen) in [("01", ""), ("59", ""), ("f2 48 cd c9 c9 07 04", "Hello")] {
        let before = [text("Hello"), text(seen)];
        let too_far = Seen::Error(ErrorKind::DeflateDistanceTooFar, 0);
        assert_eq!(takes(&[hello, (0xc1, last), hello]), [&before[..], &[text("Hello")]].concat(), "{last}");
        assert_eq!(takes(&[hello, (0xc1, last), refers]), [&before[..], &[too_far]].concat(), "{last}");
    }
}

/// Z01, and RFC 7692, section 6: only the first frame of a message has RSV1.
#[test]
fn z01_rsv1_out_of_place() {
    let error = [Seen::Error(ErrorKind::UnexpectedRsv1, 0)];
    assert_eq!(server("c1 87 00000000 f248cdc9c90700"), error);
    assert_eq!(takes(&[(0xc9, "")]), error);
    assert_eq!(takes(&[(0xc8, "")]), error);
    assert_eq!(takes(&[(0x41, "f2 48"), (0xc0, "cd c9 c9 07 00")]), error);
    assert_eq!(takes(&[(0x01, "61"), (0xc0, "62")]), error);
    assert_eq!(takes(&[(0xc3, "")]), [Seen::Error(ErrorKind::InvalidOpcode, 3)]);
}

fn bomb(len: usize) -> Vec<u8> {
    let mut engine = engine(Role::Client, BOTH_NO_TAKEOVER, &Settings { level: 9, ..Settings::default() });
    sent(&mut engine, &vec![0; len], true)
}

/// Z02: inflating stops at the limit; the inflated bytes never exceed it.
#[test]
fn z02_a_bomb() {
    let bomb = bomb(64 << 20);
    assert!(bomb.len() < 80_000);
    let config = Config { max_payload: 1 << 20, ..Config::default() };
    for step in [bomb.len(), 1000] {
        let mut engine = deflating(BOTH_NO_TAKEOVER);
        let mut seen = Vec::new();
        for piece in bomb.chunks(step) {
            seen.extend(feed(&mut engine, &config, piece));
            assert!(engine.buffered() <= (1 << 20) + INFLATER_BYTES, "{}", engine.buffered());
            assert!(engine.context_bytes() <= INFLATER_BYTES + 1024, "{}", engine.context_bytes());
        }
        assert_eq!(seen, [Seen::Error(ErrorKind::UnsupportedMessageLength, 0)]);
        assert!(engine.buffered() == 0 && engine.context_bytes() < 1024, "the context is freed");
    }
    let exact = Config { max_payload: 64 << 20, ..config };
    assert_eq!(feed(&mut deflating(BOTH_NO_TAKEOVER), &exact, &bomb), [Seen::Binary(vec![0; 64 << 20])]);
}

/// Z03: one limit for all fragments; references to earlier messages do not get around it.
#[test]
fn z03_a_bomb_in_fragments_and_by_context() {
    let config = Config { max_payload: 10_000, ..Config::default() };
    let mut client = engine(Role::Client, Params::default(), &Settings::default());
    let parts: Vec<_> = (0..5).map(|n| sent(&mut client, &[b'a'; 2500], n == 4)).collect();
    assert_eq!(
        inflated(&config, Params::default(), &parts.concat()),
        [Seen::Error(ErrorKind::UnsupportedMessageLength, 0)]
    );
    let mut client = engine(Role::Client, Params::default(), &Settings::default());
    let stream = [sent(&mut client, &[7; 9000], true), sent(&mut client, &[7; 10_001], true)].concat();
    assert_eq!(
        inflated(&config, Params::default(), &stream),
        [Seen::Binary(vec![7; 9000]), Seen::Error(ErrorKind::UnsupportedMessageLength, 0)]
    );
}

/// Z05: every window on either side. The inflating peer has exactly the window that was agreed on.
#[test]
fn z05_window_bits() {
    let message: Vec<u8> = (0..40_000_u32).map(|n| ((n * n) >> 7) as u8 % 31).collect();
    for bits in 8..=15 {
        let params =
            Params { server_max_window_bits: bits, client_max_window_bits: bits, ..Params::default() };
        for level in [1, 6, 9] {
            let settings = Settings { level, ..Settings::default() };
            let mut client = engine(Role::Client, params, &settings);
            let (mut server, config) = (deflating(params), Config::default());
            for _ in 0..3 {
                let bytes = sent(&mut client, &message, true);
                assert!(bytes.len() < message.len());
                assert_eq!(
                    feed(&mut server, &config, &bytes),
                    [Seen::Binary(message.clone())],
                    "{bits} {level}"
                );
            }
        }
    }
}

/// Z06: 1007 with zlib's sentence, and the context is freed.
#[test]
fn z06_garbage() {
    for (payload, kind) in [
        ("07", ErrorKind::DeflateInvalidBlockType),
        ("00 05 00 00 00", ErrorKind::DeflateInvalidStoredLengths),
        ("fd ff 07 00", ErrorKind::DeflateTooManySymbols),
        ("04 00 fe ff", ErrorKind::DeflateInvalidCodeLengths),
        ("04 00 24 49 00", ErrorKind::DeflateInvalidBitLengthRepeat),
        ("04 00 24 e9 ff 6d", ErrorKind::DeflateMissingEndOfBlock),
        ("04 80 49 92 24 49 92 24 71 ff ff 93 11 00", ErrorKind::DeflateInvalidLiterals),
        ("04 80 49 92 24 49 92 24 0f b4 ff ff c3 84", ErrorKind::DeflateInvalidDistances),
        ("1a 07 00", ErrorKind::DeflateInvalidLiteral),
        ("02 7e ff ff", ErrorKind::DeflateInvalidDistance),
        ("f2 00 11 00 00", ErrorKind::DeflateDistanceTooFar),
    ] {
        let seen = takes(&[(0xc2, payload)]);
        let [Seen::Error(error, 0)] = seen[..] else { panic!("{payload}: {seen:?}") };
        assert_eq!(error, kind, "{payload}");
        assert_eq!(error.row().close_code, CloseCode::INVALID_PAYLOAD_DATA);
    }
}

/// Z06: a stream that ends amid a block, where zlib would take the missing bytes for data.
#[test]
fn z06_cut_off() {
    let unexpected_end = [Seen::Error(ErrorKind::DeflateUnexpectedEnd, 0)];
    assert_eq!(takes(&[(0xc2, "00 0a 00 f5 ff 48 65 6c 6c 6f")]), unexpected_end);
    assert_eq!(takes(&[(0xc2, "f2 48 cd c9")]), unexpected_end);
    assert_eq!(takes(&[(0x42, "f2 48 cd"), (0x80, "")]), unexpected_end);
}

/// Z06: text is checked after it was inflated; the first fault is reported.
#[test]
fn z06_text_that_is_not_utf8() {
    let error = [Seen::Error(ErrorKind::InvalidUtf8, 0)];
    assert_eq!(takes(&[(0xc1, "00 02 00 fd ff c3 28 00")]), error);
    assert_eq!(takes(&[(0xc1, "00 01 00 fe ff c3 00")]), error);
    assert_eq!(takes(&[(0xc1, "00 01 00 fe ff ff 07")]), error);
    assert_eq!(takes(&[(0xc2, "00 01 00 fe ff ff 00")]), [Seen::Binary(vec![0xff])]);
}

proptest! {
    /// Messages arrive as they were sent, however they are fragmented and cut.
    #[test]
    fn round_trip(
        messages in prop::collection::vec(prop::collection::vec(prop::collection::vec(0_u8..8, 0..3000), 1..4), 1..5),
        takeover: (bool, bool),
        bits in 8_u8..=15,
        cut in 1_usize..2000,
        release: bool,
    ) {
        let params = Params {
            server_no_context_takeover: takeover.0,
            client_no_context_takeover: takeover.1,
            server_max_window_bits: bits,
            client_max_window_bits: bits,
        };
        let settings = Settings { threshold: 0, releasable: release, ..Settings::default() };
        let mut client = engine(Role::Client, params, &settings);
        let mut server = engine(Role::Server, params, &settings);
        let mut seen = Vec::new();
        for message in &messages {
            for (n, part) in message.iter().enumerate() {
                let bytes = sent(&mut client, part, n + 1 == message.len());
                for piece in bytes.chunks(cut) {
                    seen.extend(feed(&mut server, &Config::default(), piece));
                }
                if release {
                    client.release_contexts();
                    server.release_contexts();
                }
            }
        }
        let whole: Vec<Seen> = messages.iter().map(|parts| Seen::Binary(parts.concat())).collect();
        prop_assert_eq!(seen, whole);
    }

    /// With any input, nothing panics and the limit holds.
    #[test]
    fn any_bytes(payload in prop::collection::vec(any::<u8>(), 0..300), first in prop::sample::select(vec![0xc1_u8, 0xc2, 0x41])) {
        let config = Config { max_payload: 4000, ..Config::default() };
        let mut engine = deflating(Params::default());
        let mut seen = feed(&mut engine, &config, &frame(first, &payload));
        seen.extend(feed(&mut engine, &config, &frame(0x80, &payload)));
        for event in seen {
            if let Seen::Text(bytes) | Seen::Binary(bytes) = event {
                prop_assert!(bytes.len() <= 4000);
            }
        }
    }
}
