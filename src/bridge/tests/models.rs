//! loom models: each runs in every order that the memory model allows, unless it names a limit.
//!
//! The real bell and the real waker are plain relaxed counters here, so that they add no order to
//! the tested code, and no thread waits: a thread that would block ends, and the check after the
//! joins asks whether it was called back.

use loom::cell::Cell;
use loom::model;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;

use crate::bridge::batch::Batch;
use crate::bridge::chunk::{Arena, Outbox};
use crate::bridge::doorbell::{Bell, Sleep};
use crate::bridge::inbox::Inbox;
use crate::bridge::layout::IN_PING;
use crate::bridge::queue::Queue;
use crate::bridge::read_buffer::Lent;
use crate::bridge::seat::Seat;

/// For models with too many orders: checks those with at most `preemptions` forced switches. Errors
/// of order need one or two.
fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// A value that loom watches: reading it without having acquired its producer's write is an error.
type Watched = Cell<(usize, usize)>;

#[test]
fn queue_loses_nothing_and_keeps_the_order_of_each_producer() {
    bounded(4, || {
        let queue = Arc::new(Queue::new());
        let producers = [0, 1].map(|producer| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..2).for_each(|n| queue.push(Watched::new((producer, n)))))
        });
        let mut seen: Vec<_> = queue.take_all().map(|value| value.get()).collect();
        seen.extend(queue.take_all().map(|value| value.get()));
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        seen.extend(queue.take_all().map(|value| value.get()));
        assert!(queue.is_empty());
        for producer in [0, 1] {
            let order: Vec<_> =
                seen.iter().filter(|value| value.0 == producer).map(|value| value.1).collect();
            assert_eq!(order, [0, 1]);
        }
    });
}

#[test]
fn queue_that_is_not_empty_has_something_to_take() {
    model(|| {
        let queue = Arc::new(Queue::new());
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(Watched::new((7, 7))))
        };
        let empty = queue.is_empty();
        let taken: Vec<_> = queue.take_all().map(|value| value.get()).collect();
        assert!(empty || taken == [(7, 7)]);
        producer.join().unwrap();
    });
}

/// Memory that loom watches: a number stands for its bytes.
struct WatchedMemory(Cell<u32>);

impl Lent for WatchedMemory {
    fn id(&self) -> u32 {
        self.0.get()
    }

    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.set(self.0.get() + 1);
        &mut []
    }
}

#[test]
fn arena_is_written_and_read_by_its_owner_only() {
    model(|| {
        let outbox = Arc::new(Outbox::new());
        outbox.give_back(Box::new(WatchedMemory(Cell::new(0))));
        let producer = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(mut memory) = outbox.arena() {
                        memory.bytes_mut();
                        let used = memory.id() as usize;
                        let _nobody_sleeps = outbox.send(Arena { memory, used, large: Vec::new() });
                    }
                }
            })
        };
        let serve = || {
            for arena in outbox.take_all() {
                assert_eq!(arena.memory.id() as usize, arena.used);
                outbox.give_back(arena.memory);
            }
        };
        serve();
        producer.join().unwrap();
        serve();
        assert!(outbox.arena().is_some());
    });
}

/// Two producers against a consumer, which has the bell, a counter for the real one, and one for
/// the work, which is more relaxed than any real work. The consumer reports how much it has seen.
fn bell_model(consume: fn(&Bell, &AtomicUsize, &AtomicUsize) -> usize) {
    model(move || {
        let shared = Arc::new((Bell::default(), AtomicUsize::new(0), AtomicUsize::new(0)));
        let producers = [1, 1].map(|work| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (bell, real, visible) = &*shared;
                visible.fetch_add(work, Relaxed);
                if bell.ring() {
                    assert_eq!(real.fetch_add(1, Relaxed), 0, "one ring at most is outstanding");
                }
            })
        });
        let (bell, real, visible) = &*shared;
        let seen = consume(bell, real, visible);
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert!(seen == 2 || real.load(Relaxed) == 1, "what was not seen has a ring outstanding");
    });
}

/// R11, O10.
#[test]
fn bell_loses_no_ring_and_has_one_outstanding_at_most() {
    bell_model(|bell, real, visible| {
        let mut seen = 0;
        for _ in 0..2 {
            if real.swap(0, Relaxed) == 1 {
                bell.answer();
                seen = visible.load(Relaxed);
            }
        }
        seen
    });
}

/// A consumer that looks for more before it sleeps counts as rung meanwhile.
#[test]
fn bell_of_a_consumer_that_lingers_loses_no_ring() {
    bell_model(|bell, _, visible| {
        let mut seen = 0;
        if bell.ring() {
            seen = visible.load(Relaxed);
            bell.answer();
            seen = seen.max(visible.load(Relaxed));
        }
        seen
    });
}

/// Two producers against `turns` turns of a reactor with a counter as its queue, more relaxed.
fn sleep_model(turns: usize) {
    bounded(4, move || {
        let shared = Arc::new((Sleep::default(), AtomicUsize::new(0), AtomicUsize::new(0)));
        let producers = [1, 1].map(|work| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (sleep, wakes, visible) = &*shared;
                visible.fetch_add(work, Relaxed);
                if sleep.should_wake() {
                    wakes.fetch_add(1, Relaxed);
                }
            })
        });
        let (sleep, wakes, visible) = &*shared;
        let (mut seen, mut woken, mut blocked) = (0, 0, false);
        for _ in 0..turns {
            sleep.prepare();
            blocked = visible.load(Relaxed) == seen && wakes.load(Relaxed) == woken;
            if blocked {
                break;
            }
            woken = wakes.load(Relaxed);
            sleep.awake();
            seen = visible.load(Relaxed);
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        let wakes = wakes.load(Relaxed);
        assert!(!blocked || seen == 2 || wakes > woken, "a reactor that blocks with work left is woken");
        assert!(wakes <= turns, "it is woken once per sleep at most");
    });
}

/// R15, O10.
#[test]
fn sleep_loses_no_command_when_the_reactor_goes_to_sleep() {
    sleep_model(1);
}

#[test]
fn sleep_loses_no_command_over_several_turns() {
    sleep_model(3);
}

#[test]
fn outbox_wakes_a_reactor_that_found_nothing() {
    model(|| {
        let shared = Arc::new((Queue::new(), Sleep::default(), AtomicUsize::new(0)));
        let producer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (queue, sleep, wakes) = &*shared;
                for n in 0..2 {
                    queue.push(n);
                    if sleep.should_wake() {
                        wakes.fetch_add(1, Relaxed);
                    }
                }
            })
        };
        let (queue, sleep, wakes) = &*shared;
        let mut seen: Vec<usize> = queue.take_all().collect();
        sleep.prepare();
        let blocked = queue.is_empty();
        if !blocked {
            sleep.awake();
            seen.extend(queue.take_all());
        }
        producer.join().unwrap();
        assert!(!blocked || seen.len() == 2 || wakes.load(Relaxed) == 1);
        seen.extend(queue.take_all());
        assert_eq!(seen, [0, 1]);
    });
}

/// R15.
#[test]
fn outbox_keeps_no_command_after_its_reactor_has_ended() {
    bounded(4, || {
        let (outbox, kept) = (Arc::new(Outbox::new()), std::sync::Arc::new(()));
        let producers = [(); 2].map(|()| {
            let (outbox, command) = (Arc::clone(&outbox), std::sync::Arc::clone(&kept));
            thread::spawn(move || {
                let _nobody_to_wake = outbox.send(command);
            })
        });
        outbox.sleep.prepare();
        outbox.end();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert_eq!(std::sync::Arc::strong_count(&kept), 1, "a command waits for ever");
    });
}

/// A batch with one record, one byte and one credit.
fn batch(empty: Option<Box<Batch>>, n: u8) -> Box<Batch> {
    let mut batch = empty.unwrap_or_else(|| Box::new(Batch::new()));
    batch.push_copy(u32::from(n), IN_PING, 0, 0, &[n]);
    batch.charge(u32::from(n), 1, 1, 1);
    batch
}

/// JavaScript's side of a real ring: its count of records goes up in order, each with its byte.
fn drain(inbox: &Inbox, seen: &mut u32) -> usize {
    let mut wakes = 0;
    inbox.bell().answer();
    while let Some(batch) = inbox.take() {
        for record in &batch.records {
            let slot = record.0[0];
            assert_eq!(slot, *seen);
            assert_eq!(u32::from(batch.bytes[record.0[2] as usize]), slot);
            *seen += 1;
        }
        wakes += usize::from(inbox.give_back(batch));
    }
    wakes
}

#[test]
fn inbox_delivers_in_order_and_calls_again_for_what_was_appended() {
    model(|| {
        let shared = Arc::new((Inbox::new(std::sync::Arc::default()), AtomicUsize::new(0)));
        let reactor = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (inbox, real) = &*shared;
                let mut empty = None;
                for n in 0..2 {
                    let (next, ring) = inbox.publish(batch(empty.take(), n));
                    empty = Some(next);
                    if ring {
                        assert_eq!(real.fetch_add(1, Relaxed), 0);
                    }
                }
            })
        };
        let (inbox, real) = &*shared;
        let mut seen = 0;
        for _ in 0..2 {
            if real.swap(0, Relaxed) == 1 {
                drain(inbox, &mut seen);
            }
        }
        reactor.join().unwrap();
        assert!(seen == 2 || real.load(Relaxed) == 1, "what was not seen has a ring outstanding");
        drain(inbox, &mut seen);
        assert_eq!((seen, inbox.weight()), (2, 0));
    });
}

/// R11.
#[test]
fn inbox_wakes_a_reactor_that_starves() {
    model(|| {
        let shared = Arc::new((Inbox::new(std::sync::Arc::default()), AtomicUsize::new(0)));
        assert!(shared.0.publish(batch(None, 0)).1);
        let javascript = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (inbox, wakes) = &*shared;
                wakes.fetch_add(drain(inbox, &mut 0), Relaxed);
            })
        };
        let (inbox, wakes) = &*shared;
        inbox.set_wants_wake(true);
        let mut credits = 0;
        inbox.reclaim(|credit| credits += credit.records);
        let relieved = inbox.weight() == 0;
        javascript.join().unwrap();
        assert!(relieved || wakes.load(Relaxed) == 1, "a reactor that stays paused is woken");
        assert!(credits == 1 || wakes.load(Relaxed) == 1, "and so is one that waits for a credit");
        inbox.reclaim(|credit| credits += credit.records);
        assert_eq!((credits, inbox.weight()), (1, 0));
    });
}

/// A reactor that holds something back until a batch is delivered, and sleeps: the wish, the
/// announcement and the look on its side, the return and the check whether it sleeps on the other
/// side.
#[test]
fn a_reactor_that_waits_for_a_delivery_is_woken() {
    model(|| {
        let shared = Arc::new((Inbox::new(std::sync::Arc::default()), Sleep::default(), AtomicUsize::new(0)));
        assert!(shared.0.publish(batch(None, 0)).1);
        let part = shared.0.published();
        let javascript = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (inbox, sleep, wakes) = &*shared;
                if drain(inbox, &mut 0) > 0 && sleep.should_wake() {
                    wakes.fetch_add(1, Relaxed);
                }
            })
        };
        let (inbox, sleep, wakes) = &*shared;
        sleep.prepare();
        inbox.set_wants_wake(true);
        let opens = inbox.delivered() >= part;
        javascript.join().unwrap();
        assert!(opens || wakes.load(Relaxed) == 1, "a reactor that sleeps with a gate closed is woken");
        assert_eq!(inbox.delivered(), part);
    });
}

/// The reactor of the models about the seat: the commands that it has served.
type Served = Vec<usize>;

struct Shared {
    seat: Seat<Served>,
    outbox: Outbox<usize>,
    wakes: AtomicUsize,
    /// To the loop: the seat is free again.
    rings: AtomicUsize,
}

impl Shared {
    fn new() -> Arc<Self> {
        let seat = Seat::new(Served::new());
        Arc::new(Self { seat, outbox: Outbox::new(), wakes: AtomicUsize::new(0), rings: AtomicUsize::new(0) })
    }

    /// The loop's: commands that wait come first.
    fn submit(&self, command: usize) {
        if let Some(mut place) = self.seat.try_take() {
            let served = place.reactor().unwrap();
            served.extend(self.outbox.take_all());
            served.push(command);
        } else if self.outbox.send(command) {
            self.wakes.fetch_add(1, Relaxed);
        }
    }

    fn on_ring(&self) {
        if self.rings.swap(0, Relaxed) != 0
            && let Some(mut place) = self.seat.try_take()
        {
            place.reactor().unwrap().extend(self.outbox.take_all());
        }
    }

    /// A turn of the thread. Returns whether it goes to sleep.
    fn turn(&self, served: &mut Served) -> bool {
        self.outbox.sleep.prepare();
        let sleeps = self.outbox.is_empty();
        self.outbox.sleep.awake();
        served.extend(self.outbox.take_all());
        sleeps
    }
}

#[test]
fn seat_has_one_driver() {
    model(|| {
        let shared = Shared::new();
        let place = shared.seat.try_take();
        assert!(shared.seat.try_take().is_none(), "it would wait for ever");
        assert!(shared.seat.insist().is_none());
        drop(place);
        assert!(shared.seat.try_take().is_none(), "the thread is next");
        assert!(shared.seat.insist().is_some());
        assert!(shared.seat.try_take().is_some());
    });
}

#[test]
fn seat_that_the_thread_insists_on_loses_no_command() {
    bounded(4, || {
        let shared = Shared::new();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut place = loop {
                    match shared.seat.insist() {
                        Some(place) => break place,
                        None => thread::yield_now(),
                    }
                };
                shared.turn(place.reactor().unwrap());
                place.give_back(|| _ = shared.rings.fetch_add(1, Relaxed));
            })
        };
        shared.submit(0);
        shared.submit(1);
        shared.on_ring();
        thread.join().unwrap();
        shared.on_ring();
        assert_eq!(shared.seat.try_take().unwrap().end(), Some(vec![0, 1]));
    });
}

#[test]
fn seat_hands_over_without_losing_a_command_or_its_order() {
    bounded(4, || {
        let shared = Shared::new();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    let Some(mut place) = shared.seat.try_take() else { continue };
                    shared.turn(place.reactor().unwrap());
                    place.give_back(|| _ = shared.rings.fetch_add(1, Relaxed));
                }
            })
        };
        shared.submit(0);
        shared.submit(1);
        shared.on_ring();
        thread.join().unwrap();
        // What is left has a ring outstanding.
        shared.on_ring();
        assert_eq!(shared.seat.try_take().unwrap().end(), Some(vec![0, 1]));
    });
}

#[test]
fn seat_of_a_thread_that_sleeps_has_no_command_without_a_wake() {
    model(|| {
        let shared = Shared::new();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let Some(mut place) = shared.seat.try_take() else { return };
                let served = place.reactor().unwrap();
                shared.outbox.sleep.prepare();
                if !shared.outbox.is_empty() {
                    shared.outbox.sleep.awake();
                    served.extend(shared.outbox.take_all());
                }
            })
        };
        shared.submit(0);
        thread.join().unwrap();
        let served = shared.seat.try_take().unwrap().end().unwrap().len();
        assert!(served == 1 || shared.wakes.load(Relaxed) == 1);
    });
}

#[test]
fn a_thread_that_sleeps_until_the_loop_has_work_is_woken() {
    model(|| {
        let shared = Shared::new();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.seat.prepares_to_sleep(0))
        };
        let wakes = shared.seat.made_turn(true);
        let sleeps = thread.join().unwrap();
        assert!(!sleeps || wakes);
    });
}
