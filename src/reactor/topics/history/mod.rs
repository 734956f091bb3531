//! All rings of a reactor: the memory that they may take together, and the times at which messages
//! in them expire.
//!
//! Above the budget, compressed forms go first: they can be made again. Then the ring with the
//! oldest last message gives way, its oldest messages first.

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
    /// Topics with messages that have compressed forms, or had some.
    compressed: BTreeSet<u32>,
    /// The time at which each ring is to be checked.
    watched: BTreeSet<(Instant, u32)>,
}

/// What a topic is to give up.
#[derive(Clone, Copy)]
pub(in crate::reactor) enum Due {
    /// The compressed forms of a message.
    Compressed(u32),
    /// Its oldest message.
    Message(u32),
}

impl Histories {
    pub(in crate::reactor) fn new(budget: usize) -> Self {
        Self {
            budget,
            used: 0,
            ranks: BTreeMap::new(),
            next_rank: 1,
            compressed: BTreeSet::new(),
            watched: BTreeSet::new(),
        }
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

    /// The topic that is to give something up, while all together take too much.
    pub(in crate::reactor) fn to_give(&self) -> Option<Due> {
        if self.used <= self.budget {
            return None;
        }
        let compressed = self.compressed.first().map(|&topic| Due::Compressed(topic));
        compressed.or_else(|| self.ranks.first_key_value().map(|(_, &topic)| Due::Message(topic)))
    }

    /// A message of a topic has got compressed forms, or, with false, none of its messages has any.
    pub(in crate::reactor) fn has_compressed(&mut self, topic: u32, any: bool) {
        if any {
            self.compressed.insert(topic);
        } else {
            self.compressed.remove(&topic);
        }
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
