//! A reactor with two drivers: the event loop of its consumer, and a thread. The driver that has the
//! seat runs its turns. Neither waits for it.
//!
//! ```text
//! loop:    try_take -> serve, made_turn          thread: try_take -> turns, each as of a thread
//!          none? -> Outbox::send, wake                   give_back, which rings the loop
//! ```
//!
//! If the loop finds the seat taken, it queues its command as for any reactor with a thread. That thread
//! sees the command before it sleeps, or is woken, or it gives the seat back and rings *after* that:
//! then the loop makes a turn, which finds the command. So the thread that gives back need not look once
//! more. As in the [bridge](super), the flag is exchanged, not looked at, so that no look is too old.

use std::sync::PoisonError;

use super::doorbell::Sleep;
use super::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};

pub struct Seat<T> {
    taken: AtomicBool,
    /// The thread waits for it, so the loop takes it no more.
    wanted: AtomicBool,
    /// `None` once the reactor has ended. The lock is free for whatever has set the flag: it is there to
    /// need no unsafe code.
    place: Mutex<Option<T>>,
    /// The loop has made so many.
    turns: AtomicU64,
    /// The thread sleeps until the loop has something to do.
    pub sleep: Sleep,
}

impl<T> Seat<T> {
    pub fn new(reactor: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            place: Mutex::new(Some(reactor)),
            turns: AtomicU64::new(0),
            sleep: Sleep::default(),
        }
    }

    /// `None`: the other side has it or waits for it, or this very thread has it in the midst of a turn.
    pub fn try_take(&self) -> Option<Taken<'_, T>> {
        self.take().filter(|_| !self.wanted.load(Ordering::Relaxed))
    }

    /// Thread: as `try_take`, but after `None` it must call this until the seat is free. Meanwhile the loop
    /// queues its commands.
    pub fn insist(&self) -> Option<Taken<'_, T>> {
        let taken = self.take();
        self.wanted.store(taken.is_none(), Ordering::Relaxed);
        taken
    }

    fn take(&self) -> Option<Taken<'_, T>> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Taken { place: Some(place), taken: &self.taken })
    }

    /// A hint: it can be too old.
    pub fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// Loop, after a turn. `wakes`: there was something to do.
    #[must_use = "true is an obligation to wake the thread"]
    pub fn made_turn(&self, wakes: bool) -> bool {
        // One writer, so no exchange is needed.
        self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        wakes && self.sleep.should_wake()
    }

    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Thread: whether the loop has made no turn after the first `turns`. Then the next one that has
    /// something to do wakes the thread, unless `sleep.awake()` comes first.
    pub fn prepares_to_sleep(&self, turns: u64) -> bool {
        self.sleep.prepare();
        self.turns() == turns
    }
}

/// Gives the seat back when it is dropped.
pub struct Taken<'a, T> {
    place: Option<MutexGuard<'a, Option<T>>>,
    taken: &'a AtomicBool,
}

impl<T> Taken<'_, T> {
    pub fn reactor(&mut self) -> Option<&mut T> {
        self.place.as_mut()?.as_mut()
    }

    /// Thread: frees the seat, then `ring` calls the loop. Its turn finds all that it has queued meanwhile.
    pub fn give_back(self, ring: impl FnOnce()) {
        drop(self);
        ring();
    }

    /// The reactor has ended.
    pub fn end(&mut self) -> Option<T> {
        self.place.as_mut()?.take()
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.place = None;
        self.taken.swap(false, Ordering::AcqRel);
    }
}
