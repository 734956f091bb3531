//! Deadlines of all connections in one timing wheel: arming and re-arming is a store, no allocation
//! per timer.
//!
//! A connection has at most one live entry in the wheel. Moving its deadline later costs nothing:
//! the entry fires at the old time, sees the new deadline and is put back. Moving it earlier adds
//! an entry; the old one is then stale.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::reactor::connection::id::ConnectionId;

/// One tick of the wheel. Deadlines are kept to within one tick, always late, never early.
const TICK: Duration = Duration::from_millis(16);
const BUCKETS: usize = 1024;
/// The time after which a call is made again for which the kernel had no memory.
const RETRY: Duration = Duration::from_millis(5);

/// A connection's deadline in ticks, and the tick at which the wheel will look at it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Deadline {
    due: u64,
    scheduled: u64,
}

impl Deadline {
    /// Cancels the deadline; the wheel's entry becomes stale.
    pub(super) fn clear(&mut self) {
        self.due = 0;
    }
}

/// The clock of a reactor, and what is due by it.
pub(super) struct Timers {
    now: Instant,
    wheel: Wheel,
    /// Connections whose deadline may have come, not looked at before everything is read that had
    /// arrived by then.
    expired: VecDeque<ConnectionId>,
    /// Sockets for which the kernel had no memory, and when the call is made again. That is over
    /// soon, and no event says so: libuv tries again a little later, too.
    retries: Vec<ConnectionId>,
    retry_at: Option<Instant>,
}

impl Timers {
    pub(super) fn new(now: Instant) -> Self {
        let (wheel, expired, retries) = (Wheel::new(now), VecDeque::new(), Vec::new());
        Self { now, wheel, expired, retries, retry_at: None }
    }

    #[inline]
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn begin_turn(&mut self) {
        self.now = Instant::now();
    }

    /// Sets `deadline` to `after` from now.
    #[inline]
    pub(super) fn arm(&mut self, id: ConnectionId, deadline: &mut Deadline, after: Duration) {
        self.wheel.arm(id, deadline, self.now, after);
    }

    /// Takes the deadlines off the wheel that may have come. False: there are still some.
    pub(super) fn expire(&mut self) -> bool {
        let is_first = self.expired.is_empty();
        if is_first {
            self.wheel.expire(self.now, &mut self.expired);
        }
        is_first
    }

    pub(super) fn pop(&mut self) -> Option<ConnectionId> {
        self.expired.pop_front()
    }

    pub(super) fn has_come(&mut self, id: ConnectionId, deadline: &mut Deadline) -> bool {
        matches!(self.wheel.fire(id, deadline), Fired::Due)
    }

    /// Whether some deadlines that may have come were not looked at.
    pub(super) fn is_behind(&self) -> bool {
        !self.expired.is_empty()
    }

    /// The kernel had no memory for a socket.
    pub(super) fn retry_later(&mut self, id: ConnectionId) {
        self.retries.push(id);
        self.retry_at.get_or_insert(self.now + RETRY);
    }

    /// The sockets for which the call is to be made again now.
    pub(super) fn take_retries(&mut self) -> Vec<ConnectionId> {
        match self.retry_at.take_if(|at| *at <= self.now) {
            Some(_) => std::mem::take(&mut self.retries),
            None => Vec::new(),
        }
    }

    /// The time until which the reactor may sleep; `None`: without limit.
    pub(super) fn next(&self) -> Option<Instant> {
        [self.wheel.next(), self.retry_at].into_iter().flatten().min()
    }

    /// That much time goes by.
    #[cfg(test)]
    pub(super) fn go_by(&mut self, time: Duration) {
        self.wheel.start -= time;
    }
}

/// The meaning of an entry whose tick has come.
enum Fired {
    /// The deadline was cancelled or moved: nothing to do.
    Stale,
    /// The deadline has passed.
    Due,
}

struct Wheel {
    start: Instant,
    /// The last tick that was handled.
    tick: u64,
    buckets: Vec<Vec<ConnectionId>>,
    entries: usize,
    /// No entry is scheduled before this tick.
    earliest: u64,
}

impl Wheel {
    fn new(now: Instant) -> Self {
        Self {
            start: now,
            tick: 0,
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            entries: 0,
            earliest: u64::MAX,
        }
    }

    /// Sets `deadline` to `after` from `now`.
    fn arm(&mut self, id: ConnectionId, deadline: &mut Deadline, now: Instant, after: Duration) {
        // A time too long for the clock means never.
        let due = now.checked_add(after).map_or(u64::MAX, |at| self.tick_at(at) + 1);
        deadline.due = due;
        if deadline.scheduled == 0 || deadline.scheduled > due {
            self.schedule(id, deadline);
        }
    }

    /// The time until which the reactor may sleep; `None`: without limit.
    fn next(&self) -> Option<Instant> {
        if self.entries == 0 {
            return None;
        }
        self.start.checked_add(Duration::from_millis(self.earliest.saturating_mul(TICK.as_millis() as u64)))
    }

    /// Moves the entries whose tick has come to the end of `out`.
    fn expire(&mut self, now: Instant, out: &mut VecDeque<ConnectionId>) {
        if self.entries == 0 {
            return;
        }
        let reached = self.tick_at(now);
        if reached < self.earliest {
            return;
        }
        let from = self.tick.max(self.earliest.saturating_sub(1));
        let to = reached.min(from + BUCKETS as u64);
        for tick in from + 1..=to {
            let bucket = &mut self.buckets[(tick % BUCKETS as u64) as usize];
            self.entries -= bucket.len();
            out.extend(bucket.drain(..));
        }
        self.tick = reached;
        self.earliest = self.next_occupied();
    }

    /// Called for each expired entry with its connection's deadline; puts it back when it is not
    /// due yet.
    fn fire(&mut self, id: ConnectionId, deadline: &mut Deadline) -> Fired {
        if deadline.scheduled > self.tick || deadline.scheduled == 0 {
            return Fired::Stale;
        }
        deadline.scheduled = 0;
        if deadline.due == 0 {
            return Fired::Stale;
        }
        if deadline.due > self.tick {
            self.schedule(id, deadline);
            return Fired::Stale;
        }
        deadline.due = 0;
        Fired::Due
    }

    fn schedule(&mut self, id: ConnectionId, deadline: &mut Deadline) {
        // An entry may not lie a whole turn of the wheel ahead: it would be found one turn early
        // anyway.
        let at = deadline.due.clamp(self.tick + 1, self.tick + BUCKETS as u64 - 1);
        deadline.scheduled = at;
        self.buckets[(at % BUCKETS as u64) as usize].push(id);
        self.entries += 1;
        self.earliest = self.earliest.min(at);
    }

    fn next_occupied(&self) -> u64 {
        if self.entries == 0 {
            return u64::MAX;
        }
        (self.tick + 1..=self.tick + BUCKETS as u64)
            .find(|tick| !self.buckets[(tick % BUCKETS as u64) as usize].is_empty())
            .unwrap_or(u64::MAX)
    }

    fn tick_at(&self, at: Instant) -> u64 {
        (at.saturating_duration_since(self.start).as_millis() / TICK.as_millis()) as u64
    }
}
