//! The order in which connections are written, and what follows.
//!
//! A pong does not wait until a hundred connections with 1 MiB each have had a share: what was
//! queued since the last look is written first, unless its queue is long. While others wait, half
//! of what is written is theirs.

use mio::Token;

use crate::bridge::layout::{Cause, low_water_mark};

use super::Writer;
use super::half::WriteState;
use super::outgoing::Written;
use crate::reactor::config::{COST_OF_CALL, FLUSH_BUDGET, FREE_DISCOUNT, SHORT_QUEUE, WRITE_BUDGET};
use crate::reactor::queue::Mark;
use crate::reactor::read::half::PeerSide;
use crate::reactor::transport::Ahead;
use crate::reactor::{ConnectionId, Connections, Consumer, Reactor};

fn mark(connections: &mut Connections, id: ConnectionId) -> Option<&mut Mark> {
    connections.get(id).map(|connection| &mut connection.write.unwritten)
}

impl<C: Consumer> Reactor<C> {
    /// Writes queued bytes, one vectored write per connection, within the budget.
    pub(in crate::reactor) fn write_unwritten(&mut self) {
        let mut budget = FLUSH_BUDGET;
        let reserved = if self.writer.waiting.is_empty() { 0 } else { FLUSH_BUDGET / 2 };
        while budget > reserved
            && let Some(id) = self.writer.fresh.pop(&mut self.connections, mark)
        {
            budget = budget.saturating_sub(self.write_share(id, SHORT_QUEUE));
        }
        let Writer { fresh, waiting, .. } = &mut self.writer;
        waiting.append(fresh);
        // By now connections with more than a share are after the others.
        for _ in 0..waiting.len() {
            if budget == 0 {
                return;
            }
            let Some(id) = self.writer.waiting.pop(&mut self.connections, mark) else { return };
            budget = budget.saturating_sub(self.write_share(id, usize::MAX));
        }
    }

    /// Writes a connection's share, or puts the connection after the others if more than `most`
    /// bytes wait. Returns the charge in bytes.
    fn write_share(&mut self, id: ConnectionId, most: usize) -> usize {
        let Some(connection) = self.connections.get(id) else { return 0 };
        let queued = connection.write.outgoing.len();
        if queued > most {
            self.writer.waiting.push(id, &mut connection.write.unwritten);
            return 0;
        }
        let call = if connection.write.state.waits() { 0 } else { COST_OF_CALL };
        self.guarded(id.slot, |reactor| reactor.write_connection(id));
        let connection = self.connections.get(id);
        let left = connection.as_ref().map_or(0, |connection| connection.write.outgoing.len());
        // An HTTP server waits for its peers by itself.
        let counted = connection.filter(|connection| !connection.life.is_relayed());
        self.writer.budget.set(id, counted.map_or(0, |connection| connection.write.waiting()));
        queued.saturating_sub(left) + self.writer.pool.take_freed() / FREE_DISCOUNT + call
    }

    /// Writes a connection's queued bytes, and tells its consumer how far that went.
    fn write_connection(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        connection.write.high |= connection.write.outgoing.len() > connection.config.high_water_mark;
        let before = connection.write.outgoing.written();
        let written =
            connection.write.write_to(&mut connection.transport, &mut self.writer.pool, WRITE_BUDGET);
        self.metrics.tally.bytes_sent += connection.write.outgoing.written() - before;
        match written {
            Ok(Written::All) => {}
            Ok(Written::Blocked) if connection.write.state.is_refused() => {
                let registry = self.poll.as_ref().map(mio::Poll::registry);
                if connection.transport.await_room(registry, Token(id.slot as usize)).is_err() {
                    return self.ends.doom(id, connection, Cause::Exhausted);
                }
            }
            Ok(Written::Blocked) => {}
            Ok(Written::Short) => self.timers.retry_later(id),
            // Goes on when others have had their turn.
            Ok(Written::Some) => self.writer.waiting.push(id, &mut connection.write.unwritten),
            Err(_) => return self.ends.doom(id, connection, Cause::Reset),
        }
        let queued = connection.write.outgoing.len();
        self.metrics.written(id.slot, queued, self.timers.now());
        let sent = connection.write.take_sent();
        let noted = sent > 0 && connection.transport.note_sent(sent);
        let drained = connection.write.high && queued <= low_water_mark(connection.config.high_water_mark);
        connection.write.high &= !drained;
        let done = queued == 0 && (connection.write.state.is_ending() || connection.close_complete());
        let settled = connection.write.settled();
        let asked = std::mem::take(&mut connection.end_asked);
        if connection.life.is_reported() {
            self.consumer.on_settled(id, settled);
            if sent > 0 && !noted {
                self.consumer.on_sent(id, sent);
            }
            if drained {
                self.consumer.on_drain(id);
            }
        }
        if asked && let Some((mut session, consumer)) = self.session(id.slot) {
            consumer.on_end(&mut session);
        }
        self.catch_up(id);
        if done {
            self.finish(id);
        }
    }

    /// Everything is written and nothing may follow: ends our side. Ends the connection too, if the
    /// peer has ended its side, or has closed and this was our answer: then nothing comes (RFC 6455
    /// section 5.5.1).
    fn finish(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        let is_over = connection.close_complete()
            && match connection.transport.look_ahead() {
                Ahead::End => true,
                // Closing a socket with unread bytes resets it, and the peer may lose our last
                // frames.
                Ahead::Nothing => connection.engine.close_received() && !connection.write.state.is_ending(),
                Ahead::Bytes | Ahead::Dead => false,
            };
        if connection.read.peer == PeerSide::Ended || is_over {
            return self.ends.doom(id, connection, Cause::Fin);
        }
        if std::mem::replace(&mut connection.write.state, WriteState::Ended) != WriteState::Ended {
            connection.transport.end();
        }
    }
}
