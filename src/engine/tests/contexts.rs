//! permessage-deflate: which messages are compressed, and what becomes of the contexts.

use std::sync::Arc;

use super::deflate::{BOTH_NO_TAKEOVER, deflating, engine, pool, sent};
use super::*;
use crate::engine::deflate::{INFLATER_BYTES, Params, Pool, Settings};

/// RFC 7692, section 6.1 and the rules of ws: what a message's first frame decides holds for all of it.
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

/// A budget: what it does not allow is compressed all the same, but forgotten.
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

/// Releasing contexts between messages changes nothing but the length of what is sent.
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

/// The context of a message that is not complete is part of it, unless the connection keeps it anyway.
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
