//! Records, as both threads read them: JavaScript finds in batches exactly the records that the
//! reactor put there, however the batches are handed over; and any bytes that JavaScript hands over
//! are read as records within those bytes, by one reactor or several.
#![no_main]

use std::collections::VecDeque;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use reactor_ws::bridge::batch::{Batch, Record};
use reactor_ws::bridge::chunk::{Chunk, OutRecord, OutRecords};
use reactor_ws::bridge::inbox::Inbox;
use reactor_ws::bridge::layout::{
    IN_FLAG_OWNED, IN_TEXT, OUT_FLAG_COMPRESS, OUT_FLAG_FIN,
    OUT_FLAG_WANT_SENT, OUT_HISTORY, PUBLISH_TEXT, RECORD_WORDS, TOPIC_SLOT, TOPIC_STREAMS, unpack,
};
use reactor_ws::bridge::split::split;
use reactor_ws::engine::Large;

#[derive(Debug, Arbitrary)]
enum In<'a> {
    /// Read into the batch, and left there.
    InPlace(u32, &'a [u8]),
    Copied(u32, u16, &'a [u8]),
    Owned(u32, &'a [u8]),
    /// With the length from which on the payload is not copied.
    Either(u32, &'a [u8], u8),
    Opening(u32, &'a [u8]),
    /// Bytes that were read and do not concern JavaScript.
    Wasted(u8),
    Publish,
    /// JavaScript takes a batch and deals with it.
    Take,
    /// JavaScript deals with a part first.
    TakePart,
}

#[derive(Debug, Arbitrary)]
struct Out<'a> {
    slot: u32,
    generation: u32,
    kind: u8,
    flags: u8,
    aux: u16,
    how: u8,
    payload: &'a [u8],
}

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    into: Vec<In<'a>>,
    records: Vec<Out<'a>>,
    reactors: u8,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    hand_over(&input.into);
    come_back(&input.records, usize::from(input.reactors % 4) + 1);
    tolerate(input.bytes, usize::from(input.reactors % 4) + 1);
});

/// Slots and payloads of the records under way, oldest first.
type Expected = VecDeque<(u32, Vec<u8>)>;

fn hand_over(steps: &[In<'_>]) {
    let inbox = Inbox::new(Default::default());
    let mut batch = Box::new(Batch::new());
    let mut expected = Expected::new();
    for step in steps {
        if batch.is_full() {
            batch = inbox.publish(batch).0;
        }
        match *step {
            In::InPlace(slot, payload) => {
                let start = batch.used;
                let Some(room) = batch.spare().get_mut(..payload.len()) else { continue };
                room.copy_from_slice(payload);
                batch.used += payload.len();
                batch.push(Record::in_place(slot, IN_TEXT, 0, &(start..start + payload.len())));
                expected.push_back((slot, payload.to_vec()));
            }
            In::Copied(slot, aux, payload) => {
                batch.push_copy(slot, IN_TEXT, 0, aux, payload);
                expected.push_back((slot, payload.to_vec()));
            }
            In::Owned(slot, payload) => {
                batch.push_owned(slot, IN_TEXT, 0, 0, payload.to_vec());
                expected.push_back((slot, payload.to_vec()));
            }
            In::Either(slot, payload, large) => {
                batch.push_either(slot, IN_TEXT, 0, payload.to_vec(), usize::from(large));
                expected.push_back((slot, payload.to_vec()));
            }
            In::Opening(slot, payload) => {
                batch.push_opening(slot, IN_TEXT, 0, 0, payload);
                expected.push_back((slot, payload.to_vec()));
            }
            In::Wasted(bytes) => batch.used += batch.spare().len().min(bytes.into()),
            In::Publish => batch = inbox.publish(batch).0,
            In::Take | In::TakePart => take(&inbox, matches!(step, In::TakePart), &mut expected),
        }
    }
    let _ = inbox.publish(batch);
    while inbox.is_waiting() {
        take(&inbox, false, &mut expected);
    }
    assert!(expected.is_empty() && inbox.weight() == 0 && inbox.pending_open_bytes() == 0);
    assert_eq!(inbox.published(), inbox.delivered());
}

/// Reads records as lib/reactor does: from the words alone.
fn take(inbox: &Inbox, in_parts: bool, expected: &mut Expected) {
    let Some(batch) = inbox.take() else { return };
    let mut words = vec![0; batch.records.len() * RECORD_WORDS];
    assert_eq!(batch.copy_records(&mut words), batch.records.len());
    for record in words.chunks(RECORD_WORDS) {
        let (_, flags, _) = unpack(record[1]);
        let (offset, length) = (record[2] as usize, record[3] as usize);
        let payload = match flags & IN_FLAG_OWNED {
            0 => &batch.bytes[..batch.used][offset..offset + length],
            _ => &batch.large[offset][..],
        };
        assert_eq!(payload.len(), length);
        assert_eq!(expected.pop_front(), Some((record[0], payload.to_vec())));
    }
    if in_parts {
        let _ = inbox.deliver(&batch, batch.records.len() / 2);
    }
    let _ = inbox.give_back(batch);
}

/// All written records are read, in order, and each reactor gets its own.
fn come_back(records: &[Out<'_>], reactors: usize) {
    let mut chunk = Chunk::default();
    let mut expected: Vec<(u32, u8, u16, Vec<u8>)> = Vec::new();
    for &Out { slot, generation, kind, flags, aux, how, payload } in records {
        let id = (slot, generation);
        // The other flags say where the payload is, which this function chooses.
        let flags = flags & (OUT_FLAG_FIN | OUT_FLAG_WANT_SENT | OUT_FLAG_COMPRESS);
        let aux = aux & (PUBLISH_TEXT | TOPIC_STREAMS);
        match how % 3 {
            0 => {
                chunk.push_record(id, kind, flags, aux, payload);
                expected.push((slot, kind, aux, payload.to_vec()));
            }
            1 => {
                chunk.push_same(id, kind, flags, aux, generation);
                expected.push((slot, kind, aux, generation.to_ne_bytes().to_vec()));
            }
            _ => {
                chunk.push_large(id, kind, flags, aux, Large::copy(payload));
                expected.push((slot, kind, aux, payload.to_vec()));
            }
        }
    }
    assert_eq!(read(&chunk), expected);
    let of_slot = |slot| slot as usize % (reactors + 1);
    let parts = split(&chunk.bytes, chunk.large, reactors, of_slot, |_| Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let wanted = expected.iter().filter(|(slot, kind, aux, _)| match (*slot, *kind) {
            (TOPIC_SLOT, OUT_HISTORY) => number == 1,
            (TOPIC_SLOT, _) => number > 0 || aux & TOPIC_STREAMS != 0,
            (slot, _) => of_slot(slot) == number,
        });
        assert_eq!(read(part), wanted.cloned().collect::<Vec<_>>());
    }
}

fn read(chunk: &Chunk) -> Vec<(u32, u8, u16, Vec<u8>)> {
    let (mut large, mut messages) = (chunk.large.iter(), chunk.messages.iter());
    let mut payload = |record: &OutRecord| match record.number {
        Some(number) => number.to_ne_bytes().to_vec(),
        None if record.is_large() => large.next().expect("one for each").to_vec(),
        None if record.is_beside() => messages.next().expect("one for each").payload().to_vec(),
        None => chunk.bytes[record.range.clone()].to_vec(),
    };
    let read = OutRecords::new(&chunk.bytes).map(|record| {
        let payload = payload(&record);
        (record.slot, record.kind, record.aux & (PUBLISH_TEXT | TOPIC_STREAMS), payload)
    });
    read.collect()
}

/// Any bytes, as a fault in lib would leave them.
fn tolerate(bytes: &[u8], reactors: usize) {
    let chunk = Chunk { bytes: bytes.to_vec(), ..Chunk::default() };
    let mut count = 0;
    for record in OutRecords::new(&chunk.bytes) {
        assert!(record.range.end <= bytes.len());
        count += 1;
    }
    assert!(count <= bytes.len() / 16);
    let parts = split(bytes, Vec::new(), reactors, |slot| slot as usize % (reactors + 1), |_| Vec::new());
    assert!(parts.iter().all(|part| OutRecords::new(&part.bytes).count() <= count));
}
