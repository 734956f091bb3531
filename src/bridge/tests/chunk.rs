use proptest::prelude::*;

use crate::bridge::chunk::{Arena, Chunk, OutRecord, OutRecords, Outbox};
use crate::bridge::layout::{OUT_FLAG_FIN, OUT_FLAG_LARGE, OUT_FLAG_SAME, OUT_TEXT};
use crate::bridge::limits::{SPARE_CHUNK_BYTES, SPARE_CHUNKS};
use crate::engine::Large;

use super::Memory;

/// Miri is slow and has no files to keep failures in.
fn config() -> ProptestConfig {
    ProptestConfig { cases: if cfg!(miri) { 8 } else { 512 }, failure_persistence: None, ..<_>::default() }
}

#[test]
fn a_truncated_record_ends_the_iteration() {
    let mut chunk = Chunk::default();
    chunk.push_record((1, 1), OUT_TEXT, 0, 0, b"whole");
    chunk.push_record((1, 1), OUT_TEXT, 0, 0, b"cut");
    for (length, records) in [(0, 0), (15, 0), (20, 0), (21, 1), (32, 1), (47, 1), (50, 1), (51, 2), (64, 2)]
    {
        assert_eq!(OutRecords::new(&chunk.bytes[..length]).count(), records, "{length} bytes");
    }
}

fn record() -> impl Strategy<Value = (u32, u32, u8, u8, u16, Vec<u8>, bool)> {
    let payload = prop::collection::vec(any::<u8>(), 0..70);
    (any::<u32>(), any::<u32>(), any::<u8>(), any::<u8>(), any::<u16>(), payload, any::<bool>())
}

/// The ways in which a record refers to its payload.
const WAYS: u8 = OUT_FLAG_LARGE | OUT_FLAG_SAME;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_tolerated(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        lengths in prop::collection::vec((0..20_usize, prop_oneof![0..64_u32, any::<u32>()]), 0..20),
    ) {
        for (index, length) in lengths {
            if let Some(word) = bytes.get_mut(index * 16 + 12..index * 16 + 16) {
                word.copy_from_slice(&length.to_ne_bytes());
            }
        }
        let mut end = 0_usize;
        let chunk = Chunk { bytes: bytes.clone(), ..Chunk::default() };
        for record in OutRecords::new(&chunk.bytes) {
            let OutRecord { range, .. } = record.clone();
            prop_assert!(bytes.get(range.clone()).is_some());
            prop_assert!(end + 16 <= range.start);
            prop_assert!(range.is_empty() || !(record.is_large() || record.number.is_some()));
            end = range.end;
        }
    }

    #[test]
    fn what_was_pushed_comes_out(pushed in prop::collection::vec(record(), 0..20)) {
        let mut chunk = Chunk::default();
        for (slot, generation, kind, flags, aux, payload, large) in pushed.clone() {
            if large {
                chunk.push_large((slot, generation), kind, flags, aux, Large::copy(&payload));
            } else {
                chunk.push_record((slot, generation), kind, flags, aux, &payload);
            }
            prop_assert_eq!(chunk.bytes.len() % 16, 0);
        }
        let mut large = chunk.large.iter();
        let popped: Vec<_> = OutRecords::new(&chunk.bytes).map(|OutRecord { slot, generation, kind, flags, aux, range, .. }| {
            let is_large = flags & OUT_FLAG_LARGE != 0;
            let payload = if is_large { large.next().unwrap().to_vec() } else { chunk.bytes[range].to_vec() };
            (slot, generation, kind, flags & !WAYS, aux, payload, is_large)
        }).collect();
        let pushed: Vec<_> = pushed.into_iter().map(|record| (record.0, record.1, record.2,
            record.3 & !WAYS, record.4, record.5, record.6)).collect();
        prop_assert_eq!(popped, pushed);
    }
}

#[test]
fn a_record_that_is_not_wanted_stays() {
    let mut chunk = Chunk::default();
    chunk.push_record((1, 1), OUT_TEXT, OUT_FLAG_FIN, 0, b"abc");
    chunk.push_same((2, 1), OUT_TEXT, OUT_FLAG_FIN, 0, 7);
    let mut records = OutRecords::new(&chunk.bytes);
    assert_eq!((records.next_if(|_| false), records.peek_slot()), (None, Some(1)));
    assert_eq!(records.next_if(|record| record.range == (16..19)).map(|record| record.slot), Some(1));
    assert_eq!((records.next_if(|record| record.slot == 1), records.position()), (None, 32));
    assert_eq!(records.next_if(|record| record.number == Some(7)).map(|record| record.slot), Some(2));
    assert_eq!((records.next_if(|_| true), records.peek_slot()), (None, None));
}

#[test]
fn buffers_are_reused_within_bounds() {
    let outbox: Outbox<Chunk> = Outbox::new();
    assert_eq!(outbox.buffer().capacity(), 0);
    let mut buffer = Vec::with_capacity(100);
    buffer.push(1);
    let address = buffer.as_ptr();
    outbox.recycle(buffer);
    let buffer = outbox.buffer();
    assert!(buffer.is_empty() && buffer.as_ptr() == address);

    outbox.recycle(Vec::with_capacity(SPARE_CHUNK_BYTES + 1));
    assert_eq!(outbox.buffer().capacity(), 0);
    (0..2 * SPARE_CHUNKS).for_each(|_| outbox.recycle(Vec::with_capacity(10)));
    assert_eq!((0..2 * SPARE_CHUNKS).filter(|_| outbox.buffer().capacity() > 0).count(), SPARE_CHUNKS);
}

#[test]
fn a_sleeping_reactor_is_woken_by_one_sender() {
    let outbox = Outbox::new();
    assert!(!outbox.send(1));
    outbox.sleep.prepare();
    assert!(outbox.send(2));
    assert!(!outbox.send(3));
    outbox.sleep.prepare();
    outbox.sleep.awake();
    assert!(!outbox.send(4));
    assert!(outbox.take_all().eq(1..=4));
}

#[test]
fn an_arena_comes_back_and_the_last_one_is_used_first() {
    let outbox: Outbox<Arena> = Outbox::new();
    assert!(outbox.arena().is_none());
    (1..=2).for_each(|id| outbox.give_back(Box::new(Memory(id, vec![0; 100]))));
    let mut memory = outbox.arena().unwrap();
    assert_eq!(memory.id(), 2);
    let mut chunk = Chunk::default();
    chunk.push_record((7, 8), OUT_TEXT, OUT_FLAG_FIN, 0, b"here");
    memory.bytes_mut()[..chunk.bytes.len()].copy_from_slice(&chunk.bytes);
    assert!(!outbox.send(Arena { memory, used: chunk.bytes.len(), large: Vec::new() }));
    assert_eq!(outbox.arena().map(|memory| memory.id()), Some(1));
    assert!(outbox.arena().is_none(), "the reactor has all");

    let [arena] = &mut outbox.take_all().collect::<Vec<_>>()[..] else { panic!("one") };
    assert_eq!(arena.bytes(), chunk.bytes);
    arena.used = 101;
    assert_eq!(arena.bytes(), b"", "more than there is");
}

#[test]
fn memory_that_was_not_filled_is_exchanged_for_what_came_back_last() {
    let outbox: Outbox<Arena> = Outbox::new();
    let memory = |id| Box::new(Memory(id, Vec::new()));
    assert_eq!(outbox.exchange(memory(1)).id(), 1, "nothing has come back");
    (2..=3).for_each(|id| outbox.give_back(memory(id)));
    assert_eq!(outbox.exchange(memory(1)).id(), 3);
    let left: Vec<_> = std::iter::from_fn(|| outbox.arena()).map(|memory| memory.id()).collect();
    assert_eq!(left, [1, 2]);
}
