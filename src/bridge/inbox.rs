//! Reactor to JavaScript: the way of the batches, there and back.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, PoisonError};

use super::batch::{Batch, Credit};
use super::doorbell::Bell;
use super::limits::{APPEND_BYTES, BATCH_BYTES, BATCHES_BEHIND, FREE_BATCHES};
use super::read_buffer::{Lent, ReadBuffer};
use super::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};

pub struct Inbox {
    state: Mutex<State>,
    bell: Arc<Bell>,
    /// Changed only with the lock held; read without it.
    weight: AtomicUsize,
    /// Records. Only the reactor changes and reads it.
    published: AtomicU64,
    /// Records that JavaScript has dealt with. Likewise.
    delivered: AtomicU64,
}

#[derive(Default)]
#[expect(clippy::vec_box, reason = "the boxes come in and go out; the lists never unwrap them")]
struct State {
    /// Published, oldest first.
    ready: VecDeque<Box<Batch>>,
    /// Memory of drained batches.
    credits: Vec<Credit>,
    /// Empty and without buffers.
    free: Vec<Box<Batch>>,
    /// The reactor wants to be woken by the next [`Inbox::give_back`].
    wants_wake: bool,
    lent: Vec<ReadBuffer>,
    own: Vec<ReadBuffer>,
    /// Sum over batches published and not given back.
    pending_open_bytes: usize,
}

impl Inbox {
    /// Several inboxes can share `bell`.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            state: Mutex::new(State::default()),
            bell,
            weight: AtomicUsize::new(0),
            published: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
        }
    }

    /// Reactor: hands a batch over and gets an empty one. True: the caller must ring the real bell.
    ///
    /// The batch is appended to the youngest one if that still waits and has room, so a blocked
    /// consumer does not pile up nearly empty batches.
    pub fn publish(&self, mut batch: Box<Batch>) -> (Box<Batch>, bool) {
        if batch.is_empty() {
            batch.clear();
            return (batch, false);
        }
        let records = batch.records.len() as u64;
        batch.last = self.published.fetch_add(records, Ordering::Relaxed) + records;
        let mut state = self.lock();
        let limit = if state.ready.len() < BATCHES_BEHIND { APPEND_BYTES } else { BATCH_BYTES };
        let room = state.ready.back().is_some_and(|youngest| youngest.accepts(&batch, limit));
        // A batch keeps its whole room busy; appended bytes go to room that counts already.
        let weight = if room { batch.added_weight() } else { batch.footprint() };
        self.weight.fetch_add(weight, Ordering::Relaxed);
        state.pending_open_bytes += batch.pending_open_bytes();
        let youngest = if room { state.ready.pop_back() } else { None };
        let empty = if let Some(mut youngest) = youngest {
            // Copied without the lock. If the consumer looks now and finds nothing, the ring below
            // calls it again.
            drop(state);
            youngest.last = batch.last;
            youngest.append(&mut batch);
            youngest.charged += weight;
            self.lock().ready.push_back(youngest);
            batch
        } else {
            batch.charged = weight;
            state.ready.push_back(batch);
            let mut empty = state.take_empty();
            drop(state);
            if empty.bytes.is_empty() {
                empty.bytes = ReadBuffer::own();
            }
            empty
        };
        (empty, self.bell.ring())
    }

    /// Reactor: gives `f` the credits of batches drained since the last call.
    pub fn reclaim(&self, f: impl FnMut(Credit)) {
        let credits = mem::take(&mut self.lock().credits);
        credits.into_iter().for_each(f);
    }

    /// Reactor on the consumer's own thread: the consumer takes this many records at once. Returns
    /// the last one's number.
    pub fn pass(&self, records: usize) -> u64 {
        self.published.fetch_add(records as u64, Ordering::Relaxed) + records as u64
    }

    /// JavaScript: done with the records it was passed, up to number `last`. True: as from
    /// `give_back`.
    #[must_use = "true is an obligation to wake the reactor"]
    pub fn has_delivered(&self, last: u64) -> bool {
        let mut state = self.lock();
        self.delivered.store(last, Ordering::Release);
        mem::take(&mut state.wants_wake)
    }

    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Acquire)
    }

    /// JavaScript, after answering the bell: the oldest batch.
    pub fn take(&self) -> Option<Box<Batch>> {
        self.lock().ready.pop_front()
    }

    pub fn is_waiting(&self) -> bool {
        !self.lock().ready.is_empty()
    }

    /// JavaScript: whether a batch waits, and whether the reactor wants to be woken.
    pub fn wishes(&self) -> (bool, bool) {
        let state = self.lock();
        (!state.ready.is_empty(), state.wants_wake)
    }

    /// JavaScript: gives a drained batch back. Memory beyond the reusable room is freed here,
    /// because the reactor can sleep for long.
    #[must_use = "true is an obligation to wake the reactor"]
    pub fn give_back(&self, mut batch: Box<Batch>) -> bool {
        batch.large.clear();
        let buffer = mem::take(&mut batch.bytes);
        let mut state = self.lock();
        self.weight.fetch_sub(batch.charged, Ordering::Relaxed);
        state.pending_open_bytes -= batch.pending_open_bytes();
        self.delivered.store(batch.last, Ordering::Release);
        state.credits.append(&mut batch.credits);
        batch.clear();
        // The rest is freed without the lock.
        let surplus = (
            match buffer {
                ReadBuffer::Lent(_) => push_below(&mut state.lent, usize::MAX, buffer),
                ReadBuffer::Own(_) => push_below(&mut state.own, FREE_BATCHES, buffer),
                ReadBuffer::None => None,
            },
            push_below(&mut state.free, FREE_BATCHES, batch),
        );
        let wake = mem::take(&mut state.wants_wake);
        drop(state);
        drop(surplus);
        wake
    }

    /// JavaScript: done with the first `records` of a batch; it goes on later.
    #[must_use = "true is an obligation to wake the reactor"]
    pub fn deliver(&self, batch: &Batch, records: usize) -> bool {
        let left = batch.records.len().saturating_sub(records) as u64;
        self.has_delivered(batch.last.saturating_sub(left))
    }

    pub fn lend(&self, memory: Box<dyn Lent>) {
        self.lock().lent.push(ReadBuffer::Lent(memory));
    }

    /// Bytes that published batches keep busy until they are given back.
    pub fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed)
    }

    /// How many of these are about connections that open or ask to.
    pub fn pending_open_bytes(&self) -> usize {
        self.lock().pending_open_bytes
    }

    /// Reactor: whether the next `give_back` or `deliver` must wake it: it stopped reading, or
    /// holds a change back until a record is delivered.
    ///
    /// Then it must `reclaim`, and check `weight` and `delivered` once more: a batch given back
    /// before wakes no thread. A wake takes the request back.
    pub fn set_wants_wake(&self, wants_wake: bool) {
        self.lock().wants_wake = wants_wake;
    }

    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// A panic leaves no list half changed: every change is one call.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// An empty batch, in a lent buffer if there is one, which saves copying a large one; hollow if
    /// there is none.
    fn take_empty(&mut self) -> Box<Batch> {
        let mut batch = self.free.pop().unwrap_or_else(|| Box::new(Batch::default()));
        batch.bytes = self.lent.pop().or_else(|| self.own.pop()).unwrap_or_default();
        batch
    }
}

/// Returns the value if the list is full.
fn push_below<T>(list: &mut Vec<T>, most: usize, value: T) -> Option<T> {
    if list.len() >= most {
        return Some(value);
    }
    list.push(value);
    None
}
