//! A reactor with two drivers: the event loop of its consumer, and a thread. The driver that has the
//! seat's lock runs its turns.
//!
//! ```text
//! loop:    try_take -> serve, made_turn          thread: take -> turns, each as of a thread
//!          none? -> Outbox::send, wake                   drop the guard -> ring the loop
//! ```
//!
//! The loop never waits for the lock. If it finds the seat taken, it queues its command as for any
//! reactor with a thread. That thread sees the command before it sleeps, or is woken, or it gives the
//! seat back and rings *after* that: then the loop makes a turn, which finds the command. So the thread
//! that gives back need not look once more.

use std::sync::{PoisonError, TryLockError};

use super::doorbell::Sleep;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

pub struct Seat<T> {
    /// `None` once the reactor has ended.
    place: Mutex<Option<T>>,
    /// The loop has made so many.
    turns: AtomicU64,
    /// The thread sleeps until the loop has something to do.
    pub sleep: Sleep,
}

impl<T> Seat<T> {
    pub fn new(reactor: T) -> Self {
        Self { place: Mutex::new(Some(reactor)), turns: AtomicU64::new(0), sleep: Sleep::default() }
    }

    /// Loop. `None`: the thread drives, or this very thread is in the midst of a turn.
    pub fn try_take(&self) -> Option<MutexGuard<'_, Option<T>>> {
        match self.place.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Thread: waits for the end of the loop's turn.
    pub fn take(&self) -> MutexGuard<'_, Option<T>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loop, after a turn. `wakes`: there was something to do.
    #[must_use = "true is an obligation to wake the thread"]
    pub fn made_turn(&self, wakes: bool) -> bool {
        // One writer, so no exchange is needed.
        self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        wakes && self.sleep.should_wake()
    }

    /// Any thread. After `sleep.prepare()`: all turns that will not wake the thread for what they did.
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }
}
