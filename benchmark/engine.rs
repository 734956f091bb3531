//! The engine by itself: `cargo bench --no-default-features --bench engine`.
//!
//! GiB/s of unmasking and of UTF-8, ns per frame of reading (`elements` are frames).
#![expect(missing_docs, reason = "criterion_group! makes public functions without documentation")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reactor_ws::engine::{Config, Engine, Event, FrameKind, Role, mask};

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// Unmasking: the chosen implementation on aligned bytes and on bytes off by one, against the byte
/// loop.
fn unmask(c: &mut Criterion) {
    let mut group = c.benchmark_group("unmask");
    for len in [64, 1024, 16 * 1024, 64 * 1024 * 1024] {
        group.throughput(Throughput::Bytes(len as u64));
        group.sample_size(if len > 1 << 20 { 10 } else { 50 });
        let mut memory = vec![0x5a_u8; len + 128];
        let aligned = memory.as_ptr().addr().wrapping_neg() % 64;
        for (name, start) in [("aligned", aligned), ("one behind", aligned + 1)] {
            let bytes = &mut memory[start..start + len];
            group.bench_function(BenchmarkId::new(name, len), |b| {
                b.iter(|| mask::unmask(black_box(KEY), 0, black_box(&mut *bytes)));
            });
        }
        let bytes = &mut memory[aligned..aligned + len];
        group.bench_function(BenchmarkId::new("scalar", len), |b| {
            b.iter(|| mask::scalar(black_box(KEY), 0, black_box(&mut *bytes)));
        });
    }
    group.finish();
}

/// A stream of equal frames, of about 64 KiB or a single frame, and their number.
fn frames(len: usize, kind: FrameKind, mask: Option<[u8; 4]>) -> (Vec<u8>, u64) {
    let mut sender = Engine::new();
    let count = (64 * 1024 / (len + 8)).max(1);
    let mut stream = Vec::new();
    for _ in 0..count {
        stream.extend_from_slice(&sender.encode(kind, true, len, mask));
        stream.resize(stream.len() + len, b'a');
    }
    (stream, count as u64)
}

/// Polls all events out of one input.
fn drain(engine: &mut Engine, config: &Config, input: &mut [u8]) -> usize {
    let (mut pos, mut bytes) = (0, 0);
    while let Some(event) = engine.poll(config, input, &mut pos) {
        if let Event::Message { payload, .. } = &event {
            bytes += payload.bytes(input).len();
        }
    }
    bytes
}

/// Header decoding alone: empty frames, with the length in each of the three forms. The only other
/// work is the event of each frame.
fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    let lengths: [(&str, &[u8]); 3] =
        [("7 bits", &[0]), ("16 bits", &[126, 0, 0]), ("64 bits", &[127, 0, 0, 0, 0, 0, 0, 0, 0])];
    for (name, length) in lengths {
        for (role, mask, masked) in [(Role::Server, 0x80, "masked"), (Role::Client, 0, "unmasked")] {
            let mut frame = [&[0x82], length].concat();
            frame[1] |= mask;
            if role == Role::Server {
                frame.extend_from_slice(&KEY);
            }
            let mut stream = frame.repeat(4096);
            let config = Config { role, ..Config::default() };
            let mut engine = Engine::new();
            group.throughput(Throughput::Elements(4096));
            group.bench_function(BenchmarkId::new(masked, name), |b| {
                b.iter(|| assert_eq!(count(&mut engine, &config, black_box(&mut stream)), 4096));
            });
        }
    }
    group.finish();
}

/// Polls all events out of one input.
fn count(engine: &mut Engine, config: &Config, input: &mut [u8]) -> usize {
    let (mut pos, mut messages) = (0, 0);
    while let Some(event) = engine.poll(config, input, &mut pos) {
        messages += usize::from(matches!(event, Event::Message { .. }));
    }
    messages
}

/// Header decoding, checks, unmasking and UTF-8 of complete frames in one input.
fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read");
    for len in [13, 20, 200, 70_000] {
        for (kind, kind_name) in [(FrameKind::Binary, "binary"), (FrameKind::Text, "text")] {
            // With this key the letters are ASCII masked or not: each pass undoes the one before.
            for (role, mask, name) in
                [(Role::Server, Some([1, 2, 3, 4]), "masked"), (Role::Client, None, "unmasked")]
            {
                let (mut stream, count) = frames(len, kind, mask);
                let config = Config { role, ..Config::default() };
                let mut engine = Engine::new();
                group.throughput(Throughput::Elements(count));
                group.bench_function(BenchmarkId::new(format!("{kind_name} {name}"), len), |b| {
                    b.iter(|| drain(&mut engine, &config, black_box(&mut stream)));
                });
            }
        }
    }
    group.finish();
}

/// A text message of 64 KiB: in one frame in one input, and in inputs of 4 KiB
/// (validated and assembled piece by piece).
fn utf8(c: &mut Criterion) {
    let mut group = c.benchmark_group("utf8");
    for (name, letter) in [("ascii", "a"), ("cyrillic", "\u{436}"), ("emoji", "\u{1f642}")] {
        let text = letter.repeat(64 * 1024 / letter.len());
        let mut stream = Engine::new().encode(FrameKind::Text, true, text.len(), None).to_vec();
        stream.extend_from_slice(text.as_bytes());
        let config = Config { role: Role::Client, ..Config::default() };
        group.throughput(Throughput::Bytes(text.len() as u64));
        for input in [stream.len(), 4096] {
            let mut engine = Engine::new();
            group.bench_function(BenchmarkId::new(name, input), |b| {
                b.iter(|| {
                    let pieces = stream.chunks_mut(input);
                    let bytes: usize =
                        pieces.map(|piece| drain(&mut engine, &config, black_box(piece))).sum();
                    assert_eq!(bytes, text.len());
                });
            });
        }
    }
    group.finish();
}

/// Headers to send.
fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    for len in [13, 200, 70_000] {
        group.bench_function(BenchmarkId::from_parameter(len), |b| {
            let mut engine = Engine::new();
            b.iter(|| engine.encode(black_box(FrameKind::Binary), true, black_box(len), None));
        });
    }
    group.finish();
}

criterion_group!(benches, unmask, decode, read, utf8, encode);
criterion_main!(benches);
