//! The order in which connections are written, and what follows.
//!
//! A pong does not wait until a hundred connections with 1 MiB each have had a share: what was
//! queued since the last look is written first, unless its queue is long. While others wait, half
//! of what is written is theirs.

use mio::{Poll, Token};

use crate::bridge::layout::{Cause, low_water_mark};

use super::WriteState;
use super::Writer;
use super::outgoing::Written;
use crate::reactor::config::{COST_OF_CALL, FLUSH_BUDGET, FREE_DISCOUNT, SHORT_QUEUE, WRITE_BUDGET};
use crate::reactor::queue::Mark;
use crate::reactor::read::PeerSide;
use crate::reactor::transport::Ahead;
use crate::reactor::{Conn, ConnectionId, Connections, Consumer, Reactor};

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

    fn write_share(&mut self, id: ConnectionId, most: usize) -> usize {
        let mut charge = 0;
        self.step(id, |conn, consumer| charge = conn.write_share(consumer, most));
        charge
    }
}

impl Conn<'_> {
    /// Writes the connection's share, or puts it after the others if more than `most` bytes wait.
    /// Returns the charge in bytes.
    fn write_share<C: Consumer>(&mut self, consumer: &mut C, most: usize) -> usize {
        if self.state.read.class.is_packed() {
            return 0;
        }
        let queued = self.state.write.outgoing.len();
        if queued > most {
            self.writer.waiting.push(self.id, &mut self.state.write.unwritten);
            return 0;
        }
        let call = if self.state.write.state.waits() { 0 } else { COST_OF_CALL };
        self.write_queued(consumer);
        let is_gone = self.state.life.is_gone();
        let left = if is_gone { 0 } else { self.state.write.outgoing.len() };
        // An HTTP server waits for its peers by itself.
        let counts = !is_gone && !self.state.life.is_relayed();
        self.writer.budget.set(self.id, if counts { self.state.write.waiting() } else { 0 });
        queued.saturating_sub(left) + self.writer.pool.take_freed() / FREE_DISCOUNT + call
    }

    /// Writes the queued bytes, and tells the consumer how far that went.
    fn write_queued<C: Consumer>(&mut self, consumer: &mut C) {
        let connection = &mut *self.state;
        connection.write.high |= connection.write.outgoing.len() > connection.config.high_water_mark;
        let before = connection.write.outgoing.written();
        let written =
            connection.write.write_to(&mut connection.transport, &mut self.writer.pool, WRITE_BUDGET);
        self.metrics.tally.bytes_sent += connection.write.outgoing.written() - before;
        match written {
            Ok(Written::All) => {}
            Ok(Written::Blocked) if connection.write.state.is_refused() => {
                let registry = self.poll.map(Poll::registry);
                if connection.transport.await_writable(registry, Token(self.id.slot as usize)).is_err() {
                    return self.schedule_close(Cause::Exhausted);
                }
            }
            Ok(Written::Blocked) => {}
            Ok(Written::Short) => self.timers.retry_later(self.id),
            // Goes on when others have had their turn.
            Ok(Written::Some) => self.writer.waiting.push(self.id, &mut connection.write.unwritten),
            Err(_) => return self.schedule_close(Cause::Reset),
        }
        let queued = connection.write.outgoing.len();
        self.metrics.written(self.id.slot, queued, self.timers.now());
        let sent = connection.write.take_sent();
        let noted = sent > 0 && connection.transport.stream_mut().note_sent(sent);
        let drained = connection.write.high && queued <= low_water_mark(connection.config.high_water_mark);
        connection.write.high &= !drained;
        let done = queued == 0 && (connection.write.state.is_ending() || connection.close_complete());
        let end_wanted = std::mem::take(&mut connection.end_wanted);
        if connection.life.is_reported() {
            consumer.on_settled(self.id, connection.write.settled());
            if sent > 0 && !noted {
                consumer.on_sent(self.id, sent);
            }
            if drained {
                consumer.on_drain(self.id);
            }
        }
        if end_wanted {
            consumer.on_end(self);
        }
        self.catch_up(consumer, None);
        if done {
            self.finish();
        }
    }

    /// Everything is written and nothing can follow: ends our side. Ends the connection too, if the
    /// peer has ended its side, or has closed and this was our answer: then nothing comes (RFC 6455
    /// section 5.5.1).
    fn finish(&mut self) {
        let connection = &mut *self.state;
        let is_over = connection.close_complete()
            && match connection.transport.stream_mut().look_ahead() {
                Ahead::End => true,
                // Closing a socket with unread bytes resets it, and the peer can lose our last
                // frames.
                Ahead::Nothing => connection.engine.close_received() && !connection.write.state.is_ending(),
                Ahead::Bytes | Ahead::Dead => false,
            };
        if connection.read.peer == PeerSide::Ended || is_over {
            return self.schedule_close(Cause::Fin);
        }
        if std::mem::replace(&mut connection.write.state, WriteState::Ended) != WriteState::Ended {
            connection.transport.stream_mut().end();
        }
    }
}
