use crate::bridge::batch::{Batch, Credit, Record};
use crate::bridge::layout::{IN_BINARY, IN_TEXT, MAX_RECORDS};
use crate::bridge::limits::{BATCH_BYTES, MIN_READ, SHORTEST_MASKED_FRAME, TURN_BYTES};

#[test]
fn a_batch_is_full_when_the_next_read_might_not_fit() {
    let mut batch = Batch::new();
    assert!(!batch.is_full());
    assert_eq!(batch.read_room(SHORTEST_MASKED_FRAME), (MAX_RECORDS - 64) * 6);
    assert_eq!(batch.read_room(125), BATCH_BYTES);
    batch.used = BATCH_BYTES - MIN_READ;
    assert!(!batch.is_full());
    batch.used += 1;
    assert!(batch.is_full());
}

/// The next read is placed after the beginning of a frame, wherever that beginning was.
#[test]
fn the_beginning_of_a_frame_is_kept_before_the_next_read() {
    let mut batch = Batch::new();
    batch.spare()[..8].copy_from_slice(b"messagef");
    batch.used = 8;
    assert!(batch.keep(7..8, 10));
    assert_eq!(batch.used, 8);
    batch.push_copy(1, IN_TEXT, 0, 0, b"copied");
    assert!(batch.keep(7..8, 10));
    assert_eq!(&batch.bytes[..batch.used], b"messagefcopiedf");
}

/// R11.
#[test]
fn what_would_fill_the_batch_is_not_kept() {
    let mut batch = Batch::new();
    batch.used = BATCH_BYTES - MIN_READ - 100;
    let used = batch.used;
    assert!(!batch.keep(used - 10..used, 101));
    assert!(!batch.keep(used - 10..used, usize::MAX));
    assert!(batch.keep(used - 10..used, 100));
    // The beginning would have to be moved.
    assert!(!batch.keep(used - 11..used - 1, 91));
    assert_eq!(batch.used, used);
    assert!(batch.keep(used - 11..used - 1, 90));
    assert_eq!(batch.used, used + 10);
    assert!(!batch.is_full(), "it is not handed over before the next read");
    let most = MAX_RECORDS - 64 - (MIN_READ + 100) / SHORTEST_MASKED_FRAME;
    let mut batch = Batch::new();
    (0..most).for_each(|_| batch.push_copy(0, IN_TEXT, 0, 0, b""));
    assert!(batch.keep(0..0, 90));
    assert!(!batch.keep(0..0, 101), "records are bounded too");
}

#[test]
fn a_read_of_the_shortest_frames_never_exceeds_the_records() {
    let mut batch = Batch::new();
    while !batch.is_full() {
        for _ in 0..batch.read_room(SHORTEST_MASKED_FRAME).min(MIN_READ) / SHORTEST_MASKED_FRAME {
            batch.push_copy(0, IN_TEXT, 0, 0, b"");
        }
    }
    assert!(batch.records.len() <= MAX_RECORDS - 64);
}

#[test]
fn large_payloads_fill_a_batch_too() {
    let mut batch = Batch::new();
    batch.push_owned(0, IN_BINARY, 0, 0, vec![0; TURN_BYTES]);
    assert!(batch.is_full());
    assert_eq!(batch.weight(), TURN_BYTES + 16);
    batch.clear();
    assert!(!batch.is_full() && batch.is_empty());
    assert_eq!(batch.weight(), 0);
}

#[test]
fn a_payload_for_which_there_is_no_room_keeps_its_allocation() {
    let mut batch = Batch::new();
    let room = batch.spare().len();
    for (len, is_copied) in [(0, true), (room, true), (1, false), (0, true)] {
        let payload = vec![7; len];
        let memory = payload.as_ptr();
        batch.push_either(0, IN_BINARY, 0, payload, usize::MAX);
        assert_eq!(batch.large.last().is_some_and(|large| large.as_ptr() == memory), !is_copied, "{len}");
    }
}

#[test]
fn charges_of_one_connection_in_a_row_are_one_credit() {
    let mut batch = Batch::new();
    batch.charge(1, 1, 10, 1);
    batch.charge(1, 1, 5, 2);
    batch.charge(1, 2, 1, 1);
    let credit = |slot, generation, bytes, records| Credit { slot, generation, bytes, records };
    assert_eq!(batch.credits, [credit(1, 1, 15, 3), credit(1, 2, 1, 1)]);
}

#[test]
fn records_are_copied_as_words_as_far_as_they_fit() {
    let mut batch = Batch::new();
    batch.push(Record([1, 2, 3, 4]));
    batch.push(Record([5, 6, 7, 8]));
    let mut words = [0; 11];
    assert_eq!(batch.copy_records(&mut words[..7]), 1);
    assert_eq!(batch.copy_records(&mut words), 2);
    assert_eq!(words, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]);
}
