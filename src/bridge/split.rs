//! One flush for several reactors: each gets the records of its own slots and those about topics. A
//! message to a topic is framed here, in memory that all share.

use crate::engine::{MessageKind, Prepared};

use super::chunk::{Chunk, OutRecord, OutRecords};
use super::layout::{
    OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_SHARED, OUT_HISTORY, OUT_PUBLISH, OUT_TEXT, PUBLISH_TEXT,
    TOPIC_SLOT, TOPIC_STREAMS,
};
use crate::engine::Large;

/// Returns a chunk for each reactor: first the one of streams, which gets records about topics only
/// with [`TOPIC_STREAMS`], then the `sockets` others. `number` gives the reactor of a slot,
/// `buffer` memory for a reactor's chunk.
pub fn split(
    bytes: &[u8],
    large: Vec<Large>,
    sockets: usize,
    number: impl Fn(u32) -> usize,
    buffer: impl Fn(usize) -> Vec<u8>,
) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = (0..=sockets).map(|_| Chunk::default()).collect();
    let mut large = large.into_iter();
    for record in OutRecords::new(bytes) {
        // Taken even if no reactor gets it, or the next record would get this payload.
        let mut owned = if record.is_large() { large.next() } else { None };
        let receivers = match (record.slot, record.kind) {
            (TOPIC_SLOT, OUT_HISTORY) => 1..=1,
            (TOPIC_SLOT, _) if record.aux & TOPIC_STREAMS == 0 => 1..=sockets,
            (TOPIC_SLOT, _) => 0..=sockets,
            (slot, _) => number(slot)..=number(slot),
        };
        let message = framed(&record, bytes, &mut owned);
        // The other reactors keep the payload for records that refer to it.
        let keepers = if record.flags & OUT_FLAG_SHARED != 0 { 0..=sockets } else { receivers.clone() };
        for number in keepers.clone() {
            let Some(chunk) = chunks.get_mut(number) else { continue };
            let owned = if number == *keepers.end() { owned.take() } else { owned.clone() };
            if chunk.bytes.capacity() == 0 {
                chunk.bytes = buffer(number);
            }
            let record = if receivers.contains(&number) { &record } else { &without_receiver(&record) };
            match &message {
                Some(message) => chunk.push_framed(record, message.clone()),
                None => push(chunk, record, bytes, owned),
            }
        }
    }
    chunks
}

/// The message of a record that publishes one, unless the reactors have it under a number.
fn framed(record: &OutRecord, bytes: &[u8], owned: &mut Option<Large>) -> Option<Prepared> {
    if (record.slot, record.kind, record.number) != (TOPIC_SLOT, OUT_PUBLISH, None) {
        return None;
    }
    let is_text = record.aux & PUBLISH_TEXT != 0;
    let kind = if is_text { MessageKind::Text } else { MessageKind::Binary };
    let compress = record.flags & OUT_FLAG_COMPRESS != 0;
    Some(match owned.take() {
        Some(owned) => Prepared::in_place(kind, owned, compress),
        None => Prepared::new(kind, bytes.get(record.range.clone()).unwrap_or_default(), compress),
    })
}

/// Keeps the payload under its number, without sending it.
fn without_receiver(record: &OutRecord) -> OutRecord {
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
