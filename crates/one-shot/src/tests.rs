//! Compressed data must inflate to the original, with no more history than was agreed on.

use proptest::prelude::*;
use zlib_rs::{Inflate, InflateFlush, Status};

use super::huffman::Code;
use super::{Manner, OneShot, TRAILER};

/// Inflates in steps of a byte with a window of `bits`, so that references can reach only the
/// window.
fn inflate(compressed: &[u8], bits: u8) -> Vec<u8> {
    let mut zlib = Inflate::new(false, bits);
    let input = [compressed, &TRAILER].concat();
    let (mut rest, mut out, mut byte) = (&input[..], Vec::new(), [0]);
    loop {
        let (taken, made) = (zlib.total_in(), zlib.total_out());
        let status = zlib.decompress(rest, &mut byte, InflateFlush::NoFlush);
        assert!(matches!(status, Ok(Status::Ok | Status::BufError)), "{status:?} {:?}", zlib.error_message());
        rest = &rest[(zlib.total_in() - taken) as usize..];
        out.extend_from_slice(&byte[..(zlib.total_out() - made) as usize]);
        if rest.is_empty() && zlib.total_out() == made {
            return out;
        }
    }
}

fn compressed(encoder: &mut OneShot, plain: &[u8], level: u8, bits: u8) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.compress(plain, Manner::new(level, bits), true, &mut out);
    out
}

/// Bytes that repeat at distances of every order.
fn text(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut out: Vec<u8> = Vec::with_capacity(len + 300);
    while out.len() < len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let back = (state >> 8) as usize % (1 << (1 + (state >> 27) / 2));
        if out.len() > back && state & 3 != 0 {
            let start = out.len() - back - 1;
            for at in start..start + 4 + (state >> 24) as usize {
                out.push(out[at]);
            }
        } else {
            out.extend_from_slice(&state.to_be_bytes());
        }
    }
    out.truncate(len);
    out
}

#[test]
fn every_length_level_and_window() {
    let mut encoder = OneShot::new();
    for (number, len) in [0, 1, 3, 4, 5, 257, 258, 259, 300, 4000, 33_000, 65_535, 65_536, 65_537, 140_000]
        .into_iter()
        .enumerate()
    {
        let plain = text(len, number as u32);
        for level in 1..=6 {
            for bits in [9, 10, 12, 15] {
                let out = compressed(&mut encoder, &plain, level, bits);
                assert!(inflate(&out, bits) == plain, "{len} bytes, level {level}, {bits} bits");
            }
        }
    }
}

#[test]
fn what_cannot_be_compressed_is_stored() {
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let mut encoder = OneShot::new();
    for len in [1, 5, 100, 3000, 49_000, 65_536, 200_000] {
        let out = compressed(&mut encoder, &noise[..len], 4, 15);
        assert!(out.len() <= len + 5 * (2 + len / (8 << 10)), "{len}: {}", out.len());
        assert_eq!(inflate(&out, 15), &noise[..len]);
    }
}

/// A code with words longer than the limit would need 30 bits here.
#[test]
fn codes_are_limited() {
    let mut frequencies = [0; 30];
    let (mut one, mut two) = (1, 1);
    for frequency in &mut frequencies {
        *frequency = one;
        (one, two) = (two, one + two);
    }
    for limit in [5, 7, 15] {
        let code = Code::best(&frequencies, limit);
        let kraft: u32 = code.lengths.iter().map(|length| 1 << (15 - length)).sum();
        assert!(code.lengths.iter().all(|length| (1..=limit as u8).contains(length)), "{limit}");
        assert_eq!(kraft, 1 << 15, "{limit}: a complete code");
    }
}

/// Entries of an earlier message in the tables must not matter when the numbers of the epochs begin
/// anew.
#[test]
fn epochs_begin_anew() {
    let mut encoder = OneShot::new();
    let plain = text(3000, 7);
    let first = compressed(&mut encoder, &plain, 4, 15);
    for _ in 0..(1 << 16) - 2 {
        encoder.matcher.begin(0);
    }
    for _ in 0..3 {
        assert_eq!(compressed(&mut encoder, &plain, 4, 15), first);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn any_bytes(
        messages in prop::collection::vec(prop::collection::vec(0_u8..6, 0..2000), 1..4),
        level in 1_u8..7,
        bits in 9_u8..16,
    ) {
        let mut encoder = OneShot::new();
        for message in &messages {
            prop_assert_eq!(&inflate(&compressed(&mut encoder, message, level, bits), bits), message);
        }
    }
}
