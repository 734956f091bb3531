//! One flush for several reactors: each gets the records of its own slots and all about topics,
//! with their payloads.

use super::chunk::{Chunk, OutRecord, OutRecords};
use super::large::Large;
use super::layout::{OUT_BINARY, OUT_FLAG_SHARED, OUT_HISTORY, OUT_TEXT, TOPIC_SLOT};

/// The records of `bytes` and their large payloads, as a chunk for each of `count` reactors.
/// `number` gives the reactor of a slot, `buffer` memory for the chunk of a reactor.
pub fn split(
    bytes: &[u8],
    large: Vec<Large>,
    count: usize,
    number: impl Fn(u32) -> usize,
    buffer: impl Fn(usize) -> Vec<u8>,
) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = (0..count).map(|_| Chunk::default()).collect();
    let mut large = large.into_iter();
    let last = count.saturating_sub(1);
    for record in OutRecords::new(bytes) {
        // Taken even when no reactor gets it, or the next record would get this one's payload.
        let mut owned = if record.is_large() { large.next() } else { None };
        let receivers = match (record.slot, record.kind) {
            (TOPIC_SLOT, OUT_HISTORY) => 0..=0,
            (TOPIC_SLOT, _) => 0..=last,
            (slot, _) => number(slot)..=number(slot),
        };
        // The others keep its payload for records that refer to it.
        let keepers = if record.flags & OUT_FLAG_SHARED != 0 { 0..=last } else { receivers.clone() };
        for number in keepers.clone() {
            let Some(chunk) = chunks.get_mut(number) else { continue };
            let owned = if number == *keepers.end() { owned.take() } else { owned.clone() };
            if chunk.bytes.capacity() == 0 {
                chunk.bytes = buffer(number);
            }
            if receivers.contains(&number) {
                push(chunk, &record, bytes, owned);
            } else {
                push(chunk, &for_nobody(&record), bytes, owned);
            }
        }
    }
    chunks
}

/// The same payload under the same number.
fn for_nobody(record: &OutRecord) -> OutRecord {
    let kind = if record.kind == OUT_TEXT { OUT_TEXT } else { OUT_BINARY };
    OutRecord { slot: TOPIC_SLOT, kind, ..record.clone() }
}

fn push(chunk: &mut Chunk, record: &OutRecord, bytes: &[u8], owned: Option<Large>) {
    let OutRecord { slot, generation, kind, flags, aux, ref range, number } = *record;
    let id = (slot, generation);
    match (number, owned) {
        (Some(number), _) => chunk.push_same(id, kind, flags, aux, number),
        (None, Some(owned)) => chunk.push_large(id, kind, flags, aux, owned),
        (None, None) => chunk.push_record(id, kind, flags, aux, bytes.get(range.clone()).unwrap_or_default()),
    }
}
