//! The calls of every turn, and of programs that look at `bufferedAmount` before they send. The
//! calls take no arguments: both sides exchange `u32` words at places that both know.
//!
//! A method of a class costs Node-API and napi-rs 0.6 us before it does anything, and 0.1 us for
//! each typed array. With a few messages per turn that was more than all else that
//! JavaScript's side does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, Uint8ArraySlice};
use napi::{Env, Error, Result, Status};

use crate::bridge::batch::Batch;
use crate::bridge::chunk::Arena;
use crate::bridge::large::Large;
use crate::bridge::layout::{
    ASKED_GENERATION, ASKED_SLOT, DELIVERED_RECORDS, DRAINED_BYTES, DRAINED_HANDED, DRAINED_LENT,
    DRAINED_TURN, FLUSHED_BYTES, FLUSHED_NEXT, LENT_ID,
};
use crate::bridge::limits::{BATCH_BYTES, HAND_OVER_BYTES};
use crate::bridge::room::Lent;
use crate::bridge::tally::Histogram;
use crate::reactor::Link;

use super::drive::{Drive, Flushed};
use super::lingering::Delivered;
use super::payload::{LentMemory, LentWords};
use super::wake::Wake;

/// Bytes of an arena for which the cache matters: 64 KiB.
const WORTH_EXCHANGE: usize = 64 << 10;

/// JavaScript's end of the exchange, in both directions.
pub(super) struct Crossing {
    /// One link of each reactor.
    links: Vec<Arc<Link>>,
    drive: Rc<dyn Drive>,
    /// The array of records and the words behind them.
    words: LentWords,
    /// The arena that JavaScript fills.
    arena: Option<Box<dyn Lent>>,
    /// Bytes of the arena that was flushed last, until JavaScript has asked for it again.
    flushed: usize,
    /// Large payloads of the records in it.
    pub(super) large: Vec<Large>,
    /// The batch that JavaScript has drained last, until it drains the next.
    current: Option<Box<Batch>>,
    /// The number of the reactor of that batch.
    turn: usize,
    /// Batches that have been taken from each of several reactors, and come next.
    taken: VecDeque<(usize, Box<Batch>)>,
    delivered: Rc<Delivered>,
    /// Time from the report of the system until a batch was taken.
    pub(super) delays: Histogram,
    /// Records of the batches that were taken.
    pub(super) batches: Histogram,
    /// How often something came that may have been ahead of bytes which had come before it.
    pub(super) unsettled: u64,
}

impl Crossing {
    pub(super) fn new(
        links: Vec<Arc<Link>>,
        drive: Rc<dyn Drive>,
        words: LentWords,
        delivered: Rc<Delivered>,
    ) -> Self {
        Self {
            links,
            drive,
            words,
            arena: None,
            flushed: 0,
            large: Vec::new(),
            current: None,
            turn: 0,
            taken: VecDeque::new(),
            delivered,
            delays: Histogram::default(),
            batches: Histogram::default(),
            unsettled: 0,
        }
    }

    /// The batch that JavaScript has drained last.
    pub(super) fn current(&self) -> Option<&Batch> {
        self.current.as_deref()
    }

    /// Lends memory for batches, under the number in its word, to the reactor whose batch was
    /// drained last.
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

    /// Lends an arena; the first one is filled first.
    pub(super) fn lend_arena(&mut self, memory: Box<dyn Lent>) {
        if self.arena.is_none() {
            self.arena = Some(memory);
        } else {
            self.drive.lend_arena(memory);
        }
    }

    /// Hands the contents of the arena, and the large payloads, to the reactor. `last` is the
    /// payload of the arena's last record, only for a reactor without a thread.
    pub(super) fn flush(&mut self, last: Option<&[u8]>) -> Result<()> {
        let used = self.words.replace(FLUSHED_BYTES, 0) as usize;
        self.words.replace(FLUSHED_NEXT, 0);
        if used == 0 {
            self.exchange();
            return Ok(());
        }
        self.flushed = used;
        let large = std::mem::take(&mut self.large);
        let Some(arena) = self.arena.take() else { return Ok(()) };
        let Flushed { next, wanting, outcome } = self.drive.flush(Arena { memory: arena, used, large }, last);
        self.words.replace(FLUSHED_NEXT, if wanting { 0 } else { next.id() + 1 });
        self.arena = Some(next);
        outcome
    }

    /// Fills the arena that was flushed last again, if the reactor is done with it: two arenas that
    /// take turns need twice as much of the cache. A short arena needs little.
    fn exchange(&mut self) {
        if std::mem::take(&mut self.flushed) < WORTH_EXCHANGE {
            return;
        }
        if let Some(arena) = self.arena.take() {
            let next = self.drive.exchange(arena);
            self.words.replace(FLUSHED_NEXT, next.id() + 1);
            self.arena = Some(next);
        }
    }

    /// Flushes, gives the last batch back and takes the next: its records to the words, and
    /// the place of its bytes to the `DRAINED_` words behind them. Returns the number of records; 0
    /// when nothing waits.
    pub(super) fn drain(&mut self) -> Result<u32> {
        self.flush(None)?;
        self.give_back()?;
        let next = self.next_batch();
        self.delivered.all.set(next.is_none());
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
        let turn = self.loop_turn()?;
        self.words.replace(DRAINED_TURN, turn);
        self.words.replace(DRAINED_BYTES, batch.used as u32);
        self.words.replace(DRAINED_LENT, lent.map_or(0, |id| id + 1));
        self.words.replace(DRAINED_HANDED, u32::from(handed));
        self.delivered.records.set(self.delivered.records.get() + count);
        self.current = Some(batch);
        Ok(count as u32)
    }

    /// Notes that JavaScript has dealt with some records of the batch that it drained last, and
    /// goes on with the others in a later turn of its loop.
    pub(super) fn deliver(&mut self) -> Result<()> {
        let records = self.words.replace(DELIVERED_RECORDS, 0) as usize;
        let (Some(batch), Some(link)) = (self.current.as_deref(), self.links.get(self.turn)) else {
            return Ok(());
        };
        if link.inbox.deliver(batch, records) { self.drive.give_credit(self.turn) } else { Ok(()) }
    }

    /// Makes the reactors hand over the bytes that have come to them by now. Returns whether there
    /// is a batch to drain.
    pub(super) fn settle(&mut self) -> Result<bool> {
        self.settle_drive();
        Ok(self.links.iter().any(|link| link.inbox.is_waiting()))
    }

    fn settle_drive(&mut self) {
        if !self.drive.settle() {
            self.unsettled += 1;
        }
    }

    /// Number of the event loop's turn, as in `DRAINED_TURN`.
    pub(super) fn loop_turn(&mut self) -> Result<u32> {
        Ok(self.drive.wake().map_or(0, Wake::loop_turn))
    }

    /// Schedules `wake` for the event loop's next turn, before that reads any socket. Returns false
    /// if that is impossible.
    pub(super) fn call_next(&mut self) -> Result<bool> {
        Ok(self.drive.wake().is_some_and(Wake::call_next))
    }

    /// See `settled` of [`Gauges`](crate::bridge::gauges::Gauges::read_settled); infinite when the
    /// connection is gone.
    pub(super) fn settled(&mut self) -> Result<f64> {
        let words = self.words.all();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let (slot, generation) = (word(ASKED_SLOT), word(ASKED_GENERATION));
        let settled = self.links.first().and_then(|link| link.gauges.read_settled(slot, generation));
        Ok(settled.map_or(f64::INFINITY, |bytes| bytes as f64))
    }

    fn next_batch(&mut self) -> Option<Box<Batch>> {
        self.take().or_else(|| {
            // The one bell of all links is answered before the last look: a batch published later
            // rings again.
            if let Some(link) = self.links.first() {
                link.inbox.bell().answer();
            }
            self.take()
        })
    }

    /// The oldest batch of the first reactor that has one, beginning behind the last.
    fn take(&mut self) -> Option<Box<Batch>> {
        if self.taken.is_empty() {
            let (number, batch) = self.take_behind(self.turn, self.links.len())?;
            if self.links.len() > 1 && batch.openings() != 0 {
                // A connection that opens comes behind earlier records of others, such as ends of
                // connections.
                self.settle_drive();
                let others = (1..self.links.len()).map(|behind| self.take_behind(number + behind - 1, 1));
                self.taken = others.flatten().collect();
            }
            self.taken.push_back((number, batch));
        }
        let (number, batch) = self.taken.pop_front()?;
        self.turn = number;
        Some(batch)
    }

    /// The oldest batch of the first reactor that has one, among the `count` behind reactor
    /// `number`.
    fn take_behind(&self, number: usize, count: usize) -> Option<(usize, Box<Batch>)> {
        let numbers = (1..=count).map(|behind| (number + behind) % self.links.len());
        numbers.into_iter().find_map(|number| Some((number, self.links.get(number)?.inbox.take()?)))
    }

    fn give_back(&mut self) -> Result<()> {
        let (Some(batch), Some(link)) = (self.current.take(), self.links.get(self.turn)) else {
            return Ok(());
        };
        if link.inbox.give_back(batch) { self.drive.give_credit(self.turn) } else { Ok(()) }
    }
}

/// A JavaScript function that runs `step`, which calls no JavaScript.
pub(super) fn function<'env, T: napi::bindgen_prelude::ToNapiValue + 'static>(
    env: &'env Env,
    name: &str,
    crossing: &Rc<RefCell<Crossing>>,
    step: impl Fn(&mut Crossing) -> Result<T> + 'static,
) -> Result<Function<'env, (), T>> {
    let crossing = crossing.clone();
    env.create_function_from_closure(name, move |_| step(&mut crossing.borrow_mut()))
}

/// The function that flushes, with its argument as the payload of the last record.
pub(super) fn flush_with<'env>(
    env: &'env Env,
    crossing: &Rc<RefCell<Crossing>>,
) -> Result<Function<'env, (), ()>> {
    let crossing = crossing.clone();
    env.create_function_from_closure("flushWith", move |context| {
        let last: Uint8ArraySlice<'_> = context.get(0)?;
        crossing.borrow_mut().flush(Some(&last))
    })
}

/// The function that lends its argument.
pub(super) fn lend<'env>(env: &'env Env, crossing: &Rc<RefCell<Crossing>>) -> Result<Function<'env, (), ()>> {
    let crossing = crossing.clone();
    env.create_function_from_closure("lend", move |context| crossing.borrow_mut().lend(&mut context.get(0)?))
}
