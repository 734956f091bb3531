//! Messages that have not come to their end: what they take together, and who may go on when it is too much.
//!
//! Below the mark everybody is read. Above it those are who keep little of a message (`is_heavy`), and some of the others, the
//! oldest message first, until theirs is complete; a quarter further up only the first of these. So memory stays where it is
//! but for one message, and all of them are completed in turn. While others wait, a peer that leaves its message lying, or that
//! brings little when it is its turn, loses it: its connection is closed with 1013.

use std::time::{Duration, Instant};

use crate::engine::ErrorKind;

use super::Reactor;
use super::config::{SMALL_ALLOWANCE, SMALLEST_READ, TURN_LIMIT, TURN_RATE};
use super::connection::Connection;
use super::connections::ConnectionId;
use super::consumer::Consumer;
use super::frames::finish_if_complete;

/// Turns at a time: they end one by one, so one that comes to nothing must not hold all others up.
const TURNS: usize = 64;
/// How often to look for those who keep others waiting while our patience lasts.
const LOOKS: u32 = 16;

/// Whether so many bytes of an unfinished message are more than everybody may keep.
fn is_heavy(buffered: usize) -> bool {
    buffered.saturating_add(SMALLEST_READ) > SMALL_ALLOWANCE
}

/// The unfinished messages of all connections of a reactor.
pub(super) struct Unfinished {
    /// What they take.
    bytes: usize,
    mark: usize,
    patience: Duration,
    /// Connections with a heavy one, the oldest message first.
    heavy: Vec<Heavy>,
    /// Who may go on above the mark, those who were there first in front. At most `TURNS`.
    turns: Vec<Turn>,
    /// When to look again whose message is left lying, while others wait.
    look_at: Option<Instant>,
}

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
    pub(super) fn new(mark: usize, patience: Duration) -> Self {
        Self { bytes: 0, mark, patience, heavy: Vec::new(), turns: Vec::new(), look_at: None }
    }

    /// What they take together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the connection may keep only a little of a message: there is too much already, and it is not its turn.
    #[inline]
    pub(super) fn restricts(&self, slot: u32) -> bool {
        self.is_crowded() && !self.has_turn(slot)
    }

    #[cold]
    fn has_turn(&self, slot: u32) -> bool {
        let top = self.mark.saturating_add(self.mark / 4);
        let count = if self.bytes > top { 1 } else { TURNS };
        self.turns.iter().take(count).any(|turn| turn.id.slot == slot)
    }

    /// When the reactor is to turn next for their sake.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// The connection's unfinished message took `before` bytes and takes `after`; `another`: it is not the same one.
    #[inline]
    pub(super) fn change(
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
            self.heavy.push(Heavy { id, since: now, received });
        }
    }

    /// The connection is gone, with `before` bytes of an unfinished message.
    pub(super) fn forget(&mut self, id: ConnectionId, before: usize) {
        self.bytes = self.bytes.saturating_sub(before);
        if is_heavy(before) {
            self.remove(id);
        }
    }

    #[cold]
    fn remove(&mut self, id: ConnectionId) {
        // From the end: it is the young ones that come and go.
        if let Some(at) = self.heavy.iter().rposition(|heavy| heavy.id == id) {
            self.heavy.remove(at);
        }
        self.turns.retain(|turn| turn.id != id);
    }

    fn is_crowded(&self) -> bool {
        self.bytes > self.mark
    }

    fn stop_clock(&mut self, now: Instant) {
        self.look_at = None;
        self.turns.iter_mut().for_each(|turn| turn.began = now);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.turns.is_empty() || self.look_at.is_none_or(|at| at <= now)
    }
}

/// What is to be done about those whose messages are heavy.
#[derive(Default)]
struct Findings {
    /// Those who wait for their turn, the oldest message first.
    waiting: Vec<ConnectionId>,
    /// Whether somebody waits, for a turn or in it.
    is_waited_for: bool,
    /// Those whose peers have been silent for longer than our patience.
    silent: Vec<ConnectionId>,
    /// Those who have had their turn for long enough.
    over: Vec<ConnectionId>,
}

impl<C: Consumer> Reactor<C> {
    /// While there is too much: gives some their turn, and closes those who keep others waiting.
    pub(super) fn on_crowd(&mut self) {
        let now = self.work.now;
        let unfinished = &mut self.work.unfinished;
        if !unfinished.is_crowded() {
            unfinished.turns.clear();
        }
        // Nobody waits for another's message; or for all of them, because the consumer has too much that it has not taken.
        if !unfinished.is_crowded() || !self.starving || self.consumer.is_pressed(unfinished.bytes) {
            return unfinished.stop_clock(now);
        }
        if !unfinished.is_due(now) {
            return;
        }
        let found = self.look_around(now);
        if !found.is_waited_for {
            return self.work.unfinished.stop_clock(now);
        }
        for id in found.silent.into_iter().chain(found.over) {
            if self.work.unfinished.is_crowded() {
                self.close_unfinished(id);
            }
        }
        let unfinished = &mut self.work.unfinished;
        unfinished.look_at = Some(now + unfinished.patience / LOOKS);
        for id in found.waiting.into_iter().take(TURNS - unfinished.turns.len().min(TURNS)) {
            if let Some(connection) = self.connections.get(id) {
                unfinished.turns.push(Turn { id, began: now, received: connection.received });
            }
        }
    }

    fn look_around(&mut self, now: Instant) -> Findings {
        let mut found = Findings::default();
        let Unfinished { heavy, turns, patience, .. } = &mut self.work.unfinished;
        for Heavy { id, since, received } in heavy {
            let Some(connection) = self.connections.get(*id) else { continue };
            if connection.received != *received {
                (*since, *received) = (now, connection.received);
            }
            let turn = turns.iter().position(|turn| turn.id == *id);
            if connection.paused || connection.held >= self.config.connection_mark || !connection.is_open() {
                // Its peer cannot do anything about that.
                turn.map(|at| turns.remove(at));
                continue;
            }
            found.is_waited_for |= connection.starved;
            match turn.and_then(|at| turns.get_mut(at)) {
                // Above the quarter: it is read when those before it are done.
                Some(turn) if connection.starved => turn.began = now,
                Some(turn) if now >= turn.end(connection, *patience) => found.over.push(*id),
                Some(_) => {}
                None if connection.starved => found.waiting.push(*id),
                None if !connection.readable && now - *since >= *patience => found.silent.push(*id),
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
        let brought = connection.received.saturating_sub(self.received);
        self.began + (patience + Duration::from_secs(brought / TURN_RATE)).min(TURN_LIMIT)
    }
}
