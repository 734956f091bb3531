//! One flush for several reactors: each gets the records of its own slots and all about topics,
//! with their payloads.

use super::chunk::{Chunk, OutRecord, OutRecords};
use super::large::Large;
use super::layout::{OUT_FLAG_SHARED, OUT_HEADER_BYTES, OUT_HISTORY, TOPIC_SLOT};

#[derive(Default)]
struct Part {
    chunk: Chunk,
    /// Offset of the last payload in all bytes, and in the bytes of the chunk.
    payload: Option<(usize, usize)>,
    has_shared: bool,
}

/// The records of `bytes` and their large payloads, as a chunk for each of `count` reactors.
/// `number` gives the reactor of a slot, `buffer` memory for the chunk of a reactor.
pub fn split(
    bytes: &[u8],
    large: Vec<Large>,
    count: usize,
    number: impl Fn(u32) -> usize,
    buffer: impl Fn(usize) -> Vec<u8>,
) -> Vec<Chunk> {
    let mut parts: Vec<Part> = (0..count).map(|_| Part::default()).collect();
    let mut large = large.into_iter();
    // The chunk that has the shared payload, and its index among the large payloads there.
    let mut shared = None;
    for record in OutRecords::new(bytes) {
        // Taken even when no reactor gets it, or the next record would get this one's payload.
        let mut owned = if record.is_large() && !record.is_same() { large.next() } else { None };
        let (first, last) = match (record.slot, record.kind) {
            (TOPIC_SLOT, OUT_HISTORY) => (0, 0),
            (TOPIC_SLOT, _) => (0, count.saturating_sub(1)),
            (slot, _) => (number(slot), number(slot)),
        };
        for number in first..=last {
            let payload = match (record.is_large(), record.is_same()) {
                (true, true) => missing_payload(&parts, number, shared),
                _ if number == last => owned.take(),
                _ => owned.clone(),
            };
            let Some(part) = parts.get_mut(number) else { continue };
            if part.chunk.bytes.capacity() == 0 {
                part.chunk.bytes = buffer(number);
            }
            part.push(&record, bytes, payload);
        }
        if record.flags & OUT_FLAG_SHARED != 0
            && let Some(part) = parts.get(last)
        {
            shared = Some((last, part.chunk.large.len().saturating_sub(1)));
            for (other, part) in parts.iter_mut().enumerate() {
                part.has_shared = (first..=last).contains(&other);
            }
        }
    }
    parts.into_iter().map(|part| part.chunk).collect()
}

/// A copy of the shared payload, unless that chunk has it.
fn missing_payload(parts: &[Part], number: usize, shared: Option<(usize, usize)>) -> Option<Large> {
    let (part, index) = shared.filter(|_| parts.get(number).is_none_or(|part| !part.has_shared))?;
    parts.get(part)?.chunk.large.get(index).cloned()
}

impl Part {
    /// `owned` is its large payload, unless the chunk has that already.
    fn push(&mut self, record: &OutRecord, bytes: &[u8], owned: Option<Large>) {
        let OutRecord { slot, generation, kind, flags, aux, ref range } = *record;
        let (id, start) = ((slot, generation), self.chunk.bytes.len() + OUT_HEADER_BYTES);
        match (record.is_large(), record.is_same(), self.payload) {
            (true, true, _) => match owned {
                Some(owned) => {
                    self.chunk.push_large(id, kind, flags | OUT_FLAG_SHARED, aux, owned);
                    self.has_shared = true;
                }
                None => self.chunk.push_same(id, kind, flags, aux, 0),
            },
            (true, false, _) => self.chunk.push_large(id, kind, flags, aux, owned.unwrap_or_default()),
            (false, true, Some((whole, own))) if whole == range.start => {
                self.chunk.push_same(id, kind, flags, aux, own);
            }
            (false, ..) => {
                self.payload = Some((range.start, start));
                self.chunk.push_record(id, kind, flags, aux, bytes.get(range.clone()).unwrap_or_default());
            }
        }
    }
}
