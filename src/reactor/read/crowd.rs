//! While unfinished messages take too much memory, some connections get a turn, and those that keep
//! others waiting are closed.

use std::time::Instant;

use crate::engine::ErrorKind;

use crate::reactor::Reactor;
use crate::reactor::config::SERVED_AT_ONCE;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::{Consumer, Pressure};
use crate::reactor::read::frames::{finish_if_complete, report_error};
use crate::reactor::read::half::Lack;
use crate::reactor::read::unfinished::{Heavy, LOOKS, TURNS, Turn, Unfinished};

/// Connections with heavy messages that require action.
#[derive(Default)]
struct Findings {
    /// Connections whose peers have been silent for longer than our patience.
    silent: Vec<ConnectionId>,
    /// Connections whose turn has lasted long enough.
    over: Vec<ConnectionId>,
}

impl<C: Consumer> Reactor<C> {
    /// While there is too much: gives some connections their turn, and closes those that keep
    /// others waiting.
    pub(in crate::reactor) fn on_crowd(&mut self) {
        if !self.work.unfinished.is_crowded() {
            return self.disperse();
        }
        let now = self.work.now;
        // No connection waits for another's message; or all of them wait, because the consumer has
        // too many bytes that it has not taken.
        if !self.is_waited_for() || self.consumer.pressure() == Pressure::Bytes {
            return self.work.unfinished.stop_clock(now);
        }
        if self.work.unfinished.look_at.is_none_or(|at| at <= now) {
            self.look_around(now);
        }
        self.give_turns(now);
    }

    /// The messages no longer take too much: the connections that waited go on, not many more than
    /// have their share of a turn.
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

    /// The connection may be read, if it has waited for its turn.
    fn on_turn_given(&mut self, id: ConnectionId) {
        if self.connections.get(id).is_some_and(|connection| connection.read.starved == Some(Lack::Turn)) {
            self.feed_again(id.slot);
        }
    }

    /// Whether a connection waits, for a turn or in it.
    fn is_waited_for(&mut self) -> bool {
        let Unfinished { waiting, turns, .. } = &self.work.unfinished;
        let connections = &mut self.connections;
        let waits =
            |turn: &Turn| connections.get(turn.id).is_some_and(|c| c.read.starved == Some(Lack::Turn));
        !waiting.is_empty() || turns.iter().any(waits)
    }

    /// Fills the turns with connections that wait, and schedules those whose turn it is to be read.
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

    /// Looks at all unfinished messages, now and then.
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
                // The peer cannot do anything about that.
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

    /// Closes a connection whose message the others can wait for no longer.
    fn close_unfinished(&mut self, id: ConnectionId) {
        // The reports about the connection belong to no read under way.
        self.consumer.on_turn_end();
        self.guarded(id.slot, |reactor| {
            let Some((mut session, consumer)) = reactor.session(id.slot) else { return };
            let before = session.connection.engine.buffered();
            let error = session.connection.engine.refuse(ErrorKind::Unfinished);
            session.work.unfinished.forget(id, before);
            report_error(consumer, &mut session, error);
            finish_if_complete(&mut session);
            // Later bytes are thrown away.
            session.want_read();
        });
    }
}
