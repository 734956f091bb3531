//! The calls of every turn, and of programs that look at `bufferedAmount` before they send. They
//! take no arguments: both sides exchange `u32` words at agreed places.
//!
//! A method of a class costs 0.6 us in Node-API and napi-rs, and 0.1 us more for each typed array:
//! with a few messages per turn, more than all else on JavaScript's side.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{
    Function, FunctionCallContext, JsValuesTupleIntoVec, ToNapiValue, Uint8Array, Uint8ArraySlice,
};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::batch::Batch;
use crate::bridge::chunk::Arena;
use crate::bridge::layout::{
    CALL_GENERATION, CALL_SLOT, DELIVERED_RECORDS, DRAINED_BYTES, DRAINED_HANDED, DRAINED_LENT,
    DRAINED_STREAMS, DRAINED_TURN, FLUSHED_BYTES, FLUSHED_MIXED, FLUSHED_NEXT, HANDED, HANDED_REPORTS,
    IN_PLACE, LENT_ID, MAX_RECORDS, MOST_OPS, OP_DESTROY, OP_END, OP_RESET, OP_RESUME, OP_SENT_SHIFT,
    OP_WORDS, OP_WRITE, OPS, OPS_FREE, OPS_WAIT, OPS_WANT_MEMORY, PUMPED, RECORD_WORDS, STREAM_DRAINED,
    STREAM_ENDED, STREAM_FULL, STREAM_HUNG_UP, STREAMS_WAIT,
};
use crate::bridge::limits::{BATCH_BYTES, HAND_OVER_BYTES};
use crate::bridge::read_buffer::Lent;
use crate::bridge::tally::Histogram;
use crate::engine::Large;
use crate::reactor::{ConnectionId, Link, Passed, PipeEvent, Pumped, StreamOp};

use super::backends::{Backends, INLINE};
use super::payload::{LentMemory, LentWords};
use super::poll_spin::Delivered;
use super::threads::Flushed;

/// For an arena of this many bytes the cache matters.
const MIN_EXCHANGE_BYTES: usize = 64 << 10;

pub(super) struct Exchange {
    /// One per reactor; the one on this thread comes first.
    pub(super) links: Vec<Arc<Link>>,
    backends: Rc<Backends>,
    /// The array of records and the words after it.
    words: LentWords,
    arena: Option<Box<dyn Lent>>,
    /// Bytes of the arena that was flushed last, until `exchange` asks for it again.
    flushed: usize,
    pub(super) large: Vec<Large>,
    /// The batch that JavaScript drained last, until it drains the next.
    pub(super) current: Option<Box<Batch>>,
    /// The records of the last chunk, until JavaScript has dealt with them.
    passed: Option<Passed>,
    /// The number of the reactor that `current` came from.
    turn: usize,
    /// Batches that come next, one from each of several reactors, with the reactor's number.
    taken: VecDeque<(usize, Box<Batch>)>,
    delivered: Rc<Delivered>,
    pub(super) delays: Histogram,
    pub(super) batches: Histogram,
}

impl Exchange {
    pub(super) fn new(
        links: Vec<Arc<Link>>,
        backends: Rc<Backends>,
        words: LentWords,
        delivered: Rc<Delivered>,
    ) -> Self {
        Self {
            links,
            backends,
            words,
            arena: None,
            flushed: 0,
            large: Vec::new(),
            current: None,
            passed: None,
            turn: 0,
            taken: VecDeque::new(),
            delivered,
            delays: Histogram::default(),
            batches: Histogram::default(),
        }
    }

    /// A large payload of the batch or chunk that JavaScript has now.
    pub(super) fn large_payload(&self, index: usize) -> Option<&[u8]> {
        let batch = self.current.as_ref().map(|batch| &batch.large);
        let large = self.passed.as_ref().map(|passed| &passed.large).or(batch)?;
        large.get(index).map(Vec::as_slice)
    }

    fn lend(&mut self, memory: &mut Uint8ArraySlice<'_>) -> Result<()> {
        if memory.len() < BATCH_BYTES {
            let why = format!("lend: at least {BATCH_BYTES} bytes are needed");
            return Err(Error::new(Status::InvalidArg, why));
        }
        let id = self.words.replace(LENT_ID, 0);
        if let Some(link) = self.links.get(self.turn) {
            link.inbox.lend(Box::new(LentMemory::new(id, memory)));
        }
        Ok(())
    }

    pub(super) fn lend_arena(&mut self, memory: Box<dyn Lent>) {
        if self.arena.is_none() {
            self.arena = Some(memory);
        } else if let Some(outbox) = self.backends.outbox() {
            outbox.give_back(memory);
        }
    }

    fn flush(&mut self, last: Option<&[u8]>) -> Result<()> {
        let outcome = self.hand_over(last);
        self.take_ops();
        outcome
    }

    fn hand_over(&mut self, last: Option<&[u8]>) -> Result<()> {
        self.free_ops();
        let used = self.words.replace(FLUSHED_BYTES, 0) as usize;
        let mixed = self.words.replace(FLUSHED_MIXED, 0) != 0;
        self.words.replace(FLUSHED_NEXT, 0);
        self.words.replace(IN_PLACE, u32::from(self.backends.are_here()));
        if used == 0 {
            self.exchange();
            return Ok(());
        }
        self.flushed = used;
        let large = std::mem::take(&mut self.large);
        let Some(arena) = self.arena.take() else { return Ok(()) };
        let id = arena.id();
        let Flushed { next, wanting, outcome } =
            self.backends.flush(Arena { memory: arena, used, large }, last, mixed);
        self.words.replace(FLUSHED_NEXT, if wanting { 0 } else { next.id() + 1 });
        if next.id() == id {
            self.flushed = 0;
        }
        self.arena = Some(next);
        outcome
    }

    /// Fills the arena that was flushed last again, if the reactor is done with it: two arenas in
    /// alternation need twice as much of the cache. A short arena needs little.
    fn exchange(&mut self) {
        if std::mem::take(&mut self.flushed) < MIN_EXCHANGE_BYTES {
            return;
        }
        let Some(outbox) = self.backends.outbox() else { return };
        if let Some(arena) = self.arena.take() {
            let next = outbox.exchange(arena);
            self.words.replace(FLUSHED_NEXT, next.id() + 1);
            self.arena = Some(next);
        }
    }

    fn drain(&mut self) -> Result<u32> {
        self.hand_over(None)?;
        self.give_back()?;
        let streams_only = self.words.replace(DRAINED_STREAMS, 0) != 0;
        let next = match streams_only {
            true => self.next_of_streams(),
            false => self.take().or_else(|| {
                // The bells are answered before the last look: a batch published later rings again. The
                // reactors in threads share one bell.
                for link in self.links.iter().take(2) {
                    link.inbox.bell().answer();
                }
                self.take()
            }),
        };
        self.take_ops();
        if !streams_only {
            self.delivered.all.set(next.is_none());
        }
        let Some(mut batch) = next else { return Ok(0) };
        if let Some(reported) = batch.reported.take() {
            self.delays.record(reported.elapsed());
        }
        self.batches.record_count(batch.records.len() as u64);
        let lent = batch.bytes.lent_id();
        let handed = lent.is_some() && batch.used >= HAND_OVER_BYTES;
        if handed {
            drop(std::mem::take(&mut batch.bytes));
        }
        let count = batch.copy_records(self.words.all());
        self.words.replace(DRAINED_TURN, self.backends.inline.loop_turn());
        self.words.replace(DRAINED_BYTES, batch.used as u32);
        self.words.replace(DRAINED_LENT, lent.map_or(0, |id| id + 1));
        let kind = match handed {
            false => 0,
            true if batch.has_reports() => HANDED_REPORTS,
            true => HANDED,
        };
        self.words.replace(DRAINED_HANDED, kind);
        self.delivered.records.set(self.delivered.records.get() + count);
        self.current = Some(batch);
        Ok(count as u32)
    }

    fn deliver(&mut self) -> Result<()> {
        let records = self.words.replace(DELIVERED_RECORDS, 0) as usize;
        let (Some(batch), Some(link)) = (self.current.as_deref(), self.links.get(self.turn)) else {
            return Ok(());
        };
        if link.inbox.deliver(batch, records) { self.backends.give_credit(self.turn) } else { Ok(()) }
    }

    fn settled(&mut self) -> f64 {
        let ConnectionId { slot, generation } = self.called();
        let settled = self.links.first().and_then(|link| link.gauges.settled(slot, generation));
        settled.map_or(f64::INFINITY, |bytes| bytes as f64)
    }

    fn next_of_streams(&mut self) -> Option<Box<Batch>> {
        let inbox = &self.links.get(INLINE)?.inbox;
        inbox.bell().answer();
        let batch = inbox.take()?;
        self.turn = INLINE;
        Some(batch)
    }

    /// Reads a chunk of the stream in the `CALL_` words, see `PUMPED`. Nothing refers to the chunk
    /// afterwards. False: the stream must not be read until it is told to resume.
    fn pump(&mut self, chunk: LentMemory) -> Result<bool> {
        self.free_ops();
        let id = self.called();
        let may_stay = self.words.replace(PUMPED, 0) != 0;
        if may_stay {
            self.give_back()?;
        }
        let words = self.words.all().get_mut(..MAX_RECORDS * RECORD_WORDS).filter(|_| may_stay);
        let pumped = self.backends.inline.on_streams(|reactor| reactor.pump(id, Box::new(chunk), words));
        let mut whole = true;
        match pumped {
            Some(Pumped::Read(passed)) => {
                self.batches.record_count(passed.count as u64);
                self.words.replace(DRAINED_TURN, self.backends.inline.loop_turn());
                self.words.replace(PUMPED, passed.count as u32 + 1);
                self.passed = Some(passed);
            }
            Some(Pumped::Copied { whole: all }) => whole = all,
            None => {}
        }
        self.take_ops();
        Ok(whole)
    }

    fn stream_event(&mut self, event: u32) {
        self.free_ops();
        let id = self.called();
        let event = match event {
            STREAM_FULL => PipeEvent::Full,
            STREAM_DRAINED => PipeEvent::Drained,
            STREAM_HUNG_UP => PipeEvent::HungUp,
            STREAM_ENDED => PipeEvent::Ended,
            _ => PipeEvent::Closed,
        };
        self.backends.inline.on_streams(|reactor| reactor.pipe_event(id, event));
        self.take_ops();
    }

    pub(super) fn lend_ops(&mut self, memory: Box<dyn Lent>) {
        let waiting = self.backends.inline.stream_ops.lend(memory);
        self.backends.inline.on_streams(|reactor| reactor.serve_ops(waiting));
        self.take_ops();
    }

    fn free_ops(&mut self) {
        if self.words.replace(OPS_FREE, 0) != 0 {
            self.backends.inline.stream_ops.rewind();
        }
    }

    /// Copies what streams are to do into the words.
    pub(super) fn take_ops(&mut self) {
        let wishes = self.wishes();
        let stream_ops = &self.backends.inline.stream_ops;
        let words = self.words.all();
        let (before, places) = words.split_at_mut_checked(OPS).unwrap_or_default();
        let mut places = places.chunks_exact_mut(OP_WORDS);
        let (count, wants) = stream_ops.take(MOST_OPS, |slot, op| {
            let (kind, start, len) = match op {
                StreamOp::Write { start, len, sent } => (OP_WRITE | sent << OP_SENT_SHIFT, start, len),
                StreamOp::End => (OP_END, 0, 0),
                StreamOp::Destroy { reset: false } => (OP_DESTROY, 0, 0),
                StreamOp::Destroy { reset: true } => (OP_RESET, 0, 0),
                StreamOp::Resume => (OP_RESUME, 0, 0),
            };
            if let Some(place) = places.next() {
                place.copy_from_slice(&[slot, kind, start, len]);
            }
        });
        let wants = if wants { OPS_WANT_MEMORY } else { 0 };
        for (word, value) in [(OPS_WAIT, count as u32 | wants), (STREAMS_WAIT, wishes)] {
            if let Some(word) = before.get_mut(word) {
                *word = value;
            }
        }
    }

    fn wishes(&self) -> u32 {
        let (waits, wants_wake) = self.links.get(INLINE).map(|link| link.inbox.wishes()).unwrap_or_default();
        // The memory of large payloads is to be given back.
        let is_large = self.passed.as_ref().is_some_and(|passed| !passed.large.is_empty());
        u32::from(waits) | u32::from(wants_wake || is_large) << 1
    }

    fn called(&mut self) -> ConnectionId {
        let words = self.words.all();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        ConnectionId { slot: word(CALL_SLOT), generation: word(CALL_GENERATION) }
    }

    /// The oldest batch of the first reactor that has one, starting after the last one served.
    fn take(&mut self) -> Option<Box<Batch>> {
        if self.taken.is_empty() {
            let (number, batch) = self.take_from(self.turn, self.links.len())?;
            if self.links.len() > 1 && batch.pending_open_bytes() != 0 {
                // Ends reported by other reactors come before these connections.
                let others = (1..self.links.len()).map(|behind| self.take_from(number + behind - 1, 1));
                self.taken = others.flatten().collect();
            }
            self.taken.push_back((number, batch));
        }
        let (number, batch) = self.taken.pop_front()?;
        self.turn = number;
        Some(batch)
    }

    /// As `take`, among the `count` reactors after reactor `number`.
    fn take_from(&self, number: usize, count: usize) -> Option<(usize, Box<Batch>)> {
        let numbers = (1..=count).map(|behind| (number + behind) % self.links.len());
        numbers.into_iter().find_map(|number| Some((number, self.links.get(number)?.inbox.take()?)))
    }

    fn give_back(&mut self) -> Result<()> {
        if let (Some(passed), Some(link)) = (self.passed.take(), self.links.get(INLINE))
            && link.inbox.has_delivered(passed.last)
        {
            self.backends.give_credit(INLINE)?;
        }
        let (Some(batch), Some(link)) = (self.current.take(), self.links.get(self.turn)) else {
            return Ok(());
        };
        if link.inbox.give_back(batch) { self.backends.give_credit(self.turn) } else { Ok(()) }
    }
}

/// None of these functions calls JavaScript.
#[napi(object, object_from_js = false)]
pub struct Calls<'env> {
    /// Flushes, gives the last batch back, and moves the oldest one to JavaScript: its records to
    /// the array, the place of its bytes to the `DRAINED_` words. Returns the number of records; 0
    /// when nothing waits.
    pub drain: Function<'env, (), u32>,
    /// Notes that JavaScript has dealt with the first `DELIVERED_RECORDS` records of the current
    /// batch and takes the others later. Peers that wait for the former wait no longer.
    pub deliver: Function<'env, (), ()>,
    /// Hands the first `FLUSHED_BYTES` bytes of the arena, and the payloads of `addLarge`, to the
    /// reactors. `FLUSHED_NEXT` then names the arena to fill next, as after `drain`.
    pub flush: Function<'env, (), ()>,
    /// As `flush`: its argument is the payload of the last record, a large one. While this thread has
    /// the sockets, it is used in place without a copy.
    pub flush_with: Function<'env, Uint8Array, ()>,
    /// Lends its argument for batches to the reactor of the batch drained last: a whole
    /// ArrayBuffer of `LENT_BYTES` or more, which JavaScript does not touch until a drain hands it
    /// over under the number in `LENT_ID`.
    pub lend: Function<'env, Uint8Array, ()>,
    /// For the connection in the `CALL_` words: bytes of its sends that the kernel has, minus
    /// bytes of its topics that wait; infinite when it has ended.
    pub bytes_settled: Function<'env, (), f64>,
    pub loop_turn: Function<'env, (), u32>,
    /// Schedules `wake` for the event loop's next turn, before any socket is read. Returns false if
    /// that is impossible.
    pub call_next: Function<'env, (), bool>,
    /// Reads a chunk of the stream in the `CALL_` words. Returns false if the stream must not be
    /// read before `OP_RESUME`.
    pub pump: Function<'env, Uint8Array, bool>,
    /// Reports another event of that stream, one of `STREAM_`.
    pub stream_event: Function<'env, u32, ()>,
    pub take_ops: Function<'env, (), ()>,
}

impl<'env> Calls<'env> {
    pub(super) fn new(env: &'env Env, exchange: &Rc<RefCell<Exchange>>) -> Result<Self> {
        Ok(Self {
            drain: function(env, exchange, "drain", |exchange, _| exchange.drain())?,
            deliver: function(env, exchange, "deliver", |exchange, _| exchange.deliver())?,
            flush: function(env, exchange, "flush", |exchange, _| exchange.flush(None))?,
            flush_with: function(env, exchange, "flushWith", |exchange, arguments| {
                let last: Uint8ArraySlice<'_> = arguments.get(0)?;
                exchange.flush(Some(&last))
            })?,
            lend: function(env, exchange, "lend", |exchange, arguments| {
                exchange.lend(&mut arguments.get(0)?)
            })?,
            bytes_settled: function(env, exchange, "bytesSettled", |exchange, _| Ok(exchange.settled()))?,
            loop_turn: function(env, exchange, "loopTurn", |exchange, _| {
                Ok(exchange.backends.inline.loop_turn())
            })?,
            call_next: function(env, exchange, "callNext", |exchange, _| {
                Ok(exchange.backends.inline.call_next())
            })?,
            pump: function(env, exchange, "pump", |exchange, arguments| {
                exchange.pump(LentMemory::new(0, &mut arguments.get(0)?))
            })?,
            stream_event: function(env, exchange, "streamEvent", |exchange, arguments| {
                exchange.stream_event(arguments.get(0)?);
                Ok(())
            })?,
            take_ops: function(env, exchange, "takeOps", |exchange, _| {
                exchange.take_ops();
                Ok(())
            })?,
        })
    }
}

fn function<'env, A: JsValuesTupleIntoVec, T: ToNapiValue + 'static>(
    env: &'env Env,
    exchange: &Rc<RefCell<Exchange>>,
    name: &str,
    step: impl Fn(&mut Exchange, FunctionCallContext<'_>) -> Result<T> + 'static,
) -> Result<Function<'env, A, T>> {
    let exchange = exchange.clone();
    env.create_function_from_closure(name, move |arguments| step(&mut exchange.borrow_mut(), arguments))
}
