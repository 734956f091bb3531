//! What waits to be sent to all connections together, where that is limited.
//!
//! A peer that does not read costs memory for as long as the program sends to it. Above the budget
//! the connection to which most waits is ended: those that read have next to nothing waiting.

use std::collections::HashMap;

use crate::engine::ErrorKind;
use crate::reactor::Reactor;
use crate::reactor::config::MOST_LINGERING;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::life::Life;
use crate::reactor::consume::consumer::Consumer;

/// The bytes that wait, by slots; those of nobody where there is no limit.
pub(in crate::reactor) struct Waiting {
    budget: usize,
    total: usize,
    bytes: HashMap<u32, (ConnectionId, usize)>,
}

impl Waiting {
    /// `budget`: `usize::MAX` for none.
    pub(in crate::reactor) fn new(budget: usize) -> Self {
        Self { budget, total: 0, bytes: HashMap::new() }
    }

    /// So many bytes wait for a connection by now.
    pub(in crate::reactor) fn set(&mut self, id: ConnectionId, bytes: usize) {
        if self.budget == usize::MAX || (bytes == 0 && self.bytes.is_empty()) {
            return;
        }
        let before = match bytes {
            0 => self.bytes.remove(&id.slot),
            bytes => self.bytes.insert(id.slot, (id, bytes)),
        };
        self.total = self.total + bytes - before.map_or(0, |(_, before)| before);
    }

    /// The connection to which most waits, if that is too much of all.
    fn worst(&self) -> Option<ConnectionId> {
        if self.total <= self.budget {
            return None;
        }
        self.bytes.values().max_by_key(|(_, bytes)| *bytes).map(|(id, _)| *id)
    }
}

impl<C: Consumer> Reactor<C> {
    /// Ends connections until no more waits than may.
    pub(in crate::reactor) fn end_slow(&mut self) {
        while let Some(id) = self.work.waiting.worst() {
            self.work.waiting.set(id, 0);
            // What will be reported of it belongs to no read that is under way.
            self.consumer.on_turn_end();
            self.guarded(id.slot, |reactor| {
                let Some((mut session, consumer)) = reactor.session(id.slot) else { return };
                session.work.tally.over_budget += 1;
                let engine = &session.connection.engine;
                if session.is_open() && !engine.failed() && !engine.close_received() {
                    let before = session.connection.engine.buffered();
                    let error = session.connection.engine.refuse(ErrorKind::SendBudget);
                    session.work.unfinished.forget(id, before);
                    consumer.on_error(&mut session, error);
                }
                session.terminate();
            });
        }
    }

    /// Closes the connections that were refused first, where there are too many of them.
    pub(in crate::reactor) fn end_lingering(&mut self) {
        while self.work.lingering.len() > MOST_LINGERING
            && let Some(id) = self.work.lingering.pop_front()
        {
            let Some(connection) = self.connections.get(id) else { continue };
            if !matches!(connection.life, Life::Draining { .. }) {
                continue;
            }
            self.work.tally.cut_refusals += 1;
            self.guarded(id.slot, |reactor| {
                if let Some((mut session, _)) = reactor.session(id.slot) {
                    session.terminate();
                }
            });
        }
    }
}
