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

use crate::reactor::config::STEADY_RATE;
use crate::reactor::connection::id::ConnectionId;

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

impl Unfinished {
    /// `begun` is not later than now, and the same for all reactors of a group.
    pub(in crate::reactor) fn new(budget: usize, begun: Instant) -> Self {
        Self { budget, begun, bytes: 0, messages: HashMap::new(), ranks: BTreeSet::new() }
    }

    /// Whether a single message takes all of the `bytes` of the group: it makes room for nobody.
    pub(in crate::reactor) fn is_alone(&self, bytes: usize) -> bool {
        self.messages.len() == 1 && self.bytes == bytes
    }

    /// Bytes of all unfinished messages together.
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
    pub(in crate::reactor) fn renew(&mut self, slot: u32, since: Instant) {
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
        (self.second(message.since), Reverse(message.bytes), message.id.slot)
    }

    /// The number of a second, for all reactors of a group.
    pub(in crate::reactor) fn second(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.begun).as_secs()
    }

    /// The message that would be given up: its second, and its slot.
    pub(in crate::reactor) fn oldest(&self) -> Option<(u64, u32)> {
        self.ranks.first().map(|&(second, _, slot)| (second, slot))
    }

    /// Whether nothing is kept.
    #[cfg(test)]
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        self.bytes == 0 && self.messages.is_empty() && self.ranks.is_empty()
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
