//! Messages that have not come to their end: what they take together, and who may go on when it is too much.
//!
//! Below the mark everybody is read. Above it those are who keep little of a message (`is_heavy`), and some of the others, the
//! oldest message first, until theirs is complete; a quarter further up only the first of these. So memory stays where it is
//! but for one message, and all of them are completed in turn. While others wait, a peer that leaves its message lying, or that
//! brings little when it is its turn, loses it: its connection is closed with 1013.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::engine::ErrorKind;

use crate::reactor::Reactor;
use crate::reactor::config::{SERVED_AT_ONCE, SMALL_ALLOWANCE, SMALLEST_READ, TURN_LIMIT, TURN_RATE};
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::read::frames::finish_if_complete;
use crate::reactor::read::half::Lack;

/// Turns at a time: they end one by one, so one that comes to nothing must not hold all others up.
const TURNS: usize = 64;
/// How often to look for those who keep others waiting while our patience lasts.
const LOOKS: u32 = 16;

/// Whether so many bytes of an unfinished message are more than everybody may keep.
fn is_heavy(buffered: usize) -> bool {
    buffered.saturating_add(SMALLEST_READ) > SMALL_ALLOWANCE
}

/// The unfinished messages of all connections of a reactor.
pub(in crate::reactor) struct Unfinished {
    /// What they take.
    bytes: usize,
    mark: usize,
    patience: Duration,
    /// Connections with a heavy one, by its age.
    heavy: BTreeMap<Age, Heavy>,
    /// The ages of those, by slot.
    ages: HashMap<u32, Age>,
    /// How many there have been.
    count: u64,
    /// Those of `heavy` that wait for their turn.
    waiting: BTreeSet<Age>,
    /// Who may go on above the mark, those who were there first in front. At most `TURNS`.
    turns: Vec<Turn>,
    /// When to look again whose message is left lying, while others wait.
    look_at: Option<Instant>,
}

/// Of two messages the older one has the lower.
type Age = u64;

struct Heavy {
    id: ConnectionId,
    /// When `received` was this for the first time, as far as anybody looked.
    since: Instant,
    received: u64,
}

struct Turn {
    id: ConnectionId,
    began: Instant,
    /// What the connection had received when its turn began.
    received: u64,
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

    /// What they take together.
    #[cfg(test)]
    pub(in crate::reactor) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the connection may keep only a little of a message: there is too much already, and it is not its turn.
    #[inline]
    pub(in crate::reactor) fn restricts(&self, slot: u32) -> bool {
        self.is_crowded() && !self.has_turn(slot)
    }

    #[cold]
    fn has_turn(&self, slot: u32) -> bool {
        self.turns_now().iter().any(|turn| turn.id.slot == slot)
    }

    /// Those whose turn it is.
    fn turns_now(&self) -> &[Turn] {
        let top = self.mark.saturating_add(self.mark / 4);
        let count = if self.bytes > top { 1 } else { TURNS };
        self.turns.get(..count.min(self.turns.len())).unwrap_or_default()
    }

    /// When the reactor is to turn next for their sake.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// The connection's unfinished message took `before` bytes and takes `after`; `another`: it is not the same one.
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
        // Who has a turn already waits for those before it.
        if let Some(&age) = self.ages.get(&slot)
            && self.turns.iter().all(|turn| turn.id.slot != slot)
        {
            self.waiting.insert(age);
        }
    }

    /// It is read again, or waits for something else.
    #[cold]
    pub(in crate::reactor) fn stop_waiting(&mut self, slot: u32) {
        if let Some(age) = self.ages.get(&slot) {
            self.waiting.remove(age);
        }
    }

    /// The oldest of those who wait, who wait no more.
    fn next(&mut self) -> Option<ConnectionId> {
        let age = self.waiting.pop_first()?;
        self.heavy.get(&age).map(|heavy| heavy.id)
    }

    fn is_crowded(&self) -> bool {
        self.bytes > self.mark
    }

    fn stop_clock(&mut self, now: Instant) {
        self.look_at = None;
        self.turns.iter_mut().for_each(|turn| turn.began = now);
    }
}

/// What is to be done about those whose messages are heavy.
#[derive(Default)]
struct Findings {
    /// Those whose peers have been silent for longer than our patience.
    silent: Vec<ConnectionId>,
    /// Those who have had their turn for long enough.
    over: Vec<ConnectionId>,
}

impl<C: Consumer> Reactor<C> {
    /// While there is too much: gives some their turn, and closes those who keep others waiting.
    pub(in crate::reactor) fn on_crowd(&mut self) {
        if !self.work.unfinished.is_crowded() {
            return self.disperse();
        }
        let now = self.work.now;
        // Nobody waits for another's message; or for all of them, because the consumer has too much that it has not taken.
        if !self.is_waited_for() || self.consumer.is_pressed() {
            return self.work.unfinished.stop_clock(now);
        }
        if self.work.unfinished.look_at.is_none_or(|at| at <= now) {
            self.look_around(now);
        }
        self.give_turns(now);
    }

    /// It is too much no more: those who waited go on, not many more than have their share of a turn.
    fn disperse(&mut self) {
        self.work.unfinished.look_at = None;
        for turn in std::mem::take(&mut self.work.unfinished.turns) {
            self.on_turn_given(turn.id);
        }
        for _ in 0..SERVED_AT_ONCE {
            let Some(id) = self.work.unfinished.next() else { return };
            self.on_turn_given(id);
        }
    }

    /// The connection may be read, if that is what it has waited for.
    fn on_turn_given(&mut self, id: ConnectionId) {
        if self.connections.get(id).is_some_and(|connection| connection.read.starved == Some(Lack::Turn)) {
            self.feed_again(id.slot);
        }
    }

    /// Whether somebody waits, for a turn or in it.
    fn is_waited_for(&mut self) -> bool {
        let Unfinished { waiting, turns, .. } = &self.work.unfinished;
        let connections = &mut self.connections;
        let waits =
            |turn: &Turn| connections.get(turn.id).is_some_and(|c| c.read.starved == Some(Lack::Turn));
        !waiting.is_empty() || turns.iter().any(waits)
    }

    /// Fills the turns with those who wait, and has those read whose turn it is.
    fn give_turns(&mut self, now: Instant) {
        while self.work.unfinished.turns.len() < TURNS
            && let Some(id) = self.work.unfinished.next()
        {
            let Some(connection) = self.connections.get(id) else { continue };
            let turn = Turn { id, began: now, received: connection.read.received };
            self.work.unfinished.turns.push(turn);
        }
        let ids: Vec<_> = self.work.unfinished.turns_now().iter().map(|turn| turn.id).collect();
        for id in ids {
            self.on_turn_given(id);
        }
    }

    /// Looks at all of them, now and then.
    fn look_around(&mut self, now: Instant) {
        let found = self.find(now);
        for id in found.silent.into_iter().chain(found.over) {
            if self.work.unfinished.is_crowded() {
                self.close_unfinished(id);
            }
        }
        let unfinished = &mut self.work.unfinished;
        unfinished.look_at = Some(now + unfinished.patience / LOOKS);
    }

    fn find(&mut self, now: Instant) -> Findings {
        let mut found = Findings::default();
        let Unfinished { heavy, turns, patience, .. } = &mut self.work.unfinished;
        for Heavy { id, since, received } in heavy.values_mut() {
            let Some(connection) = self.connections.get(*id) else { continue };
            if connection.read.received != *received {
                (*since, *received) = (now, connection.read.received);
            }
            let turn = turns.iter().position(|turn| turn.id == *id);
            if connection.read.paused
                || connection.read.held >= self.config.connection_mark
                || !connection.is_open()
            {
                // Its peer cannot do anything about that.
                turn.map(|at| turns.remove(at));
                continue;
            }
            match turn.and_then(|at| turns.get_mut(at)) {
                // Above the quarter: it is read when those before it are done.
                Some(turn) if connection.read.starved.is_some() => turn.began = now,
                Some(turn) if now >= turn.end(connection, *patience) => found.over.push(*id),
                Some(_) => {}
                None if connection.read.starved.is_some() => {}
                None if !connection.read.state.is_unread() && now - *since >= *patience => {
                    found.silent.push(*id)
                }
                None => {}
            }
        }
        found
    }

    /// Closes a connection whose message nobody can wait for any longer.
    fn close_unfinished(&mut self, id: ConnectionId) {
        // What will be told of it belongs to no read that is under way.
        self.consumer.on_turn_end();
        self.guarded(id.slot, |reactor| {
            let Some((mut session, consumer)) = reactor.session(id.slot) else { return };
            let before = session.connection.engine.buffered();
            let error = session.connection.engine.refuse(ErrorKind::Unfinished);
            session.work.unfinished.forget(id, before);
            consumer.on_error(&mut session, error);
            finish_if_complete(&mut session);
            // What else comes is thrown away.
            session.want_read();
        });
    }
}

impl Turn {
    /// Until when its message is to be complete if others wait.
    fn end(&self, connection: &Connection, patience: Duration) -> Instant {
        let brought = connection.read.received.saturating_sub(self.received);
        self.began + (patience + Duration::from_secs(brought / TURN_RATE)).min(TURN_LIMIT)
    }
}
