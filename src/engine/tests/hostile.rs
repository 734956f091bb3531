//! Z08: streams on which inflaters overflowed or never ended, inflated on a small stack.

use super::deflate::{BOTH_NO_TAKEOVER, deflating, frame};
use super::*;

/// The stack of a thread in bytes where stacks are small; that of the reactor is larger.
const STACK: usize = 512 << 10;

/// Blocks in a row, 10 bits each with the fixed code: only the end of the block.
fn empty_fixed_blocks(bytes: usize) -> Vec<u8> {
    let bit = |at: usize| u8::from(at % 10 == 1);
    (0..bytes).map(|byte| (0..8).map(|at| bit(byte * 8 + at) << at).sum()).collect()
}

/// The streams of zlib's coverage tests for its inflater, and floods of the shortest blocks.
fn streams() -> Vec<Vec<u8>> {
    let mut streams: Vec<Vec<u8>> = [
        "00 00 00 00 00",
        "03 00",
        "06",
        "01 01 00 fe ff 00",
        "fc 00 00",
        "04 00 fe ff",
        "04 00 24 49 00",
        "04 00 24 e9 ff ff",
        "04 00 24 e9 ff 6d",
        "04 80 49 92 24 49 92 24 71 ff ff 93 11 00",
        "04 80 49 92 24 0f b4 ff ff c3 84",
        "04 c0 81 08 00 00 00 00 20 7f eb 0b 00 00",
        "02 7e ff ff",
        "0c c0 81 00 00 00 00 00 90 ff 6b 04 00",
        "1f 8b 08 80 00 00 00 00 00 00",
        "63 00 03 00 00 00 00 00",
        "e5 c0 81 00 00 00 00 a0 fd a9 17 a9 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 06",
        "e5 c0 81 00 00 00 00 a0 fd a9 17 a9 33 62 a5 0d",
        "ed cf c1 b1 2c 47 10 c4 30 fa 6f 35 1d 01 82 59 3d fb be 2e 2a fc 0f 0c",
        "ed c0 81 00 00 00 00 a0 fd a9 17 a9 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 06",
    ]
    .iter()
    .map(|bytes| hex(bytes))
    .collect();
    streams.push(empty_fixed_blocks(1 << 20));
    streams.push(hex("00 00 00 ff ff").repeat(1 << 18));
    streams.push(hex("00 01 00 fe ff 61").repeat(1 << 16));
    // Trees over and over: a dynamic block with only the end of the block in its code.
    streams.push(hex("04 c0 81 08 00 00 00 00 20 7f eb 0b").repeat(1 << 14));
    for seed in 0..200_u32 {
        let mut state = seed;
        let bytes = (0..300).map(|_| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) as u8
        });
        streams.push(bytes.collect());
    }
    streams
}

#[test]
fn z08_known_streams_on_a_small_stack() {
    let run = || {
        let config = Config { max_payload: 4 << 20, ..Config::default() };
        for stream in streams() {
            for first in [0xc1, 0xc2] {
                let bytes = frame(first, &stream);
                let whole = feed(&mut deflating(BOTH_NO_TAKEOVER), &config, &bytes);
                let mut engine = deflating(BOTH_NO_TAKEOVER);
                let pieces: Vec<Seen> =
                    bytes.chunks(1009).flat_map(|piece| feed(&mut engine, &config, piece)).collect();
                assert_eq!(whole, pieces);
                assert!(whole.len() <= 1, "a message or an error");
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}
