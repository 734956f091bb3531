//! The two calls of every turn: they take no arguments and say what there is to say in words that both sides know.
//!
//! A method of a class costs Node-API and napi-rs 0.6 us before it does anything, and 0.1 us for each typed array. With a
//! few messages per turn that was more than everything else that JavaScript's side does.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::Function;
use napi::{Env, Result};

use crate::bridge::batch::Batch;
use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::layout::{DRAINED_BYTES, DRAINED_HANDED, DRAINED_LENT, FLUSHED_BYTES, FLUSHED_NEXT};
use crate::bridge::limits::HAND_OVER_BYTES;
use crate::bridge::room::Lent;
use crate::reactor::{Command, Handle, Link};

use super::payload::LentWords;
use super::reactor::system_error;

/// What waits on JavaScript's side, in both directions.
pub(super) struct Crossing {
    link: Arc<Link>,
    handle: Handle,
    /// The array of records and the words behind them.
    words: LentWords,
    /// What JavaScript fills.
    arena: Option<Box<dyn Lent>>,
    /// Large payloads of the records in it.
    pub(super) large: Vec<Vec<u8>>,
    /// What JavaScript has drained last, until it drains the next.
    pub(super) current: Option<Box<Batch>>,
}

impl Crossing {
    pub(super) fn new(link: Arc<Link>, handle: Handle, words: LentWords) -> Self {
        Self { link, handle, words, arena: None, large: Vec::new(), current: None }
    }

    /// Lends memory to be filled; the first is filled first.
    pub(super) fn lend_arena(&mut self, memory: Box<dyn Lent>) {
        if self.arena.is_none() {
            self.arena = Some(memory);
        } else {
            self.handle.lend_arena(memory);
        }
    }

    /// Hands what the arena holds, and the large payloads, to the reactor.
    pub(super) fn flush(&mut self) -> Result<()> {
        let used = self.words.replace(FLUSHED_BYTES, 0) as usize;
        self.words.replace(FLUSHED_NEXT, 0);
        if used == 0 {
            return Ok(());
        }
        let large = std::mem::take(&mut self.large);
        let command = match (self.arena.take(), self.handle.arena()) {
            (Some(memory), Some(next)) => {
                self.words.replace(FLUSHED_NEXT, next.id() + 1);
                self.arena = Some(next);
                Command::Arena(Arena { memory, used, large })
            }
            // The reactor has all others: it gets a copy, and JavaScript goes on at the beginning.
            (memory, next) => {
                let memory = memory.or(next);
                let mut bytes = self.handle.buffer();
                let filled = memory.as_deref().and_then(|memory| memory.bytes().get(..used));
                bytes.extend_from_slice(filled.unwrap_or_default());
                self.arena = memory;
                Command::Chunk(Chunk { bytes, large })
            }
        };
        self.handle.submit(command).map_err(|error| system_error(&error))
    }

    /// Flushes, gives the last batch back and takes the next: its records to the words, and what became of its bytes to
    /// the `DRAINED_` words behind them. Returns how many records; 0 when nothing waits.
    pub(super) fn drain(&mut self) -> Result<u32> {
        self.flush()?;
        self.give_back()?;
        let Some(mut batch) = self.next_batch() else { return Ok(0) };
        let lent = batch.bytes.lent_id();
        let handed = lent.is_some() && batch.used >= HAND_OVER_BYTES;
        if handed {
            drop(std::mem::take(&mut batch.bytes));
        }
        let count = batch.copy_records(self.words.all());
        self.words.replace(DRAINED_BYTES, batch.used as u32);
        self.words.replace(DRAINED_LENT, lent.map_or(0, |id| id + 1));
        self.words.replace(DRAINED_HANDED, u32::from(handed));
        self.current = Some(batch);
        Ok(count as u32)
    }

    fn next_batch(&self) -> Option<Box<Batch>> {
        self.link.inbox.take().or_else(|| {
            // Answered before the last look: what comes after it rings again.
            self.link.inbox.bell().answer();
            self.link.inbox.take()
        })
    }

    fn give_back(&mut self) -> Result<()> {
        let Some(batch) = self.current.take() else { return Ok(()) };
        if self.link.inbox.give_back(batch) {
            self.handle.wake().map_err(|error| system_error(&error))?;
        }
        Ok(())
    }
}

/// A function of JavaScript that does `step`, which calls no JavaScript.
pub(super) fn function<'env, T: napi::bindgen_prelude::ToNapiValue + 'static>(
    env: &'env Env,
    name: &str,
    crossing: &Rc<RefCell<Crossing>>,
    step: impl Fn(&mut Crossing) -> Result<T> + 'static,
) -> Result<Function<'env, (), T>> {
    let crossing = crossing.clone();
    env.create_function_from_closure(name, move |_| step(&mut crossing.borrow_mut()))
}
