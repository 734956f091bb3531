use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bridge::batch::{Batch, Credit, Record};
use crate::bridge::inbox::Inbox;
use crate::bridge::layout::{IN_BINARY, IN_TEXT, MAX_RECORDS};
use crate::bridge::limits::{APPEND_BYTES, BATCH_BYTES, FREE_BATCHES};
use crate::bridge::read_buffer::Lent;

use super::Memory;

/// A batch with one payload, `length` times `byte`, charged to slot `byte`.
fn filled(mut batch: Box<Batch>, byte: u8, length: usize) -> Box<Batch> {
    batch.push_copy(u32::from(byte), IN_TEXT, 0, 0, &vec![byte; length]);
    batch.charge(u32::from(byte), 1, length as u32, 1);
    batch
}

fn fresh() -> Box<Batch> {
    Box::new(Batch::new())
}

#[test]
fn a_batch_goes_there_and_back() {
    let inbox = Inbox::new(Arc::default());
    let (empty, ring) = inbox.publish(filled(fresh(), 1, 3));
    assert!(ring && empty.is_empty());
    let weight = BATCH_BYTES + size_of::<Record>() + size_of::<Credit>();
    assert_eq!(inbox.weight(), weight, "the room counts as a whole");
    inbox.bell().answer();
    let batch = inbox.take().unwrap();
    assert_eq!(inbox.weight(), weight, "what JavaScript has taken still counts");
    assert!(inbox.take().is_none());
    assert!(!inbox.give_back(batch));
    assert_eq!(inbox.weight(), 0);
    let mut credits = Vec::new();
    inbox.reclaim(|credit| credits.push((credit.slot, credit.generation, credit.bytes, credit.records)));
    assert_eq!(credits, [(1, 1, 3, 1)]);
    inbox.reclaim(|_| panic!("a credit comes back once"));
}

#[test]
fn a_batch_without_records_is_not_handed_over() {
    let inbox = Inbox::new(Arc::default());
    let mut batch = fresh();
    batch.used = 100;
    let (batch, ring) = inbox.publish(batch);
    assert!(!ring && batch.used == 0);
    assert!(inbox.take().is_none());
}

/// R11.
#[test]
fn the_bell_rings_once_until_it_is_answered() {
    let inbox = Inbox::new(Arc::default());
    let (batch, first) = inbox.publish(filled(fresh(), 1, 1));
    let (batch, second) = inbox.publish(filled(batch, 2, 1));
    assert!(first && !second);
    inbox.bell().answer();
    assert!(inbox.publish(filled(batch, 3, 1)).1);
}

#[test]
fn small_batches_are_appended_to_the_one_that_waits() {
    let inbox = Inbox::new(Arc::default());
    let mut first = filled(fresh(), 1, 3);
    first.push_owned(1, IN_BINARY, 0, 0, vec![1; 9]);
    let (mut second, _) = inbox.publish(first);
    let before = inbox.weight();
    second.used = 2; // bytes were read that do not concern JavaScript
    let mut second = filled(second, 2, 4);
    second.push_owned(2, IN_BINARY, 0, 0, vec![2; 8]);
    let added = second.weight() - second.used;
    let (empty, _) = inbox.publish(second);
    assert!(empty.is_empty() && empty.used == 0 && empty.large.is_empty());

    let batch = inbox.take().unwrap();
    assert!(inbox.take().is_none());
    let offsets: Vec<_> = batch.records.iter().map(|record| record.0[2]).collect();
    assert_eq!(offsets, [0, 0, 5, 1]);
    assert_eq!(&batch.bytes[5..9], [2; 4]);
    assert_eq!(batch.large, [vec![1; 9], vec![2; 8]]);
    assert_eq!(batch.credits.len(), 2);
    assert_eq!(inbox.weight(), before + added, "the room counts once");
    let _ = inbox.give_back(batch);
    assert_eq!(inbox.weight(), 0);
}

#[test]
fn long_batches_are_appended_only_when_javascript_is_behind() {
    let inbox = Inbox::new(Arc::default());
    let mut batch = fresh();
    for byte in 1..=5 {
        batch = inbox.publish(filled(batch, byte, APPEND_BYTES + 1)).0;
    }
    let counts: Vec<_> = std::iter::from_fn(|| inbox.take()).map(|batch| batch.records.len()).collect();
    assert_eq!(counts, [1, 4]);
}

/// R11.
#[test]
fn nothing_is_appended_beyond_bytes_or_records() {
    let inbox = Inbox::new(Arc::default());
    let (mut batch, _) = inbox.publish(filled(fresh(), 1, BATCH_BYTES - 10));
    (batch, _) = inbox.publish(filled(batch, 2, 11));
    (0..MAX_RECORDS).for_each(|_| batch.push(Record::new(3, IN_TEXT, 0, 0, 0, 0)));
    let _ = inbox.publish(batch);
    let counts: Vec<_> = std::iter::from_fn(|| inbox.take()).map(|batch| batch.records.len()).collect();
    assert_eq!(counts, [1, 1, MAX_RECORDS]);
}

#[test]
fn batches_are_reused_and_no_more_than_some_are_kept() {
    let inbox = Inbox::new(Arc::default());
    let mut out = Vec::new();
    let mut batch = fresh();
    for byte in 0..2 * FREE_BATCHES as u8 {
        batch = inbox.publish(filled(batch, byte, 1)).0;
        out.extend(inbox.take());
    }
    let addresses: Vec<_> = out.iter().map(|batch| batch.bytes.as_ptr()).collect();
    out.into_iter().for_each(|batch| assert!(!inbox.give_back(batch)));
    let mut credits = 0;
    inbox.reclaim(|credit| credits += credit.records);
    assert_eq!(credits, 2 * FREE_BATCHES as u32, "surplus batches lose their room, not their credits");
    for _ in 0..FREE_BATCHES {
        batch = inbox.publish(filled(batch, 0, 1)).0;
        assert!(addresses.contains(&batch.bytes.as_ptr()));
        assert_eq!(batch.bytes.len(), BATCH_BYTES);
        assert!(inbox.take().is_some());
    }
    batch = inbox.publish(filled(batch, 0, 1)).0;
    assert_eq!(batch.bytes.len(), BATCH_BYTES);
    assert!(batch.is_empty() && batch.used == 0);
}

#[test]
fn a_starving_reactor_is_woken_once() {
    let inbox = Inbox::new(Arc::default());
    let mut batch = fresh();
    let mut give_back = |byte| {
        batch = inbox.publish(filled(std::mem::replace(&mut batch, fresh()), byte, 1)).0;
        inbox.give_back(inbox.take().unwrap())
    };
    assert!(!give_back(1));
    inbox.set_wants_wake(true);
    assert!(give_back(2));
    assert!(!give_back(3));
    inbox.set_wants_wake(true);
    inbox.set_wants_wake(false);
    assert!(!give_back(4));
}

#[test]
fn lent_memory_comes_back_filled_and_is_used_before_any_other() {
    let inbox = Inbox::new(Arc::default());
    inbox.lend(Box::new(Memory(7, vec![0; BATCH_BYTES])));
    let (lent, _) = inbox.publish(filled(fresh(), 1, 3));
    assert_eq!(lent.bytes.lent_id(), Some(7));
    let (own, _) = inbox.publish(filled(lent, 2, APPEND_BYTES + 1));
    assert_eq!(own.bytes.lent_id(), None, "the only lent memory is on its way");
    assert_eq!(own.bytes.len(), BATCH_BYTES);

    let first = inbox.take().unwrap();
    assert!(!inbox.give_back(first));
    let mut second = inbox.take().unwrap();
    let taken = std::mem::take(&mut second.bytes);
    assert_eq!(taken.lent_id(), Some(7));
    assert!(taken[..APPEND_BYTES].iter().all(|&byte| byte == 2));
    assert!(!inbox.give_back(second), "a batch without room is welcome too");
    inbox.reclaim(|_| {});
    let (next, _) = inbox.publish(filled(own, 3, 1));
    assert_eq!(next.bytes.len(), BATCH_BYTES);
}

#[test]
fn lent_memory_that_was_copied_out_of_is_kept() {
    struct Counted(Memory, Arc<AtomicUsize>);
    impl Lent for Counted {
        fn id(&self) -> u32 {
            self.0.id()
        }
        fn bytes(&self) -> &[u8] {
            self.0.bytes()
        }
        fn bytes_mut(&mut self) -> &mut [u8] {
            self.0.bytes_mut()
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (inbox, drops) = (Inbox::new(Arc::default()), Arc::new(AtomicUsize::new(0)));
    let lent = 3 * FREE_BATCHES as u32;
    for id in 0..lent {
        inbox.lend(Box::new(Counted(Memory(id, vec![0; BATCH_BYTES]), drops.clone())));
    }
    let mut batch = fresh();
    for round in 0..20 {
        for byte in 0..2 * FREE_BATCHES as u8 {
            batch = inbox.publish(filled(batch, byte, APPEND_BYTES + 1)).0;
        }
        for out in std::iter::from_fn(|| inbox.take()).collect::<Vec<_>>() {
            let _ = inbox.give_back(out);
        }
        if round % 3 == 0 {
            inbox.reclaim(|_| {});
        }
    }
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop((inbox, batch));
    assert_eq!(drops.load(Ordering::Relaxed), lent as usize);
}
