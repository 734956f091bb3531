//! Messages that have not come to their end, and the memory that they take together.
//!
//! All reactors of a group share a budget. Above it the message is given up that is furthest
//! behind: its connection is closed with 1013. A message is as new as its first byte. As time
//! passes it grows old, unless it goes on: 64 KiB make it a second newer. So a peer that leaves its
//! message lying, or trickles, loses it before one that uploads, and before one that has just
//! begun. Of messages that are equally old, to the second, the longest is given up: a short one
//! that goes on gets through, however many others do.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::engine::ErrorKind;

use crate::reactor::Reactor;
use crate::reactor::config::STEADY_RATE;
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::read::frames::{finish_if_complete, report_error};

/// The unfinished messages of a reactor.
pub(in crate::reactor) struct Unfinished {
    pub(in crate::reactor) budget: usize,
    /// The beginning of time, for all reactors of a group.
    begun: Instant,
    bytes: usize,
    /// By slots; empty without a budget.
    messages: HashMap<u32, Unended>,
    /// The same, in the order in which they are given up.
    ranks: BTreeSet<Rank>,
}

pub(in crate::reactor) struct Unended {
    id: ConnectionId,
    bytes: usize,
    /// The time at which a message would have begun that is as old.
    since: Instant,
}

/// The second of `since`, bytes, and slot.
type Rank = (u64, Reverse<usize>, u32);

/// Whether unfinished messages take too much.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::reactor) enum Excess {
    None,
    /// One of this reactor is to be given up.
    Own,
    /// One of another reactor is.
    Elsewhere,
}

impl Unfinished {
    /// `begun` is not later than now, and the same for all reactors of a group.
    pub(in crate::reactor) fn new(budget: usize, begun: Instant) -> Self {
        Self { budget, begun, bytes: 0, messages: HashMap::new(), ranks: BTreeSet::new() }
    }

    /// Bytes of all unfinished messages together.
    #[cfg(test)]
    pub(in crate::reactor) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The connection's message takes `bytes`, now that `len` have come from the peer. `another`:
    /// they may have ended the message before it.
    #[inline]
    pub(in crate::reactor) fn set(
        &mut self,
        id: ConnectionId,
        bytes: usize,
        (len, another): (usize, bool),
        now: Instant,
    ) {
        // Most messages come in one read.
        if bytes > 0 || !self.messages.is_empty() {
            self.change(id, bytes, (len, another), now);
        }
    }

    #[inline(never)]
    fn change(&mut self, id: ConnectionId, bytes: usize, (len, another): (usize, bool), now: Instant) {
        let before = self.forget(id.slot).filter(|_| !another);
        if bytes > 0 && self.budget < usize::MAX {
            let newer = Duration::from_nanos(len as u64 * 1_000_000_000 / STEADY_RATE);
            let since = before.map_or(now, |before| now.min(before.since + newer));
            self.add(Unended { id, bytes, since });
        }
    }

    /// Makes a message as new as one that begins at `since`.
    fn renew(&mut self, slot: u32, since: Instant) {
        if let Some(message) = self.forget(slot) {
            self.add(Unended { since, ..message });
        }
    }

    fn add(&mut self, message: Unended) {
        self.bytes += message.bytes;
        self.ranks.insert(self.rank(&message));
        self.messages.insert(message.id.slot, message);
    }

    /// The connection has no unfinished message, or is gone.
    pub(in crate::reactor) fn forget(&mut self, slot: u32) -> Option<Unended> {
        let message = self.messages.remove(&slot)?;
        self.bytes -= message.bytes;
        self.ranks.remove(&self.rank(&message));
        Some(message)
    }

    fn rank(&self, message: &Unended) -> Rank {
        let since = message.since.saturating_duration_since(self.begun).as_secs();
        (since, Reverse(message.bytes), message.id.slot)
    }

    /// Whether nothing is kept.
    #[cfg(test)]
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        self.bytes == 0 && self.messages.is_empty() && self.ranks.is_empty()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Whether the unfinished messages of all reactors take too much.
    pub(in crate::reactor) fn excess(&self) -> Excess {
        let Unfinished { budget, ranks, .. } = &self.work.unfinished;
        if ranks.is_empty() {
            return Excess::None;
        }
        let (bytes, is_own) = self.seat.unfinished();
        if bytes <= *budget {
            Excess::None
        } else if is_own {
            Excess::Own
        } else {
            Excess::Elsewhere
        }
    }

    /// Gives messages up until the rest is within the budget.
    pub(in crate::reactor) fn give_up_unfinished(&mut self) {
        loop {
            let Unfinished { bytes, ranks, begun, .. } = &self.work.unfinished;
            let first = ranks.first().copied();
            self.seat.note_unfinished(*bytes, first.map_or(u64::MAX, |(since, ..)| since));
            let Some((since, _, slot)) = first else { return };
            match self.excess() {
                Excess::None => return,
                Excess::Elsewhere => return self.seat.wake_others(),
                Excess::Own => {}
            }
            let now = self.work.now;
            let is_new = since >= now.saturating_duration_since(*begun).as_secs();
            if !is_new && self.is_held_back(slot) {
                self.work.unfinished.renew(slot, now);
            } else {
                self.give_up_message(slot);
            }
        }
    }

    /// Whether the connection is not read, so that its message cannot go on.
    fn is_held_back(&mut self, slot: u32) -> bool {
        let waits = self.work.paced.waits(slot);
        self.connections
            .get_mut(slot)
            .is_some_and(|Connection { read, .. }| waits || read.paused || read.starved.is_some())
    }

    fn give_up_message(&mut self, slot: u32) {
        // The reports about the connection belong to no read under way.
        self.consumer.on_turn_end();
        self.guarded(slot, |reactor| {
            reactor.work.unfinished.forget(slot);
            let Some((mut session, consumer)) = reactor.session(slot) else { return };
            let error = session.connection.engine.refuse(ErrorKind::Unfinished);
            if session.is_open() {
                report_error(consumer, &mut session, error);
                finish_if_complete(&mut session);
                // Later bytes are thrown away.
                session.want_read();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn id(slot: u32) -> ConnectionId {
        ConnectionId { slot, generation: 1 }
    }

    /// The slots in the order in which their messages are given up.
    fn order(unfinished: &Unfinished) -> Vec<u32> {
        unfinished.ranks.iter().map(|rank| rank.2).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn messages_grow_old_unless_they_go_on() {
        let begun = Instant::now();
        let mut unfinished = Unfinished::new(1, begun);
        let rate = STEADY_RATE as usize;
        for slot in 0..4 {
            unfinished.set(id(slot), 1000, (1000, false), begun);
        }
        for second in 1..=10 {
            let now = begun + second * 1000 * MILLISECOND;
            unfinished.set(id(1), 2000, (1, false), now);
            unfinished.set(id(2), 2000, (rate / 2, false), now);
            unfinished.set(id(3), 3000, (rate, false), now);
        }
        let now = begun + 10_500 * MILLISECOND;
        unfinished.set(id(4), 1000, (1000, false), now);
        // What was left lying and what trickles, the longer one first; what is slow; the longer of
        // two that are as good as new.
        assert_eq!(order(&unfinished), [1, 0, 2, 3, 4]);
        // A burst is no merit for later.
        unfinished.set(id(1), 2000, (1000 * rate, false), now);
        unfinished.set(id(0), 1000, (10, true), now);
        assert_eq!(order(&unfinished), [2, 3, 1, 0, 4]);
        unfinished.set(id(2), 0, (10, true), now);
        unfinished.forget(0);
        unfinished.forget(1);
        assert_eq!((order(&unfinished), unfinished.bytes()), (vec![3, 4], 4000));
        (3..5).for_each(|slot| unfinished.set(id(slot), 0, (1, true), now));
        assert!(unfinished.is_nothing());
    }
}
