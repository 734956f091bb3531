//! The reactors of an environment: one on the JavaScript thread, which has the streams, and those in
//! threads, once a server has asked for them. Without threads the first has the sockets too.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use napi::Result;

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::layout::{PIPE_SLOTS, TOPIC_SLOT};
use crate::bridge::room::Lent;
use crate::bridge::split::split;
use crate::reactor::Command;

use super::drive::{Drive, Flushed};
use super::inline::Inline;
use super::threads::Threads;
use super::wake::Wake;

/// The number of the link of the reactor on the JavaScript thread; those in threads follow.
pub(super) const INLINE: usize = 0;

pub(super) struct Drives {
    pub(super) inline: Rc<Inline>,
    threads: OnceCell<Threads>,
    /// A server has asked for reactors.
    started: Cell<bool>,
    /// Those in threads have ended before the environment.
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

    fn threads(&self) -> Option<&Threads> {
        self.threads.get().filter(|_| !self.ended.get())
    }

    /// The reactors that have the sockets.
    fn sockets(&self) -> &dyn Drive {
        match self.threads() {
            Some(threads) => threads,
            None => &*self.inline,
        }
    }

    /// The number of reactors that have sockets.
    pub(super) fn count(&self) -> usize {
        self.sockets().count()
    }

    /// The number of the link of the reactor that a slot belongs to.
    pub(super) fn link(&self, slot: u32) -> usize {
        match self.threads() {
            Some(threads) if slot < PIPE_SLOTS => 1 + threads.number(slot),
            _ => INLINE,
        }
    }

    /// Sends a command to a reactor that has sockets.
    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        self.sockets().submit(number, command)
    }

    /// Sends a command to the reactor of a slot.
    pub(super) fn submit_for(&self, slot: u32, command: Command) -> Result<()> {
        match self.threads() {
            Some(threads) if slot < PIPE_SLOTS => threads.submit(threads.number(slot), command),
            _ => self.inline.submit(0, command),
        }
    }

    /// Sends a command to each reactor.
    pub(super) fn submit_all(&self, command: impl Fn() -> Command) -> Result<()> {
        self.inline.submit(0, command())?;
        match self.threads() {
            None => Ok(()),
            Some(threads) => (0..threads.count()).try_for_each(|number| threads.submit(number, command())),
        }
    }

    /// Whether there is no thread.
    pub(super) fn is_inline(&self) -> bool {
        self.threads().is_none()
    }

    /// Hands the records of an arena over; `mixed`: some of them are not for a socket.
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>, mixed: bool) -> Flushed {
        let Some(threads) = self.threads() else { return self.inline.flush(arena, last) };
        if !mixed {
            return threads.flush(arena, None);
        }
        if arena.records().all(|record| (PIPE_SLOTS..TOPIC_SLOT).contains(&record.slot)) {
            return self.inline.flush(arena, None);
        }
        let large = std::mem::take(&mut arena.large);
        let own = threads.count();
        let number = |slot| if slot < PIPE_SLOTS { threads.number(slot) } else { own };
        let chunks = split(arena.bytes(), large, own + 1, number, |number| threads.buffer(number));
        let outcome = chunks.into_iter().enumerate().try_for_each(|(number, chunk)| {
            if chunk.bytes.is_empty() { Ok(()) } else { self.submit_chunk(threads, number, chunk) }
        });
        Flushed { next: arena.memory, wanting: false, outcome }
    }

    fn submit_chunk(&self, threads: &Threads, number: usize, chunk: Chunk) -> Result<()> {
        if number == threads.count() {
            self.inline.submit(0, Command::Chunk(chunk))
        } else {
            threads.submit(number, Command::Chunk(chunk))
        }
    }

    /// The arena to be filled next instead of one that is empty.
    pub(super) fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        self.sockets().exchange(arena)
    }

    /// Lends memory for arenas, for a way that needs more than the one that is filled.
    pub(super) fn lend_arena(&self, memory: Box<dyn Lent>) {
        self.sockets().lend_arena(memory);
    }

    /// Reports that credit was given back for which the reactor of a link waits.
    pub(super) fn give_credit(&self, link: usize) -> Result<()> {
        match (link.checked_sub(1), self.threads()) {
            (Some(number), Some(threads)) => threads.give_credit(number),
            _ => self.inline.give_credit(0),
        }
    }

    /// The end of the way back that counts the turns of the event loop; `None` where there is no
    /// libuv.
    pub(super) fn wake(&self) -> Option<&Wake> {
        Drive::wake(&*self.inline)
    }

    /// Whether JavaScript has to be called although nothing there refers to the reactors.
    pub(super) fn hold(&self, does: bool) {
        self.inline.hold(does);
        if let Some(wake) = self.threads.get().and_then(|threads| threads.wake()) {
            wake.hold(does);
        }
    }

    /// Ends the reactors after an attempt to write the queued bytes.
    pub(super) fn stop(&self) {
        self.inline.stop();
        if let Some(threads) = self.threads.get() {
            threads.stop();
        }
    }

    /// Ends those in threads: one of them has died. What is for them goes to the other, which has none of
    /// their connections.
    pub(super) fn end_threads(&self) {
        if let Some(threads) = self.threads() {
            threads.stop();
            self.ended.set(true);
        }
    }

    /// Lets the reactors end, sooner or later, with all that they have.
    pub(super) fn retire(&self) {
        self.inline.retire();
        if let Some(threads) = self.threads.get() {
            threads.retire();
        }
    }
}
