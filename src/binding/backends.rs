//! The reactors of an environment: one on the JavaScript thread, which has the streams, and those
//! in threads once a server asks for them. Without threads the first one has the sockets too.
//!
//! Reactors have the numbers of their links: [`INLINE`], then the threads.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;

use napi::Result;
#[cfg(unix)]
use napi::{Error, Status};

use crate::bridge::chunk::{Arena, Outbox};
use crate::bridge::layout::{PIPE_SLOTS, TOPIC_SLOT};
use crate::bridge::split::split;
use crate::engine::Large;
use crate::reactor::Command;
#[cfg(unix)]
use crate::reactor::Handle;

use super::inline::Inline;
use super::threads::{Flushed, Threads};

/// The number of the reactor on the JavaScript thread.
pub(super) const INLINE: usize = 0;

pub(super) struct Backends {
    pub(super) inline: Rc<Inline>,
    threads: OnceCell<Threads>,
    ended: Cell<bool>,
}

impl Backends {
    pub(super) fn new(inline: Rc<Inline>) -> Self {
        Self { inline, threads: OnceCell::new(), ended: Cell::new(false) }
    }

    /// From now on `threads` have the sockets.
    pub(super) fn start(&self, threads: Threads) {
        let _only_once = self.threads.set(threads);
    }

    pub(super) fn is_inline(&self) -> bool {
        self.threads().is_none()
    }

    fn threads(&self) -> Option<&Threads> {
        self.threads.get().filter(|_| !self.ended.get())
    }

    pub(super) fn sockets(&self) -> Range<usize> {
        match self.threads() {
            Some(threads) => INLINE + 1..INLINE + 1 + threads.count(),
            None => INLINE..INLINE + 1,
        }
    }

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
                let _never_in_a_thread = self.inline.submit(command);
                Ok(())
            }
        }
    }

    /// For other threads, of those that have sockets.
    ///
    /// # Errors
    /// They have ended.
    #[cfg(unix)]
    pub(super) fn handles(&self) -> Result<Vec<Handle>> {
        let ended = || Error::new(Status::GenericFailure, "the reactors have ended");
        let handles = self.threads().map(Threads::handles);
        handles.or_else(|| Some(vec![self.inline.handle()?])).ok_or_else(ended)
    }

    pub(super) fn submit_to_sockets(&self, command: impl Fn() -> Command) -> Result<()> {
        self.sockets().try_for_each(|number| self.submit(number, command()))
    }

    /// `mixed`: some records are not for a socket. `last`: if JavaScript's thread has the sockets, the
    /// payload of the last record.
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>, mixed: bool) -> Flushed {
        let flushed = |next, outcome| Flushed { next, wanting: false, outcome };
        let inline = |mut arena: Arena| {
            let _never_in_a_thread = self.inline.flush(&mut arena, last);
            flushed(arena.memory, Ok(()))
        };
        let Some(threads) = self.threads() else { return inline(arena) };
        if !mixed && threads.count() == 1 {
            return threads.flush(arena, last);
        }
        if mixed && arena.records().all(|record| (PIPE_SLOTS..TOPIC_SLOT).contains(&record.slot)) {
            return inline(arena);
        }
        arena.large.extend(last.map(Large::copy));
        let large = std::mem::take(&mut arena.large);
        let buffer = |number: usize| threads.buffer(number.wrapping_sub(INLINE + 1));
        let chunks = split(arena.bytes(), large, threads.count(), |slot| self.of_slot(slot), buffer);
        // The reactor on this thread applies its chunk at once, so it comes last.
        let mut chunks = chunks.into_iter().enumerate().rev().filter(|(_, chunk)| !chunk.bytes.is_empty());
        let outcome = chunks.try_for_each(|(number, chunk)| self.submit(number, Command::Chunk(chunk)));
        flushed(arena.memory, outcome)
    }

    /// Whether this thread's loop has the sockets now.
    pub(super) fn are_here(&self) -> bool {
        self.threads().is_none_or(Threads::is_here)
    }

    /// If the loop and a thread share a reactor, see [`Drive::report`](super::drive::Drive::report).
    pub(super) fn drive(&self) -> Option<[u64; 4]> {
        self.threads.get()?.drive()
    }

    /// For the memory of arenas. `None` without threads: one arena is enough.
    pub(super) fn outbox(&self) -> Option<&Outbox<Command>> {
        self.threads()?.outbox()
    }

    /// Reports credit that was given back to a reactor that waits for it.
    pub(super) fn give_credit(&self, number: usize) -> Result<()> {
        match (number.checked_sub(INLINE + 1), self.threads()) {
            (Some(thread), Some(threads)) => threads.give_credit(thread),
            _ => {
                let _never_in_a_thread = self.inline.give_credit();
                Ok(())
            }
        }
    }

    /// Ends the reactors after one attempt to write the queued bytes.
    pub(super) fn stop(&self) {
        self.inline.stop();
        if let Some(threads) = self.threads.get() {
            threads.stop();
        }
    }

    /// Ends the threads after one of them has died. Their commands then go to the reactor on this
    /// thread, which has none of their connections.
    pub(super) fn end_threads(&self) {
        if let Some(threads) = self.threads() {
            threads.stop();
            self.ended.set(true);
        }
    }

    /// Ends the reactors for good. `until_closed` is dropped once the loop has closed their
    /// handles.
    pub(super) fn close<T: 'static>(&self, until_closed: T) {
        let until_closed = Rc::new(until_closed);
        self.inline.close(&until_closed);
        if let Some(threads) = self.threads.get() {
            threads.close(&until_closed);
        }
        self.inline.wake.cut();
    }
}
