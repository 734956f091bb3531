//! Messages that have not come to their end: the memory that they take together, and the
//! connections that may go on when that is too much.
//!
//! Below the mark every connection is read. Above it, connections are read that keep little of a
//! message (`is_heavy`), and some of the others, the oldest message first, until its message is
//! complete; a quarter further up only the first of these. So memory stays as it is but for one
//! message, and all of them are completed in turn. While others wait, a peer that leaves its
//! message lying, or that brings little when it is its turn, loses it: its connection is closed
//! with 1013.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::reactor::config::{SMALL_ALLOWANCE, SMALLEST_READ, TURN_LIMIT, TURN_RATE};
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;

/// Turns at a time: they end one by one, so one without progress must not hold all others up.
pub(in crate::reactor) const TURNS: usize = 64;
/// The number of looks for connections that keep others waiting, within our patience.
pub(in crate::reactor) const LOOKS: u32 = 16;

/// Whether `buffered` bytes of an unfinished message are more than every connection may keep.
fn is_heavy(buffered: usize) -> bool {
    buffered.saturating_add(SMALLEST_READ) > SMALL_ALLOWANCE
}

/// The unfinished messages of all connections of a reactor.
pub(in crate::reactor) struct Unfinished {
    /// Bytes of all unfinished messages.
    bytes: usize,
    mark: usize,
    pub(in crate::reactor) patience: Duration,
    /// Connections with a heavy message, by its age.
    pub(in crate::reactor) heavy: BTreeMap<Age, Heavy>,
    /// The ages of heavy messages, by slot.
    ages: HashMap<u32, Age>,
    /// The number of heavy messages so far.
    count: u64,
    /// Connections of `heavy` that wait for their turn.
    pub(in crate::reactor) waiting: BTreeSet<Age>,
    /// Connections that may go on above the mark, in the order in which they came. At most `TURNS`.
    pub(in crate::reactor) turns: Vec<Turn>,
    /// The time of the next look for messages that are left lying, while others wait.
    pub(in crate::reactor) look_at: Option<Instant>,
}

/// The age: of two messages the older one has the lower.
pub(in crate::reactor) type Age = u64;

pub(in crate::reactor) struct Heavy {
    pub(in crate::reactor) id: ConnectionId,
    /// The time at which `received` had this value first, as of the last look.
    pub(in crate::reactor) since: Instant,
    pub(in crate::reactor) received: u64,
}

pub(in crate::reactor) struct Turn {
    pub(in crate::reactor) id: ConnectionId,
    pub(in crate::reactor) began: Instant,
    /// The bytes that the connection had received when its turn began.
    pub(in crate::reactor) received: u64,
}

impl Unfinished {
    pub(in crate::reactor) fn new(mark: usize, patience: Duration) -> Self {
        Self {
            bytes: 0,
            mark,
            patience,
            heavy: BTreeMap::new(),
            ages: HashMap::new(),
            count: 0,
            waiting: BTreeSet::new(),
            turns: Vec::new(),
            look_at: None,
        }
    }

    /// Bytes of all unfinished messages together.
    #[cfg(test)]
    pub(in crate::reactor) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the connection may keep only a little of a message: there is too much already, and
    /// it is not its turn.
    #[inline]
    pub(in crate::reactor) fn restricts(&self, slot: u32) -> bool {
        self.is_crowded() && !self.has_turn(slot)
    }

    #[cold]
    fn has_turn(&self, slot: u32) -> bool {
        self.turns_now().iter().any(|turn| turn.id.slot == slot)
    }

    /// The connections whose turn it is.
    pub(in crate::reactor) fn turns_now(&self) -> &[Turn] {
        let top = self.mark.saturating_add(self.mark / 4);
        let count = if self.bytes > top { 1 } else { TURNS };
        self.turns.get(..count.min(self.turns.len())).unwrap_or_default()
    }

    /// The time at which the reactor is to run a turn for their sake.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// The connection's unfinished message took `before` bytes and takes `after`; `another`: it is
    /// not the same one.
    #[inline]
    pub(in crate::reactor) fn change(
        &mut self,
        id: ConnectionId,
        (before, after): (usize, usize),
        another: bool,
        (now, received): (Instant, u64),
    ) {
        self.bytes = (self.bytes + after).saturating_sub(before);
        let (was, is) = (is_heavy(before), is_heavy(after));
        if was && (another || !is) {
            self.remove(id);
        }
        if is && (another || !was) {
            self.add(Heavy { id, since: now, received });
        }
    }

    /// The connection is gone, with `before` bytes of an unfinished message.
    pub(in crate::reactor) fn forget(&mut self, id: ConnectionId, before: usize) {
        self.bytes = self.bytes.saturating_sub(before);
        if is_heavy(before) {
            self.remove(id);
        }
    }

    #[cold]
    fn add(&mut self, heavy: Heavy) {
        self.count += 1;
        self.ages.insert(heavy.id.slot, self.count);
        self.heavy.insert(self.count, heavy);
    }

    #[cold]
    fn remove(&mut self, id: ConnectionId) {
        if let Some(age) = self.ages.remove(&id.slot) {
            self.heavy.remove(&age);
            self.waiting.remove(&age);
        }
        self.turns.retain(|turn| turn.id != id);
    }

    /// The connection, whose message is heavy, is not read until it is its turn.
    pub(in crate::reactor) fn wait(&mut self, slot: u32) {
        // A connection that has a turn already waits for those before it.
        if let Some(&age) = self.ages.get(&slot)
            && self.turns.iter().all(|turn| turn.id.slot != slot)
        {
            self.waiting.insert(age);
        }
    }

    /// The connection is read again, or has another shortage.
    #[cold]
    pub(in crate::reactor) fn stop_waiting(&mut self, slot: u32) {
        if let Some(age) = self.ages.get(&slot) {
            self.waiting.remove(age);
        }
    }

    /// The oldest of the connections that wait, which wait no more.
    pub(in crate::reactor) fn next(&mut self) -> Option<ConnectionId> {
        let age = self.waiting.pop_first()?;
        self.heavy.get(&age).map(|heavy| heavy.id)
    }

    /// Whether nothing is kept and no connection waits.
    #[cfg(test)]
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        let Self { bytes, heavy, ages, waiting, turns, .. } = self;
        *bytes == 0 && heavy.is_empty() && ages.is_empty() && waiting.is_empty() && turns.is_empty()
    }

    pub(in crate::reactor) fn is_crowded(&self) -> bool {
        self.bytes > self.mark
    }

    pub(in crate::reactor) fn stop_clock(&mut self, now: Instant) {
        self.look_at = None;
        self.turns.iter_mut().for_each(|turn| turn.began = now);
    }
}

impl Turn {
    /// The time until which its message is to be complete if others wait.
    pub(in crate::reactor) fn end(&self, connection: &Connection, patience: Duration) -> Instant {
        let brought = connection.read.received.saturating_sub(self.received);
        self.began + (patience + Duration::from_secs(brought / TURN_RATE)).min(TURN_LIMIT)
    }
}
