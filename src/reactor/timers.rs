//! Deadlines of all connections in one heap.
//!
//! A connection has at most one live entry. Moving its deadline later is only a store: the entry
//! comes at the old time, sees the new deadline and is put back. Moving it earlier adds an entry,
//! and makes the old one stale.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use super::ConnectionId;
use super::queue::Alarms;

/// Deadlines are kept to within a tick, late but never early.
const TICK: Duration = Duration::from_millis(16);
/// An entry comes after this many ticks (16 s) at the latest, so entries of connections that have
/// ended do not pile up.
const LONGEST: u64 = 1024;
/// When to repeat a call for which the kernel had no memory.
const RETRY: Duration = Duration::from_millis(5);

/// A deadline in ticks, and the tick of its entry; 0 for none.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Deadline {
    due: u64,
    scheduled: u64,
}

impl Deadline {
    /// The deadline's entry becomes stale.
    pub(super) fn clear(&mut self) {
        self.due = 0;
    }
}

pub(super) struct Timers {
    now: Instant,
    start: Instant,
    /// Entries up to this tick are looked at, once everything is read that had arrived by then.
    tick: u64,
    entries: Alarms<u64>,
    /// Sockets for which the kernel had no memory, and when to repeat the call: no event says when
    /// there is memory again. libuv tries again later, too.
    retries: Alarms,
}

impl Timers {
    pub(super) fn new(now: Instant) -> Self {
        Self { now, start: now, tick: 0, entries: Alarms::default(), retries: Alarms::default() }
    }

    #[inline]
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn begin_turn(&mut self) {
        self.now = Instant::now();
    }

    #[inline]
    pub(super) fn arm(&mut self, id: ConnectionId, deadline: &mut Deadline, after: Duration) {
        // A time too long for the clock means never.
        deadline.due = self.now.checked_add(after).map_or(u64::MAX, |at| self.tick_at(at) + 1);
        if deadline.scheduled == 0 || deadline.scheduled > deadline.due {
            self.schedule(id, deadline);
        }
    }

    /// `None`: it has none.
    pub(super) fn left(&self, deadline: &Deadline) -> Option<Duration> {
        let millis = deadline.due.checked_mul(TICK.as_millis() as u64).filter(|&millis| millis != 0)?;
        let due = self.start.checked_add(Duration::from_millis(millis))?;
        Some(due.saturating_duration_since(self.now))
    }

    fn schedule(&mut self, id: ConnectionId, deadline: &mut Deadline) {
        deadline.scheduled = deadline.due.clamp(self.tick + 1, self.tick + LONGEST);
        self.entries.push(deadline.scheduled, id);
    }

    /// Deadlines that might be over are looked at from now on. False: some are left.
    pub(super) fn expire(&mut self) -> bool {
        let is_first = !self.is_behind();
        if is_first {
            self.tick = self.tick_at(self.now);
        }
        is_first
    }

    pub(super) fn pop(&mut self) -> Option<ConnectionId> {
        self.entries.pop(self.tick)
    }

    /// Whether that connection's deadline is over. If it was moved, it is put back.
    pub(super) fn is_due(&mut self, id: ConnectionId, deadline: &mut Deadline) -> bool {
        if deadline.scheduled == 0 || deadline.scheduled > self.tick {
            return false;
        }
        deadline.scheduled = 0;
        if deadline.due > self.tick {
            self.schedule(id, deadline);
            return false;
        }
        std::mem::take(&mut deadline.due) != 0
    }

    pub(super) fn is_behind(&self) -> bool {
        self.entries.next().is_some_and(|tick| tick <= self.tick)
    }

    pub(super) fn retry_later(&mut self, id: ConnectionId) {
        self.retries.push(self.now + RETRY, id);
    }

    pub(super) fn pop_retry(&mut self) -> Option<ConnectionId> {
        self.retries.pop(self.now)
    }

    /// Until when the reactor can sleep; `None`: without limit.
    pub(super) fn next(&self) -> Option<Instant> {
        let time_of = |tick| Duration::from_millis(tick * TICK.as_millis() as u64);
        let first = self.entries.next().and_then(|tick| self.start.checked_add(time_of(tick)));
        [first, self.retries.next()].into_iter().flatten().min()
    }

    fn tick_at(&self, at: Instant) -> u64 {
        (at.saturating_duration_since(self.start).as_millis() / TICK.as_millis()) as u64
    }
}
