use proptest::prelude::*;

use crate::bridge::chunk::{Chunk, OutRecord, OutRecords};
use crate::bridge::large::Large;
use crate::bridge::layout::{
    OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_SAME, OUT_FLAG_SHARED, OUT_HISTORY, OUT_TEXT, TOPIC_SLOT,
};
use crate::bridge::split::split;

const REACTORS: usize = 3;

/// All fields of a record, with its payload.
type Reported = (u32, u32, u8, u8, u16, Vec<u8>);

/// The records that a reactor reads from a chunk.
fn reported(chunk: &Chunk) -> Vec<Reported> {
    let (mut large, mut shared) = (chunk.large.iter(), None);
    let reported = OutRecords::new(&chunk.bytes).map(|record| {
        let OutRecord { slot, generation, kind, flags, aux, ref range } = record;
        let payload = match (record.is_large(), record.is_same()) {
            (false, _) => chunk.bytes[range.clone()].to_vec(),
            (true, true) => Option::clone(&shared).unwrap(),
            (true, false) => {
                let payload = large.next().unwrap().to_vec();
                if flags & OUT_FLAG_SHARED != 0 {
                    shared = Some(payload.clone());
                }
                payload
            }
        };
        (slot, generation, kind, flags & !(OUT_FLAG_SAME | OUT_FLAG_SHARED), aux, payload)
    });
    let reported = reported.collect();
    assert!(large.next().is_none());
    reported
}

fn own(slot: u32) -> usize {
    slot as usize % REACTORS
}

#[test]
fn what_many_get_goes_to_each_reactor_once() {
    let mut chunk = Chunk::default();
    chunk.push_record((0, 1), OUT_TEXT, OUT_FLAG_FIN, 0, &[1; 1000]);
    (1..30).for_each(|slot| chunk.push_same((slot, 1), OUT_TEXT, OUT_FLAG_FIN, 0, 16));
    chunk.push_large((0, 1), OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_SHARED, 0, Large::copy(&[2; 5000]));
    let large = [OUT_FLAG_FIN | crate::bridge::layout::OUT_FLAG_LARGE; 29];
    (1..).zip(large).for_each(|(slot, flags)| chunk.push_same((slot, 1), OUT_BINARY, flags, 0, 5000));
    let whole = reported(&chunk);
    let chunks = split(&chunk.bytes, chunk.large, REACTORS, own, |_| Vec::new());
    for (number, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.large, [Large::copy(&[2; 5000])]);
        assert_eq!(chunk.bytes.len(), 20 * 16 + 1008);
        assert!(
            reported(chunk)
                .into_iter()
                .eq(whole.iter().filter(|reported| own(reported.0) == number).cloned())
        );
    }
}

/// Whether reactor `number` gets a record of this slot and kind.
fn gets(number: usize, slot: u32, kind: u8) -> bool {
    match (slot, kind) {
        (TOPIC_SLOT, OUT_HISTORY) => number == 0,
        (TOPIC_SLOT, _) => true,
        (slot, _) => own(slot) == number,
    }
}

/// The source of a record's payload, and the payload that the record refers to or has.
#[derive(Clone, Copy, Debug)]
enum Way {
    Own(usize),
    Same(usize),
    Large(usize, bool),
    SameLarge,
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        (0..70_usize).prop_map(Way::Own),
        (0..8_usize).prop_map(Way::Same),
        (0..70_usize, any::<bool>()).prop_map(|(length, shared)| Way::Large(length, shared)),
        Just(Way::SameLarge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 512 }, failure_persistence: None, ..<_>::default()
    })]

    #[test]
    fn every_reactor_gets_its_own_records_with_their_payloads(
        pushed in prop::collection::vec((prop_oneof![0..7_u32, Just(TOPIC_SLOT)], any::<u8>(), way()), 0..40),
        missing in any::<bool>(),
    ) {
        let (mut chunk, mut starts, mut shared) = (Chunk::default(), Vec::new(), false);
        for (index, (slot, kind, way)) in pushed.into_iter().enumerate() {
            let (id, filled) = ((slot, kind.into()), |length| vec![index as u8; length]);
            match way {
                Way::Same(back) if !starts.is_empty() => {
                    let start = starts[starts.len().saturating_sub(back + 1)];
                    chunk.push_same(id, kind, OUT_FLAG_FIN, 3, start);
                }
                Way::Own(length) | Way::Same(length) => {
                    starts.push(chunk.bytes.len() + 16);
                    chunk.push_record(id, kind, OUT_FLAG_FIN, 0, &filled(length));
                }
                Way::SameLarge if shared => {
                    chunk.push_same(id, kind, OUT_FLAG_FIN | crate::bridge::layout::OUT_FLAG_LARGE, 0, 9);
                }
                Way::SameLarge => {}
                Way::Large(length, is_shared) => {
                    shared |= is_shared;
                    let flag = if is_shared { OUT_FLAG_SHARED } else { 0 };
                    chunk.push_large(id, kind, flag, 0, Large::copy(&filled(length)));
                }
            }
        }
        let whole = reported(&chunk);
        let count = if missing { REACTORS - 1 } else { REACTORS };
        let chunks = split(&chunk.bytes, chunk.large, count, own, |_| Vec::new());
        prop_assert_eq!(chunks.len(), count);
        // A record for a reactor that does not exist goes to none, but other records may have the
        // same payload.
        for (number, chunk) in chunks.iter().enumerate().filter(|_| !missing) {
            let expected: Vec<_> = whole.iter().filter(|reported| gets(number, reported.0, reported.2)).cloned().collect();
            prop_assert_eq!(reported(chunk), expected);
        }
    }
}
