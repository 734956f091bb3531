//! permessage-deflate: the messages that are compressed, and the fate of the contexts.

use std::sync::Arc;

use proptest::prelude::*;

use super::{BOTH_NO_TAKEOVER, deflating, engine, frame, pool, sent};
use crate::engine::deflate::{INFLATER_BYTES, Params, Pool, Settings};
use crate::engine::tests::*;

/// RFC 7692, section 6.1, and ws: a message's first frame decides for the whole message.
#[test]
fn outgoing_messages_follow_their_first_frame() {
    let mut server = deflating(BOTH_NO_TAKEOVER);
    let plain = |engine: &mut Engine, len| engine.will_compress(true, len);
    assert!(!plain(&mut server, 1023), "below the threshold");
    assert!(plain(&mut server, 1024));
    assert_eq!(server.encode(FrameKind::Text, false, 1, None).as_bytes(), [0x41, 1]);
    assert!(plain(&mut server, 1), "the threshold is for the first frame");
    assert_eq!(server.encode(FrameKind::Text, true, 1, None).as_bytes(), [0x80, 1]);
    assert!(!server.will_compress(false, 5000));
    assert_eq!(server.encode(FrameKind::Text, false, 0, None).as_bytes(), [1, 0]);
    assert!(!plain(&mut server, 5000), "the first frame was not compressed");
    assert!(deflating(Params::default()).will_compress(true, 1), "no threshold with context takeover");
    assert_eq!(server.encode(FrameKind::Ping, true, 0, None).as_bytes(), [0x89, 0]);
    assert!(!Engine::new().will_compress(true, 5000));
}

/// A message for many connections without context takeover is compressed once.
#[test]
fn the_same_message_is_compressed_once() {
    let pool = pool();
    let message = [b'x'; 5000];
    let frames: Vec<Vec<u8>> = (0..3)
        .map(|_| {
            let mut engine = Engine::new();
            engine.enable_deflate(Role::Server, BOTH_NO_TAKEOVER, &Settings::default(), &pool);
            assert!(engine.will_compress(true, message.len()));
            let mut out = Vec::new();
            engine.compress(&message, true, &mut out);
            engine.encode(FrameKind::Text, true, out.len(), None);
            assert!(!engine.holds_contexts());
            out
        })
        .collect();
    assert_eq!(pool.reused(), 2);
    assert!(frames[0] == frames[1] && frames[1] == frames[2]);
}

/// A budget: contexts beyond it compress all the same, but are forgotten.
#[test]
fn contexts_beyond_the_budget_are_not_kept() {
    let bytes = Settings::default().deflater_bytes(15);
    let pool = Arc::new(Pool::new(bytes));
    let mut engines: Vec<Engine> = (0..2)
        .map(|_| {
            let mut engine = Engine::new();
            engine.enable_deflate(Role::Client, Params::default(), &Settings::default(), &pool);
            sent(&mut engine, b"first", true);
            engine
        })
        .collect();
    assert_eq!(engines.iter().map(Engine::holds_contexts).collect::<Vec<_>>(), [true, false]);
    assert_eq!(pool.budget().outgoing(), bytes);
    engines.remove(0);
    assert_eq!(pool.budget().outgoing(), 0);
    sent(&mut engines[0], b"second", true);
    assert_eq!(pool.budget().outgoing(), bytes);
}

/// Releasing contexts between messages changes only the length of the frames that are sent.
#[test]
fn contexts_are_released() {
    let settings = Settings { releasable: true, ..Settings::default() };
    let config = Config::default();
    let message: Vec<u8> = (0..9000_u32).map(|n| ((n * n) >> 5) as u8).collect();
    let mut client = engine(Role::Client, Params::default(), &settings);
    let mut server = engine(Role::Server, Params::default(), &settings);
    let lengths: Vec<usize> = (0..4)
        .map(|round| {
            let bytes = sent(&mut client, &message, true);
            assert_eq!(feed(&mut server, &config, &bytes), [Seen::Binary(message.clone())]);
            server.release_contexts();
            assert!(!server.holds_contexts());
            assert!(server.context_bytes() <= (32 << 10) + 1024);
            if round == 1 {
                client.release_contexts();
            }
            bytes.len()
        })
        .collect();
    assert!(lengths[1] < lengths[0] / 10 && lengths[3] < lengths[0] / 10, "{lengths:?}");
    assert_eq!(lengths[2], lengths[0], "after a release it begins anew");
}

/// The context of an incomplete message is part of it, unless the connection keeps it.
#[test]
fn the_context_of_an_unfinished_message_counts() {
    for (params, counts) in [(BOTH_NO_TAKEOVER, true), (Params::default(), false)] {
        let (config, pool) = (Config::default(), pool());
        let mut server = Engine::new();
        server.enable_deflate(Role::Server, params, &Settings::default(), &pool);
        // "Hello", of RFC 7692, section 7.2.3.1.
        let bytes = hex("c187 00000000 f248cdc9c90700");
        for _ in 0..2 {
            let (begin, rest) = bytes.split_at(10);
            assert_eq!(feed(&mut server, &config, begin), []);
            assert_eq!(server.buffered() >= INFLATER_BYTES, counts);
            assert_eq!(feed(&mut server, &config, rest), [Seen::Text(b"Hello".to_vec())]);
            assert_eq!(server.buffered(), 0);
        }
        assert_eq!(feed(&mut server, &config, &bytes[..10]), []);
        // A key is missing.
        assert_eq!(feed(&mut server, &config, &hex("00000000 8100")).len(), 1);
        assert_eq!(server.buffered(), 0);
    }
}

fn within(pool: &Arc<Pool>, params: Params) -> Engine {
    let mut engine = Engine::new();
    engine.enable_deflate(Role::Server, params, &Settings::default(), pool);
    engine
}

/// Contexts of unfinished messages use the budget of kept ones; without one, it is kept as is.
#[test]
fn contexts_of_unfinished_messages_stay_within_the_budget() {
    let (config, pool) = (Config::default(), Arc::new(Pool::new(2 * INFLATER_BYTES)));
    let bytes = hex("c187 00000000 f248cdc9c90700");
    let mut servers: Vec<Engine> = (0..4).map(|_| within(&pool, BOTH_NO_TAKEOVER)).collect();
    for server in &mut servers {
        assert_eq!(feed(server, &config, &bytes[..10]), []);
        assert!(server.buffered() >= INFLATER_BYTES, "it counts, context or not");
    }
    let contexts = |servers: &[Engine]| servers.iter().map(Engine::holds_contexts).collect::<Vec<_>>();
    assert_eq!(contexts(&servers), [true, true, false, false]);
    assert!(servers[3].context_bytes() < 1024, "{}", servers[3].context_bytes());
    assert_eq!(pool.budget().incoming(), 2 * INFLATER_BYTES);
    assert!(pool.budget().is_full());
    // A connection counts all the same if its peer can refer to earlier messages.
    let keeps = within(&pool, Params::default());
    assert_eq!(pool.budget().incoming(), 3 * INFLATER_BYTES);
    drop(keeps);
    // There is room again: the next bytes have a context.
    drop(servers.remove(0));
    assert_eq!(feed(&mut servers[2], &config, &bytes[10..11]), []);
    assert_eq!(contexts(&servers), [true, false, true]);
    for (server, rest) in servers.iter_mut().zip([10, 10, 11]) {
        assert_eq!(feed(server, &config, &bytes[rest..]), [Seen::Text(b"Hello".to_vec())]);
        assert_eq!(server.buffered(), 0);
    }
    assert_eq!((contexts(&servers), pool.budget().incoming()), (vec![false; 3], 0));
}

/// A message that is too long to be kept so has a context, which counts; the context goes with the
/// message, with an error and with the engine.
#[test]
fn a_long_unfinished_message_has_a_context_beyond_the_budget() {
    let (config, pool) = (Config::default(), Arc::new(Pool::new(0)));
    let mut plain = vec![0; 5000];
    plain.iter_mut().enumerate().for_each(|(n, byte)| *byte = n as u8);
    let stored = [&[0, 0x88, 0x13, !0x88, !0x13][..], &plain, &[0]].concat();
    for (most, end) in [(4096, "rest"), (4097, "rest"), (4096, "error"), (4097, "error"), (4097, "gone")] {
        for step in [1, 100, most] {
            let mut server = within(&pool, BOTH_NO_TAKEOVER);
            let bytes = frame(0xc2, &stored);
            let header = bytes.len() - stored.len();
            for piece in bytes[..header + most].chunks(step) {
                assert_eq!(feed(&mut server, &config, piece), []);
            }
            let is_long = most > 4096;
            assert_eq!(server.holds_contexts(), is_long, "{most} in steps of {step}");
            assert_eq!(pool.budget().incoming() > 0, is_long);
            match end {
                "rest" => {
                    assert_eq!(
                        feed(&mut server, &config, &bytes[header + most..]),
                        [Seen::Binary(plain.clone())]
                    );
                }
                "error" => drop(server.refuse(ErrorKind::Unfinished)),
                _ => drop(server),
            }
            assert_eq!(pool.budget().incoming(), 0);
        }
    }
}

/// A frame that ends its stream is followed by a new one, also where both were kept as is.
#[test]
fn streams_that_end_with_their_frames_are_distinguished() {
    let ended = hex("f3 48 cd c9 c9 07 00 00");
    let stream = [frame(0x41, &ended), frame(0, &[]), frame(0, &[]), frame(0x80, &ended)].concat();
    for budget in [0, INFLATER_BYTES] {
        for step in [1, 3, stream.len()] {
            let mut server = within(&Arc::new(Pool::new(budget)), BOTH_NO_TAKEOVER);
            let seen: Vec<Seen> =
                stream.chunks(step).flat_map(|piece| feed(&mut server, &Config::default(), piece)).collect();
            assert_eq!(seen, [Seen::Text(b"HelloHello".to_vec())]);
        }
    }
}

proptest! {
    /// The budget decides about memory only.
    #[test]
    fn what_is_kept_as_it_came_becomes_the_same(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 1..12),
        broken in prop::option::of(0_usize..12),
        cut in 1_usize..3000,
    ) {
        let mut client = engine(Role::Client, BOTH_NO_TAKEOVER, &Settings { threshold: 0, ..Settings::default() });
        let last = parts.len() - 1;
        let mut stream: Vec<u8> = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            let begin = stream.len();
            stream.extend(sent(&mut client, part, n == last));
            if broken == Some(n) && let Some(byte) = stream.get_mut(begin + 8) {
                *byte ^= 0x55;
            }
        }
        let seen = [0, usize::MAX].map(|budget| {
            let pool = Arc::new(Pool::new(budget));
            let mut server = within(&pool, BOTH_NO_TAKEOVER);
            let seen: Vec<Seen> =
                stream.chunks(cut).flat_map(|piece| feed(&mut server, &Config::default(), piece)).collect();
            drop(server);
            assert_eq!(pool.budget().incoming(), 0);
            seen
        });
        prop_assert_eq!(&seen[0], &seen[1]);
    }
}
