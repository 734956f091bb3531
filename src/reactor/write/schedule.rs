//! When connections are written, and what follows from it.
//!
//! A pong does not wait until a hundred connections with a megabyte each have had a share: what has come since the last look
//! is written first, unless it is long. Who waits has half of what is written at once, however much comes.

use std::collections::VecDeque;
use std::net::Shutdown;

use crate::bridge::layout::low_water_mark;
use crate::reactor::Reactor;
use crate::reactor::config::WRITE_BUDGET;
use crate::reactor::config::{COST_OF_CALL, FLUSH_BUDGET, FREE_DISCOUNT, SHORT_QUEUE};
use crate::reactor::connection::Connection;
use crate::reactor::connection::Writable;
use crate::reactor::connection::table::ConnectionId;
use crate::reactor::consume::consumer::Consumer;

/// Their lists, each in the order in which they are written. Each connection is in one at most.
#[derive(Default)]
pub(in crate::reactor) struct Unwritten {
    /// Those nobody has looked at.
    fresh: VecDeque<u32>,
    /// Those with more than a share, and those for whom there was nothing left.
    waiting: VecDeque<u32>,
}

impl Unwritten {
    /// Puts a connection on the list.
    pub(in crate::reactor) fn push(&mut self, slot: u32) {
        self.fresh.push_back(slot);
    }

    /// Puts a connection that has had its share behind those who have not.
    pub(in crate::reactor) fn push_served(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// Whether nobody is on it.
    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Writes what is queued, one vectored write per connection, as much as may be written at once.
    pub(in crate::reactor) fn flush(&mut self) {
        let mut budget = FLUSH_BUDGET;
        let reserved = if self.work.unwritten.waiting.is_empty() { 0 } else { FLUSH_BUDGET / 2 };
        while budget > reserved
            && let Some(slot) = self.work.unwritten.fresh.pop_front()
        {
            budget = budget.saturating_sub(self.write(slot, SHORT_QUEUE));
        }
        let Unwritten { fresh, waiting } = &mut self.work.unwritten;
        waiting.append(fresh);
        // Who has more than a share is behind them then.
        for _ in 0..waiting.len() {
            if budget == 0 {
                return;
            }
            let Some(slot) = self.work.unwritten.waiting.pop_front() else { return };
            budget = budget.saturating_sub(self.write(slot, usize::MAX));
        }
    }

    /// Writes a connection's share, or puts it behind the others if more than `most` waits. Returns what that cost.
    fn write(&mut self, slot: u32, most: usize) -> usize {
        let Some(connection) = self.connections.get_mut(slot) else { return 0 };
        let queued = connection.outgoing.len();
        if queued > most {
            self.work.unwritten.push_served(slot);
            return 0;
        }
        connection.dirty = false;
        let call = if connection.writable == Writable::Now { COST_OF_CALL } else { 0 };
        self.guarded(slot, |reactor| reactor.flush_one(slot));
        let left = self.connections.get_mut(slot).map_or(0, |connection| connection.outgoing.len());
        queued.saturating_sub(left) + self.work.pool.take_freed() / FREE_DISCOUNT + call
    }
}

impl<C: Consumer> Reactor<C> {
    /// Writes what one connection has queued and tells its consumer how far that went.
    pub(in crate::reactor) fn flush_one(&mut self, slot: u32) {
        let Some(id) = self.connections.id(slot) else { return };
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.outgoing.len() > connection.config.high_water_mark {
            connection.high = true;
        }
        match connection.flush(&mut self.work.pool, WRITE_BUDGET) {
            Ok(false) => {}
            Ok(true) => {
                // Goes on when others have had their turn.
                if !std::mem::replace(&mut connection.dirty, true) {
                    self.work.unwritten.push_served(slot);
                }
            }
            Err(_) => return self.work.doomed.push(id, connection),
        }
        let queued = connection.outgoing.len();
        let sent = connection.take_sent();
        let drained = connection.high && queued <= low_water_mark(connection.config.high_water_mark);
        connection.high &= !drained;
        // A consumer on another thread ends the connection itself, see `gates.rs`.
        let ends = connection.close_complete() && self.consumer.progress().is_none();
        let done = queued == 0 && (connection.finishing || ends);
        let settled = connection.settled();
        if connection.life.is_told() {
            self.consumer.on_settled(id, settled);
            if sent > 0 {
                self.consumer.on_sent(id, sent);
            }
            if drained {
                self.consumer.on_drain(id);
            }
        }
        if done {
            self.finish(id);
        }
    }

    /// All is written and nothing may follow: ends our side, and the connection if the peer has ended its own.
    fn finish(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        // The answer to a close frame may have the peer's end behind it, unread.
        let has_ended = |connection: &Connection| matches!(connection.stream.peek(&mut [0]), Ok(0));
        if connection.ended || (connection.close_complete() && has_ended(connection)) {
            return self.work.doomed.push(id, connection);
        }
        if !std::mem::replace(&mut connection.shut, true) {
            // Fails on a dead socket only, and then the read that follows says so.
            let _dead_anyway = connection.stream.shutdown(Shutdown::Write);
        }
    }
}
