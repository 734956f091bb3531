use proptest::prelude::*;

use crate::bridge::chunk::{Chunk, OutRecord, OutRecords};
use crate::bridge::layout::{
    OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_LARGE, OUT_FLAG_SAME, OUT_FLAG_SHARED, OUT_HISTORY, OUT_PUBLISH,
    OUT_TEXT, PUBLISH_TEXT, SHARED_OTHER, SHARED_TEXT, TOPIC_SLOT, TOPIC_STREAMS,
};
use crate::bridge::split::split;
use crate::engine::Large;
use crate::engine::MessageKind;

const REACTORS: usize = 3;
/// The first one has the streams.
const SOCKETS: usize = REACTORS - 1;

/// All fields of a record, with its payload.
type Reported = (u32, u32, u8, u8, u16, Vec<u8>);

/// The records for connections and topics that a reactor reads from a chunk.
fn reported(chunk: &Chunk) -> Vec<Reported> {
    let (mut large, mut messages, mut shared) = (chunk.large.iter(), chunk.messages.iter(), [None, None]);
    let mut reported = Vec::new();
    for record in OutRecords::new(&chunk.bytes) {
        let is_framed = record.is_beside();
        let OutRecord { slot, generation, kind, flags, aux, range, number } = record;
        let payload = match (number, flags & OUT_FLAG_LARGE) {
            (Some(number), _) => Option::clone(&shared[number as usize]).unwrap(),
            (None, _) if is_framed => {
                let message = messages.next().unwrap();
                assert_eq!(message.kind == MessageKind::Text, aux & PUBLISH_TEXT != 0);
                message.payload().to_vec()
            }
            (None, 0) => chunk.bytes[range].to_vec(),
            (None, _) => large.next().unwrap().to_vec(),
        };
        let aux = if is_framed { aux & (PUBLISH_TEXT | TOPIC_STREAMS) } else { aux };
        if flags & OUT_FLAG_SHARED != 0 {
            shared[usize::from(kind != OUT_TEXT)] = Some(payload.clone());
        }
        if slot != TOPIC_SLOT || !matches!(kind, OUT_TEXT | OUT_BINARY) {
            let flags = flags & !(OUT_FLAG_SAME | OUT_FLAG_SHARED | OUT_FLAG_LARGE);
            reported.push((slot, generation, kind, flags, aux, payload));
        }
    }
    assert!(large.next().is_none() && messages.next().is_none());
    reported
}

fn own(slot: u32) -> usize {
    slot as usize % REACTORS
}

#[test]
fn what_many_get_goes_to_each_reactor_once() {
    let mut chunk = Chunk::default();
    chunk.push_record((0, 1), OUT_TEXT, OUT_FLAG_FIN | OUT_FLAG_SHARED, 0, &[1; 1000]);
    (1..30).for_each(|slot| chunk.push_same((slot, 1), OUT_TEXT, OUT_FLAG_FIN, 0, SHARED_TEXT));
    chunk.push_large((0, 1), OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_SHARED, 0, Large::copy(&[2; 5000]));
    (1..30).for_each(|slot| chunk.push_same((slot, 1), OUT_BINARY, OUT_FLAG_FIN, 0, SHARED_OTHER));
    let whole = reported(&chunk);
    let chunks = split(&chunk.bytes, chunk.large, SOCKETS, own, |_| Vec::new());
    for (number, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.large, [Large::copy(&[2; 5000])]);
        let foreign = if number == 0 { 0 } else { 2 };
        assert_eq!(chunk.bytes.len(), (20 + foreign) * 16 + 1008);
        assert!(
            reported(chunk)
                .into_iter()
                .eq(whole.iter().filter(|reported| own(reported.0) == number).cloned())
        );
    }
}

#[test]
fn all_reactors_have_one_copy_of_a_message() {
    let mut chunk = Chunk::default();
    let (id, flags) = ((TOPIC_SLOT, 7), OUT_FLAG_FIN | OUT_FLAG_SHARED);
    chunk.push_record(id, OUT_PUBLISH, flags, TOPIC_STREAMS, &[1; 1000]);
    chunk.push_same(id, OUT_PUBLISH, OUT_FLAG_FIN, TOPIC_STREAMS, SHARED_OTHER);
    chunk.push_large(id, OUT_PUBLISH, flags, TOPIC_STREAMS | PUBLISH_TEXT, Large::copy(&[2; 5000]));
    chunk.push_same(id, OUT_PUBLISH, OUT_FLAG_FIN, TOPIC_STREAMS | PUBLISH_TEXT, SHARED_OTHER);
    chunk.push_record(id, OUT_PUBLISH, OUT_FLAG_FIN, 0, &[3; 1000]);
    let whole = reported(&chunk);
    let chunks = split(&chunk.bytes, chunk.large, SOCKETS, own, |_| Vec::new());
    let places = |chunk: &Chunk| chunk.messages.iter().map(|it| it.payload().as_ptr()).collect::<Vec<_>>();
    for (number, chunk) in chunks.iter().enumerate() {
        let count = if number > 0 { 3 } else { 2 };
        assert_eq!(places(chunk), places(&chunks[1])[..count]);
        assert_eq!(chunk.bytes.len(), (count + 2) * 16);
        assert_eq!(reported(chunk), whole[..count + 2]);
    }
}

/// Whether reactor `number` gets a record of this slot, kind and aux.
fn gets(number: usize, slot: u32, kind: u8, aux: u16) -> bool {
    match (slot, kind) {
        (TOPIC_SLOT, OUT_HISTORY) => number == 1,
        (TOPIC_SLOT, _) => number > 0 || aux & TOPIC_STREAMS != 0,
        (slot, _) => own(slot) == number,
    }
}

/// The source of a record's payload, and whether later records have it too.
#[derive(Clone, Copy, Debug)]
enum Way {
    Own(usize, bool),
    Same,
    Large(usize, bool),
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        (0..70_usize, any::<bool>()).prop_map(|(length, shared)| Way::Own(length, shared)),
        Just(Way::Same),
        (0..70_usize, any::<bool>()).prop_map(|(length, shared)| Way::Large(length, shared)),
    ]
}

fn slot_and_kind() -> impl Strategy<Value = (u32, u8)> {
    prop_oneof![
        (0..7_u32, prop_oneof![Just(OUT_TEXT), any::<u8>()]),
        (Just(TOPIC_SLOT), prop_oneof![Just(OUT_PUBLISH), OUT_BINARY + 1..=u8::MAX])
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 512 }, failure_persistence: None, ..<_>::default()
    })]

    #[test]
    fn every_reactor_gets_its_own_records_with_their_payloads(
        pushed in prop::collection::vec((slot_and_kind(), 0..4_u16, way()), 0..40),
        missing in any::<bool>(),
    ) {
        let (mut chunk, mut is_there) = (Chunk::default(), [false; 2]);
        for (index, ((slot, kind), aux, way)) in pushed.into_iter().enumerate() {
            let (id, filled) = ((slot, kind.into()), |length| vec![index as u8; length]);
            let number = usize::from(kind != OUT_TEXT);
            let flags = |shared| if shared { OUT_FLAG_FIN | OUT_FLAG_SHARED } else { OUT_FLAG_FIN };
            match way {
                Way::Same if is_there[number] => chunk.push_same(id, kind, OUT_FLAG_FIN, aux, number as u32),
                Way::Same => {}
                Way::Own(length, shared) | Way::Large(length, shared) => {
                    let large = matches!(way, Way::Large(..));
                    is_there[number] |= shared;
                    match large {
                        true => chunk.push_large(id, kind, flags(shared), aux, Large::copy(&filled(length))),
                        false => chunk.push_record(id, kind, flags(shared), aux, &filled(length)),
                    }
                }
            }
        }
        let whole = reported(&chunk);
        let sockets = if missing { SOCKETS - 1 } else { SOCKETS };
        let chunks = split(&chunk.bytes, chunk.large, sockets, own, |_| Vec::new());
        prop_assert_eq!(chunks.len(), sockets + 1);
        // A record for a reactor that does not exist goes to none; others can share its payload.
        for (number, chunk) in chunks.iter().enumerate() {
            let expected: Vec<_> = whole.iter().filter(|reported| gets(number, reported.0, reported.2, reported.4)).cloned().collect();
            prop_assert_eq!(reported(chunk), expected);
        }
    }
}
