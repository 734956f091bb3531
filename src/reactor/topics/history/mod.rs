//! All rings of a reactor: the memory that they may take together, and the times at which messages
//! in them expire.
//!
//! Above the budget, the ring with the oldest last message gives way, its oldest messages first.

pub(in crate::reactor) mod remember;
pub(in crate::reactor) mod ring;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Expired messages of a ring are dropped together with those that expire up to this much later, so
/// that the reactor does not wake for each. An expired one is not sent in between. 1 s.
const SLACK: Duration = Duration::from_secs(1);

/// The state that rings have in common.
pub(in crate::reactor) struct Histories {
    /// Bytes of memory that they may take.
    pub(in crate::reactor) budget: usize,
    /// Bytes that they take.
    pub(in crate::reactor) used: usize,
    /// Topics by the rank of their rings, the ring with the oldest last message first.
    ranks: BTreeMap<u64, u32>,
    next_rank: u64,
    /// The time at which each ring is to be checked.
    watched: BTreeSet<(Instant, u32)>,
}

impl Histories {
    pub(in crate::reactor) fn new(budget: usize) -> Self {
        Self { budget, used: 0, ranks: BTreeMap::new(), next_rank: 1, watched: BTreeSet::new() }
    }

    /// The topic has the last message of all: exchanges its rank for a new one.
    pub(in crate::reactor) fn promote(&mut self, topic: u32, rank: u64) -> u64 {
        self.forget(rank);
        let rank = self.next_rank;
        self.next_rank += 1;
        self.ranks.insert(rank, topic);
        rank
    }

    /// The ring of this rank has no messages to give up.
    pub(in crate::reactor) fn forget(&mut self, rank: u64) {
        self.ranks.remove(&rank);
    }

    /// The topic that is to give up messages, while all together take too much.
    pub(in crate::reactor) fn to_give(&self) -> Option<u32> {
        if self.used <= self.budget {
            return None;
        }
        self.ranks.first_key_value().map(|(_, &topic)| topic)
    }

    /// The memory of a ring has changed.
    pub(in crate::reactor) fn changed(&mut self, before: usize, now: usize) {
        self.used = self.used.saturating_sub(before).saturating_add(now);
    }

    /// Schedules a check of a topic's ring for when its oldest message has expired. Returns that
    /// time.
    pub(in crate::reactor) fn watch(&mut self, topic: u32, expires_at: Instant) -> Option<Instant> {
        let at = expires_at.checked_add(SLACK)?;
        self.watched.insert((at, topic));
        Some(at)
    }

    /// The ring of a topic that was to be checked is gone.
    pub(in crate::reactor) fn unwatch(&mut self, topic: u32, at: Instant) {
        self.watched.remove(&(at, topic));
    }

    /// A topic whose ring is due for a check.
    pub(in crate::reactor) fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let &(at, topic) = self.watched.first()?;
        if at > now {
            return None;
        }
        self.watched.pop_first();
        Some(topic)
    }

    /// The time at which the next check is due.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        self.watched.first().map(|&(at, _)| at)
    }
}
