//! From a connection's queued frames to the kernel, and what follows from it.

use std::net::Shutdown;

use super::Reactor;
use super::config::WRITE_BUDGET;
use super::connection::Connection;
use super::consumer::Consumer;

impl<C: Consumer> Reactor<C> {
    /// Writes what one connection has queued and tells its consumer how far that went.
    pub(super) fn flush_one(&mut self, slot: u32) {
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
            Err(_) => return self.work.doomed.push(slot),
        }
        let queued = connection.outgoing.len();
        let sent = connection.take_sent();
        let drained = connection.high && queued <= connection.config.high_water_mark / 2;
        connection.high &= !drained;
        // A consumer on another thread ends the connection itself, see `gates.rs`.
        let ends = connection.close_complete() && self.consumer.progress().is_none();
        let done = queued == 0 && (connection.finishing || ends);
        let settled = connection.settled();
        if connection.announced {
            self.consumer.on_settled(id, settled);
            if sent > 0 {
                self.consumer.on_sent(id, sent);
            }
            if drained {
                self.consumer.on_drain(id);
            }
        }
        if done {
            self.finish(slot);
        }
    }

    /// All is written and nothing may follow: ends our side, and the connection if the peer has ended its own.
    fn finish(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        // The answer to a close frame may have the peer's end behind it, unread.
        let has_ended = |connection: &Connection| matches!(connection.stream.peek(&mut [0]), Ok(0));
        if connection.ended || (connection.close_complete() && has_ended(connection)) {
            return self.work.doomed.push(slot);
        }
        if !std::mem::replace(&mut connection.shut, true) {
            // Fails on a dead socket only, and then the read that follows says so.
            let _dead_anyway = connection.stream.shutdown(Shutdown::Write);
        }
    }
}
