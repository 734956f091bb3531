//! Unfinished messages, and the memory that they take together.
//!
//! All reactors of a group share a budget. Above it, the oldest message is given up: its connection is
//! closed with 1013. A message ages from its first byte; each 8 KiB received makes it one second
//! younger. So a peer that trickles loses its message before one that uploads or has just begun.
//! Among messages of the same age in seconds, the longest is given up; messages of this second and of
//! the `PAUSE` before are equally old. So a short message that continues gets through, however many
//! others do, even if its line or its machine stands still in between.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::engine::{ErrorKind, Event};

use super::frames::finish_if_complete;
use crate::reactor::config::{PAUSE, SERVED_AT_ONCE, STEADY_RATE};
use crate::reactor::read::Reader;
use crate::reactor::{Conn, ConnectionId, Consumer, Reactor};

pub(super) struct Unfinished {
    pub(super) budget: usize,
    /// The beginning of time, for all reactors of a group.
    begun: Instant,
    pub(super) bytes: usize,
    /// By slots; empty without a budget.
    messages: HashMap<u32, PartialMessage>,
    /// Messages in the order in which they are given up.
    ranks: BTreeSet<Rank>,
}

pub(super) struct PartialMessage {
    id: ConnectionId,
    bytes: usize,
    /// When a message that is as old would have begun.
    since: Instant,
}

/// The second of `since`, bytes, and slot.
type Rank = (u64, Reverse<usize>, u32);

impl Unfinished {
    /// `begun` is not later than now, and the same for all reactors of a group.
    pub(super) fn new(budget: usize, begun: Instant) -> Self {
        Self { budget, begun, bytes: 0, messages: HashMap::new(), ranks: BTreeSet::new() }
    }

    /// Whether a single message takes all `bytes` of the group: giving it up would make room for
    /// no other.
    pub(super) fn is_alone(&self, bytes: usize) -> bool {
        self.messages.len() == 1 && self.bytes == bytes
    }

    /// The connection's message takes `bytes`, after `len` came from the peer. `another`: the
    /// message before it might have ended in them.
    #[inline]
    pub(super) fn set(
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
            self.add(PartialMessage { id, bytes, since });
        }
    }

    /// Makes a message as new as one that begins at `since`.
    fn renew(&mut self, slot: u32, since: Instant) {
        if let Some(message) = self.forget(slot) {
            self.add(PartialMessage { since, ..message });
        }
    }

    fn add(&mut self, message: PartialMessage) {
        self.bytes += message.bytes;
        self.ranks.insert(self.rank(&message));
        self.messages.insert(message.id.slot, message);
    }

    /// The message is complete, or the connection has ended.
    pub(super) fn forget(&mut self, slot: u32) -> Option<PartialMessage> {
        let message = self.messages.remove(&slot)?;
        self.bytes -= message.bytes;
        self.ranks.remove(&self.rank(&message));
        Some(message)
    }

    fn rank(&self, message: &PartialMessage) -> Rank {
        (self.second(message.since), Reverse(message.bytes), message.id.slot)
    }

    /// The number of a second, for all reactors of a group.
    fn second(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.begun).as_secs()
    }

    /// The message that would be given up: a rank that reactors compare (its second, and 32 bits
    /// that are smaller for a longer one), and its slot.
    fn slowest(&self, now: Instant) -> Option<(u64, u32)> {
        let new = self.new_since(now);
        let first = self.ranks.first()?;
        let longest = |second| self.ranks.range((second, Reverse(usize::MAX), 0)..).next();
        let longest = (new..=self.second(now)).filter_map(longest).min_by_key(|rank| rank.1);
        let &(second, Reverse(bytes), slot) = longest.filter(|_| first.0 >= new).unwrap_or(first);
        let brevity = u32::MAX - u32::try_from(bytes).unwrap_or(u32::MAX);
        Some((second.min(new) << 32 | u64::from(brevity), slot))
    }

    /// Messages since this second are equally new.
    fn new_since(&self, now: Instant) -> u64 {
        self.second(now).saturating_sub(PAUSE)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Excess {
    None,
    /// One of this reactor's is to be given up.
    Own,
    /// One of another reactor's is to be given up.
    Elsewhere,
}

impl Reader {
    /// `in_group`: bytes of all reactors' unfinished messages, and whether this one has the message
    /// that would be given up.
    pub(super) fn excess(&self, now: Instant, in_group: impl FnOnce(u64) -> (usize, bool)) -> Excess {
        let unfinished = &self.unfinished;
        if unfinished.messages.is_empty() {
            return Excess::None;
        }
        let (bytes, is_own) = in_group(unfinished.new_since(now));
        if bytes <= unfinished.budget || unfinished.is_alone(bytes) {
            Excess::None
        } else if is_own {
            Excess::Own
        } else {
            Excess::Elsewhere
        }
    }
}

impl<C: Consumer> Reactor<C> {
    /// Gives messages up until the rest is within the budget, a few in one turn.
    pub(in crate::reactor) fn give_up_unfinished(&mut self) {
        for _ in 0..SERVED_AT_ONCE {
            let unfinished = &self.reader.unfinished;
            let behind = unfinished.slowest(self.timers.now());
            self.shard.note_unfinished(unfinished.bytes, behind.map_or(u64::MAX, |(rank, _)| rank));
            let Some((rank, slot)) = behind else { return };
            let is_new = rank >> 32 >= unfinished.new_since(self.timers.now());
            match self.reader.excess(self.timers.now(), |new| self.shard.unfinished(new)) {
                Excess::None => return,
                Excess::Elsewhere => return self.shard.wake_others(),
                Excess::Own => {}
            }
            self.step_at(slot, |conn, consumer| {
                if !is_new && conn.is_held_back() {
                    conn.reader.unfinished.renew(slot, conn.timers.now());
                } else {
                    conn.give_up_message(consumer);
                }
            });
        }
    }
}

impl Conn<'_> {
    /// Whether the connection is not read, so its message cannot go on.
    fn is_held_back(&self) -> bool {
        let read = &self.state.read;
        self.reader.rate_limiter.waits(self.id.slot) || read.paused || read.blocked_on.is_some()
    }

    fn give_up_message<C: Consumer>(&mut self, consumer: &mut C) {
        // The reports about the connection are outside of any read.
        consumer.on_turn_end();
        self.reader.unfinished.forget(self.id.slot);
        let error = self.state.engine.refuse(ErrorKind::Unfinished);
        if self.is_open() {
            consumer.on_event(self, Event::Error(error));
            finish_if_complete(self);
            // Later bytes are thrown away.
            self.want_read();
        }
    }
}
