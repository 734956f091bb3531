//! All rings of a reactor: the memory that they can take together, and when their messages expire.
//!
//! Above the budget, compressed forms go first: they can be made again. Then the ring with the
//! oldest last message loses its oldest messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::engine::Prepared;

use super::Topics;
use super::ring::{Kept, Ring};

/// Expired messages are dropped together with those that expire up to this much later, so the
/// reactor does not wake for each. Expired ones are not sent meanwhile.
const SLACK: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Histories {
    pub(super) budget: usize,
    pub(super) used: usize,
    /// Topics by the rank of their rings, oldest last message first.
    ranks: BTreeMap<u64, u32>,
    last_rank: u64,
    /// Topics with messages that have compressed forms, or had some.
    compressed: BTreeSet<u32>,
    /// When each ring is to be checked.
    watched: BTreeSet<(Instant, u32)>,
}

impl Histories {
    pub(super) fn forget(&mut self, topic: u32, ring: &Ring) {
        self.used = self.used.saturating_sub(ring.memory());
        self.ranks.remove(&ring.rank);
        self.compressed.remove(&topic);
        if let Some(at) = ring.watched {
            self.watched.remove(&(at, topic));
        }
    }

    /// The topic has the newest message of all.
    fn promote(&mut self, topic: u32, ring: &mut Ring) {
        self.ranks.remove(&ring.rank);
        self.last_rank += 1;
        ring.rank = self.last_rank;
        self.ranks.insert(ring.rank, topic);
    }

    /// Schedules a check for when the oldest message of a ring has expired.
    fn watch(&mut self, topic: u32, ring: &mut Ring) {
        ring.watched = ring.expires_at().and_then(|at| at.checked_add(SLACK));
        self.watched.extend(ring.watched.map(|at| (at, topic)));
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.watched.first().map(|&(at, _)| at)
    }
}

impl Topics {
    /// Appends a message to a topic's history, at the cost of others if there is no room.
    pub(super) fn remember(&mut self, number: u32, kept: Kept) {
        self.change(number, |ring, histories| {
            if kept.message.has_compressed() {
                histories.compressed.insert(number);
            }
            ring.push(kept);
            histories.promote(number, ring);
            if ring.watched.is_none() {
                histories.watch(number, ring);
            }
        });
        self.make_room();
    }

    /// Replaces a message by the same one, compressed in more ways.
    pub(super) fn replace_kept(&mut self, number: u32, offset: u64, message: Prepared) {
        self.change(number, |ring, histories| {
            ring.replace(offset, message);
            histories.compressed.insert(number);
        });
        self.make_room();
    }

    pub(super) fn set_history_budget(&mut self, bytes: usize) {
        self.histories.budget = bytes;
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.histories.used > self.histories.budget {
            let compressed = self.histories.compressed.first().copied();
            let oldest = || self.histories.ranks.first_key_value().map(|(_, &number)| number);
            let Some(number) = compressed.or_else(oldest) else { return };
            let given = self.change(number, |ring, histories| {
                if compressed.is_none() && !ring.pop() {
                    histories.ranks.remove(&ring.rank);
                } else if compressed.is_some() && !ring.pop_compressed() {
                    histories.compressed.remove(&number);
                }
            });
            if given.is_none() {
                return;
            }
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(&(at, number)) = self.histories.watched.first()
            && at <= now
        {
            self.histories.watched.pop_first();
            self.change(number, |ring, histories| {
                ring.expire(now);
                histories.watch(number, ring);
            });
        }
    }

    pub(super) fn expire_one(&mut self, number: u32, now: Instant) {
        self.change(number, |ring, _| ring.expire(now));
    }

    pub(super) fn restart(&mut self, number: u32, top: u64) {
        self.change(number, |ring, _| ring.restart(top));
    }

    /// Changes a topic's ring, and recounts its memory. `None`: it has none.
    fn change<T>(&mut self, number: u32, change: impl FnOnce(&mut Ring, &mut Histories) -> T) -> Option<T> {
        let Self { topics, histories, .. } = self;
        let ring = topics.get_mut(&number)?.ring.as_deref_mut()?;
        let before = ring.memory();
        let changed = change(ring, histories);
        histories.used = histories.used.saturating_sub(before).saturating_add(ring.memory());
        Some(changed)
    }
}
