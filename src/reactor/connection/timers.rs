//! Deadlines of all connections in one timing wheel: arming and re-arming is a store, no allocation
//! per timer.
//!
//! A connection has at most one live entry in the wheel. Moving its deadline later costs nothing:
//! the entry fires at the old time, sees the new deadline and is put back. Moving it earlier adds
//! an entry; the old one is then stale.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::reactor::connection::id::ConnectionId;

/// One tick of the wheel. Deadlines are kept to within one tick, always late, never early.
const TICK: Duration = Duration::from_millis(16);
const BUCKETS: usize = 1024;

/// A connection's deadline in ticks, and the tick at which the wheel will look at it.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::reactor) struct Deadline {
    due: u64,
    scheduled: u64,
}

impl Deadline {
    /// Cancels the deadline; the wheel's entry becomes stale.
    pub(in crate::reactor) fn clear(&mut self) {
        self.due = 0;
    }
}

/// The meaning of an entry whose tick has come.
pub(in crate::reactor) enum Fired {
    /// The deadline was cancelled or moved: nothing to do.
    Stale,
    /// The deadline has passed.
    Due,
}

pub(in crate::reactor) struct Timers {
    start: Instant,
    /// The last tick that was handled.
    tick: u64,
    buckets: Vec<Vec<ConnectionId>>,
    entries: usize,
    /// No entry is scheduled before this tick.
    earliest: u64,
}

impl Timers {
    pub(in crate::reactor) fn new(now: Instant) -> Self {
        Self {
            start: now,
            tick: 0,
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            entries: 0,
            earliest: u64::MAX,
        }
    }

    /// Sets `deadline` to `after` from `now`.
    pub(in crate::reactor) fn arm(
        &mut self,
        id: ConnectionId,
        deadline: &mut Deadline,
        now: Instant,
        after: Duration,
    ) {
        // A time too long for the clock means never.
        let due = now.checked_add(after).map_or(u64::MAX, |at| self.tick_at(at) + 1);
        deadline.due = due;
        if deadline.scheduled == 0 || deadline.scheduled > due {
            self.schedule(id, deadline);
        }
    }

    /// The time until which the reactor may sleep; `None`: without limit.
    pub(in crate::reactor) fn next(&self) -> Option<Instant> {
        if self.entries == 0 {
            return None;
        }
        self.start.checked_add(Duration::from_millis(self.earliest.saturating_mul(TICK.as_millis() as u64)))
    }

    /// Moves the entries whose tick has come to the end of `out`.
    pub(in crate::reactor) fn expire(&mut self, now: Instant, out: &mut VecDeque<ConnectionId>) {
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
    pub(in crate::reactor) fn fire(&mut self, id: ConnectionId, deadline: &mut Deadline) -> Fired {
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

    /// That much time goes by.
    #[cfg(test)]
    pub(in crate::reactor) fn go_by(&mut self, time: Duration) {
        self.start -= time;
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ConnectionId = ConnectionId { slot: 7, generation: 1 };

    fn due(timers: &mut Timers, deadline: &mut Deadline, now: Instant) -> usize {
        let mut out = VecDeque::new();
        timers.expire(now, &mut out);
        out.into_iter().filter(|&id| matches!(timers.fire(id, deadline), Fired::Due)).count()
    }

    /// P06.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn fires_once_never_early_and_sleeps_for_ever_afterwards() {
        let t0 = Instant::now();
        let mut timers = Timers::new(t0);
        let mut deadline = Deadline::default();
        assert_eq!(timers.next(), None);
        timers.arm(ID, &mut deadline, t0, Duration::from_millis(100));
        let sleep = timers.next().unwrap() - t0;
        assert!(sleep >= Duration::from_millis(100) && sleep <= Duration::from_millis(140), "{sleep:?}");
        assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_millis(99)), 0);
        assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_millis(140)), 1);
        assert_eq!(timers.next(), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn a_deadline_moved_later_or_earlier_or_taken_back_is_kept() {
        let t0 = Instant::now();
        let ms = Duration::from_millis;
        let mut timers = Timers::new(t0);
        let mut deadline = Deadline::default();
        timers.arm(ID, &mut deadline, t0, ms(100));
        timers.arm(ID, &mut deadline, t0 + ms(50), ms(40_000));
        assert_eq!(due(&mut timers, &mut deadline, t0 + ms(150)), 0);
        timers.arm(ID, &mut deadline, t0 + ms(200), ms(100));
        assert_eq!(due(&mut timers, &mut deadline, t0 + ms(340)), 1);
        timers.arm(ID, &mut deadline, t0 + ms(400), ms(100));
        deadline.clear();
        assert_eq!(due(&mut timers, &mut deadline, t0 + ms(90_000)), 0);
        assert_eq!(timers.next(), None);
    }

    /// P06.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn a_deadline_beyond_the_wheel_and_a_long_stop_of_the_process_are_survived() {
        let t0 = Instant::now();
        let mut timers = Timers::new(t0);
        let mut deadline = Deadline::default();
        timers.arm(ID, &mut deadline, t0, Duration::from_secs(60));
        let mut fired = 0;
        for second in 1..=59 {
            fired += due(&mut timers, &mut deadline, t0 + Duration::from_secs(second));
        }
        assert_eq!(fired, 0);
        assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_secs(3600)), 1);
    }

    /// R16: each of as many deadlines as there may be costs little, and fires once.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn a_hundred_thousand_deadlines_in_one_tick() {
        let t0 = Instant::now();
        let mut timers = Timers::new(t0);
        let mut deadlines: Vec<_> = (0..100_000).map(|_| Deadline::default()).collect();
        for (slot, deadline) in (0..).zip(&mut deadlines) {
            timers.arm(ConnectionId { slot, generation: 1 }, deadline, t0, Duration::from_secs(1));
        }
        let mut out = VecDeque::new();
        timers.expire(t0 + Duration::from_secs(2), &mut out);
        for (slot, id) in (0..).zip(&out) {
            assert_eq!(id.slot, slot);
            assert!(matches!(timers.fire(*id, &mut deadlines[slot as usize]), Fired::Due));
        }
        assert_eq!((out.len(), timers.next()), (100_000, None));
    }
}
