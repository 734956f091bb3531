//! The reactors of an environment: one on the JavaScript thread, which has the streams, and those in
//! threads, once a server has asked for them. Without threads the first has the sockets too.
//!
//! A reactor has the number of its link: [`INLINE`], and those in threads follow.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;

use napi::Result;

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::layout::{PIPE_SLOTS, TOPIC_SLOT};
use crate::bridge::room::Lent;
use crate::bridge::split::{Counts, split};
use crate::reactor::Command;

use super::inline::Inline;
use super::threads::{Flushed, Threads};

/// The number of the reactor on the JavaScript thread.
pub(super) const INLINE: usize = 0;

pub(super) struct Drives {
    pub(super) inline: Rc<Inline>,
    threads: OnceCell<Threads>,
    /// A server has asked for reactors.
    started: Cell<bool>,
    /// The threads have ended before the environment.
    ended: Cell<bool>,
}

impl Drives {
    pub(super) fn new(inline: Rc<Inline>) -> Self {
        Self { inline, threads: OnceCell::new(), started: Cell::new(false), ended: Cell::new(false) }
    }

    /// `threads`: the reactors that have the sockets; `None`: the one on the JavaScript thread has.
    pub(super) fn start(&self, threads: Option<Threads>) {
        self.started.set(true);
        if let Some(threads) = threads {
            let _only_once = self.threads.set(threads);
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.started.get()
    }

    /// Whether there is no thread.
    pub(super) fn is_inline(&self) -> bool {
        self.threads().is_none()
    }

    fn threads(&self) -> Option<&Threads> {
        self.threads.get().filter(|_| !self.ended.get())
    }

    /// The reactors that have sockets.
    pub(super) fn sockets(&self) -> Range<usize> {
        match self.threads() {
            Some(threads) => INLINE + 1..INLINE + 1 + threads.count(),
            None => INLINE..INLINE + 1,
        }
    }

    /// The reactor that a slot belongs to.
    pub(super) fn of_slot(&self, slot: u32) -> usize {
        match self.threads() {
            Some(threads) if slot < PIPE_SLOTS => INLINE + 1 + threads.of_slot(slot),
            _ => INLINE,
        }
    }

    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        match (number.checked_sub(INLINE + 1), self.threads()) {
            (Some(thread), Some(threads)) => threads.submit(thread, command),
            _ => {
                self.inline.submit(command);
                Ok(())
            }
        }
    }

    /// Sends a command to each reactor.
    pub(super) fn submit_all(&self, command: impl Fn() -> Command) -> Result<()> {
        (INLINE..self.sockets().end).try_for_each(|number| self.submit(number, command()))
    }

    /// Sends a command to each reactor that has sockets.
    pub(super) fn submit_to_sockets(&self, command: impl Fn() -> Command) -> Result<()> {
        self.sockets().try_for_each(|number| self.submit(number, command()))
    }

    /// Hands the records of an arena over; `mixed`: some of them are not for a socket. Without a thread
    /// `last` may be the payload of the last record.
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>, mixed: bool) -> Flushed {
        let flushed = |next, outcome| Flushed { next, wanting: false, outcome };
        let Some(threads) = self.threads() else { return flushed(self.inline.flush(arena, last), Ok(())) };
        if !mixed && threads.count() == 1 {
            return threads.flush(arena);
        }
        if mixed && arena.records().all(|record| (PIPE_SLOTS..TOPIC_SLOT).contains(&record.slot)) {
            return flushed(self.inline.flush(arena, None), Ok(()));
        }
        let large = std::mem::take(&mut arena.large);
        // Those in threads, the first of which has the histories, then the one on this thread.
        let count = threads.count();
        let part = |slot| if slot < PIPE_SLOTS { threads.of_slot(slot) } else { count };
        let counts = Counts { sockets: count, all: count + 1 };
        let chunks = split(arena.bytes(), large, counts, part, |part| threads.buffer(part));
        let outcome = chunks.into_iter().enumerate().try_for_each(|(part, chunk)| match chunk {
            Chunk { bytes, .. } if bytes.is_empty() => Ok(()),
            chunk => {
                self.submit(if part == count { INLINE } else { INLINE + 1 + part }, Command::Chunk(chunk))
            }
        });
        flushed(arena.memory, outcome)
    }

    /// The arena to be filled next instead of one that is empty.
    pub(super) fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        match self.threads() {
            Some(threads) => threads.exchange(arena),
            None => arena,
        }
    }

    /// Lends memory for arenas to threads, which need more than the one that is filled.
    pub(super) fn lend_arena(&self, memory: Box<dyn Lent>) {
        if let Some(threads) = self.threads() {
            threads.lend_arena(memory);
        }
    }

    /// Reports that credit was given back for which a reactor waits.
    pub(super) fn give_credit(&self, number: usize) -> Result<()> {
        match (number.checked_sub(INLINE + 1), self.threads()) {
            (Some(thread), Some(threads)) => threads.give_credit(thread),
            _ => {
                self.inline.give_credit();
                Ok(())
            }
        }
    }

    /// Ends the reactors after an attempt to write the queued bytes.
    pub(super) fn stop(&self) {
        self.inline.stop();
        if let Some(threads) = self.threads.get() {
            threads.stop();
        }
    }

    /// Ends the threads, one of which has died. What is for them goes to the other reactor, which has none
    /// of their connections.
    pub(super) fn end_threads(&self) {
        if let Some(threads) = self.threads() {
            threads.stop();
            self.ended.set(true);
        }
    }

    /// Ends the reactors with the environment, which waits for `until_closed` to be dropped.
    pub(super) fn close<T: 'static>(&self, until_closed: T) {
        if let Some(threads) = self.threads.get() {
            threads.stop();
        }
        let until_closed = Rc::new(until_closed);
        self.inline.close(until_closed.clone());
        self.inline.wake.cut(until_closed);
    }

    /// Lets the reactors end, sooner or later, with all that they have.
    pub(super) fn retire(&self) {
        self.inline.close(Rc::new(()));
        if !self.threads.get().is_some_and(Threads::retire) {
            self.inline.wake.cut(());
        }
    }
}
