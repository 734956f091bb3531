//! Messages for many connections.

use std::sync::Arc;

use super::deflate::{BOTH_NO_TAKEOVER, pool};
use super::*;
use crate::engine::deflate::{Params, Pool, Settings};

const LONGEST: usize = 1 << 16;

fn server(params: Params, pool: &Arc<Pool>) -> Engine {
    let mut engine = Engine::new();
    engine.enable_deflate(Role::Server, params, &Settings { threshold: 10, ..Settings::default() }, pool);
    engine
}

fn seen_by_client(params: Params, bytes: &[u8]) -> Vec<Seen> {
    let mut client = Engine::new();
    client.enable_deflate(Role::Client, params, &Settings::default(), &pool());
    feed(&mut client, &Config { role: Role::Client, ..Config::default() }, bytes)
}

#[test]
fn it_is_framed_and_compressed_once() {
    let pool = pool();
    let message = "the same for all of them, ".repeat(50);
    let mut prepared = Prepared::new(MessageKind::Text, message.as_bytes(), true);
    let (without, _) = Engine::new().prepared_frame(&mut prepared, LONGEST).unwrap();
    assert_eq!(client_of(&without), [text(&message)]);
    for round in 0..3 {
        for (number, bits) in [15, 9, 8].into_iter().enumerate() {
            let params = Params { server_max_window_bits: bits, ..BOTH_NO_TAKEOVER };
            let (frame, compressed) = server(params, &pool).prepared_frame(&mut prepared, LONGEST).unwrap();
            assert_eq!(compressed, if round == 0 { message.len() } else { 0 }, "{number}");
            assert!(frame.len() < message.len() / 4);
            assert_eq!(seen_by_client(params, &frame), [text(&message)]);
        }
    }
}

fn client_of(bytes: &[u8]) -> Vec<Seen> {
    feed(&mut Engine::new(), &Config { role: Role::Client, ..Config::default() }, bytes)
}

/// The window of 8 bits is not the one of 9, though zlib has only one compressor for both.
#[test]
fn windows_are_kept_apart() {
    let pool = pool();
    let mut message: Vec<u8> = (0..300_u32).map(|n| ((n * n) >> 3) as u8).collect();
    message.extend_from_within(..);
    let mut prepared = Prepared::new(MessageKind::Binary, &message, true);
    let frame = |bits, prepared: &mut Prepared| {
        let params = Params { server_max_window_bits: bits, ..BOTH_NO_TAKEOVER };
        server(params, &pool).prepared_frame(prepared, LONGEST).unwrap().0
    };
    let (nine, eight) = (frame(9, &mut prepared), frame(8, &mut prepared));
    assert!(nine.len() + 200 < eight.len(), "only the larger one reaches back 300 bytes");
}

#[test]
fn who_needs_its_own_gets_none() {
    let pool = pool();
    let mut prepared = Prepared::new(MessageKind::Binary, &[7; 1000], true);
    assert!(server(Params::default(), &pool).prepared_frame(&mut prepared, LONGEST).is_none(), "a context");
    assert!(server(BOTH_NO_TAKEOVER, &pool).prepared_frame(&mut prepared, 999).is_none(), "too long");
    let mut sending = server(BOTH_NO_TAKEOVER, &pool);
    sending.will_compress(true, 20);
    sending.encode(FrameKind::Text, false, 20, None);
    assert!(sending.prepared_frame(&mut prepared, LONGEST).is_none(), "inside a message");
    let full = Arc::new(Pool::new(0));
    assert!(
        server(Params::default(), &full).prepared_frame(&mut prepared, LONGEST).is_some(),
        "no context fits"
    );

    let mut plain = Prepared::new(MessageKind::Binary, &[7; 1000], false);
    let (frame, _) = server(Params::default(), &pool).prepared_frame(&mut plain, 0).unwrap();
    assert_eq!(frame.first(), Some(&0x82), "not to be compressed");
    let mut short = Prepared::new(MessageKind::Binary, &[7; 9], true);
    let (frame, _) = server(BOTH_NO_TAKEOVER, &pool).prepared_frame(&mut short, LONGEST).unwrap();
    assert_eq!(frame.first(), Some(&0x82), "below the threshold");
}

#[test]
fn its_header_is_written_before_a_payload_that_stays_where_it_is() {
    for len in [0, 5, 200, 70_000] {
        let large = Large::copy(&vec![b'x'; len]);
        let place = large.as_ptr();
        let mut prepared = Prepared::in_place(MessageKind::Text, large, false);
        assert_eq!((prepared.payload(), prepared.payload().as_ptr()), (&vec![b'x'; len][..], place));
        let (frame, _) = Engine::new().prepared_frame(&mut prepared, 0).unwrap();
        assert_eq!(client_of(&frame), [text(&"x".repeat(len))]);
    }
}

#[test]
fn what_is_left_of_a_frame_ends_with_it() {
    let mut frame = Frame::new(b"xxabc".to_vec(), 2);
    frame.skip(1);
    assert_eq!(*frame, *b"bc");
    let other = frame.clone();
    frame.skip(usize::MAX);
    assert!(frame.is_empty());
    assert_eq!(*other, *b"bc");
}
