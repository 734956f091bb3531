//! Real threads, which end when the work is done: a lost wake-up is a test that hangs.

use std::sync::mpsc;
use std::thread;

use crate::bridge::chunk::Outbox;
use crate::bridge::gauges::{Gauges, MAX_SLOTS};
use crate::bridge::layout::ADOPTED_SLOTS;

const COUNT: u32 = if cfg!(miri) { 60 } else { 50_000 };

/// R15, O10.
#[test]
fn a_reactor_that_sleeps_whenever_it_can_gets_every_command() {
    const PRODUCERS: usize = 3;
    let outbox = Outbox::new();
    let outbox = &outbox;
    let (waker, poll) = mpsc::channel();
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let waker = waker.clone();
            scope.spawn(move || {
                for n in 0..COUNT {
                    if outbox.send((producer, n)) {
                        waker.send(()).unwrap();
                    }
                }
            });
        }
        let mut next = [0; PRODUCERS];
        while next != [COUNT; PRODUCERS] {
            outbox.sleep.prepare();
            if outbox.is_empty() {
                poll.recv().unwrap();
            }
            outbox.sleep.awake();
            for (producer, n) in outbox.take_all() {
                assert_eq!(n, next[producer]);
                next[producer] += 1;
            }
        }
    });
}

/// O09.
#[test]
fn gauges_belong_to_one_generation() {
    let gauges = Gauges::new();
    assert_eq!(gauges.written(5, 0), None);
    gauges.set_written(5, 1);
    gauges.open(5, 0);
    assert_eq!(gauges.written(5, 0), Some(0));
    gauges.set_written(5, 3);
    gauges.set_written(5, 7);
    assert_eq!(gauges.written(5, 0), Some(7));
    assert_eq!(gauges.written(4, 0), None);
    gauges.open(5, u32::MAX);
    assert_eq!((gauges.written(5, 0), gauges.written(5, u32::MAX)), (None, Some(0)));
    gauges.open(MAX_SLOTS - 1, 1);
    gauges.open(MAX_SLOTS, 1);
    gauges.set_written(MAX_SLOTS, 1);
    assert_eq!((gauges.written(MAX_SLOTS - 1, 1), gauges.written(MAX_SLOTS, 1)), (Some(0), None));
}

#[test]
fn gauges_never_show_another_generations_bytes() {
    /// Each generation takes multiples of a number of its own.
    const STEP: u64 = 1 << 20;
    let gauges = Gauges::new();
    gauges.open(0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for generation in 1..=COUNT {
                gauges.open(0, generation);
                gauges.set_written(0, STEP + u64::from(generation));
                gauges.set_written(0, 2 * STEP + u64::from(generation));
            }
        });
        let mut generation = 0;
        while generation < COUNT {
            match gauges.written(0, generation) {
                None => generation += 1,
                Some(taken) => {
                    assert!(taken == 0 || taken % STEP == u64::from(generation));
                    // Lets the other thread move on, so that successors are caught in the act.
                    generation += u32::from(taken >= 2 * STEP);
                }
            }
        }
    });
}

#[test]
fn adopted_slots_have_gauges_of_their_own() {
    let gauges = Gauges::new();
    gauges.open(5, 1);
    gauges.open(ADOPTED_SLOTS + 5, 2);
    gauges.add_published(ADOPTED_SLOTS + 5, 100);
    gauges.set_written(ADOPTED_SLOTS + 5, 70);
    gauges.set_read(ADOPTED_SLOTS + 5, 80);
    assert_eq!((gauges.written(5, 1), gauges.bytes_read(5, 1)), (Some(0), Some(0)));
    assert_eq!(gauges.written(ADOPTED_SLOTS + 5, 2), Some(70));
    assert_eq!(gauges.settled(ADOPTED_SLOTS + 5, 2), Some(-30));
    assert_eq!(gauges.bytes_read(ADOPTED_SLOTS + 5, 2), Some(80));
    for slot in [MAX_SLOTS, ADOPTED_SLOTS - 1, ADOPTED_SLOTS + MAX_SLOTS, u32::MAX] {
        gauges.open(slot, 1);
        assert_eq!(gauges.written(slot, 1), None);
    }
}
