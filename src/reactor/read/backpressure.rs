//! Connections that are not read because they, or all together, have left too much undrained:
//!
//! ```text
//! BlockedOn::Credit   the consumer takes a batch: its credits name the connection
//! BlockedOn::Room     credit, or a queue, served from its front while there is no pressure
//! ```

use crate::bridge::batch::Credit;
use crate::bridge::tally::Pause;

use super::{BlockedOn, PeerSide, ReadClass};
use crate::reactor::config::{
    BUSY_ALLOWANCE, CONTROL_ALLOWANCE, CONTROL_RESERVE, MOST_INFLATED, SERVED_AT_ONCE, SMALL_ALLOWANCE,
    SMALLEST_READ,
};
use crate::reactor::conn::life::Life;
use crate::reactor::consume::consumer::Pressure;
use crate::reactor::queue::Queue;
use crate::reactor::{Conn, Connection, ConnectionId, Connections, Consumer, Reactor};

#[derive(Default)]
pub(super) struct Backpressure {
    count: usize,
    /// Connections that lack room, in the order in which they go on, and some that no longer do.
    /// Their mark is `listed`.
    queue: Queue,
    /// Connections that got credit. Empty between turns.
    credited: Vec<u32>,
    /// The consumer was asked to wake the reactor when it takes a batch.
    wishes: bool,
    charged: usize,
    /// Bytes that pings and pongs have taken of their reserve under this pressure.
    reserve_used: usize,
}

impl Backpressure {
    fn add(&mut self, id: ConnectionId, connection: &mut Connection, blocked: BlockedOn) {
        connection.read.blocked_on = Some(blocked);
        self.count += 1;
        if blocked == BlockedOn::Room {
            self.queue.push(id, &mut connection.read.listed);
        }
    }

    fn take(&mut self, connection: &mut Connection) -> Option<BlockedOn> {
        let blocked = connection.read.blocked_on.take();
        self.count -= usize::from(blocked.is_some());
        blocked
    }

    #[cfg(test)]
    pub(super) fn is_nothing(&self) -> bool {
        self.count == 0 && self.charged == 0 && self.reserve_used == 0
    }

    /// The consumer is done with bytes that a connection was charged for.
    pub(super) fn release(&mut self, connections: &mut Connections, credit: Credit) {
        let id = ConnectionId { slot: credit.slot, generation: credit.generation };
        let Some(connection) = connections.get(id) else { return };
        let undelivered = connection.read.undelivered.saturating_sub(credit.bytes as usize);
        if undelivered == 0 && connection.read.undelivered > 0 {
            self.charged -= 1;
            connection.read.has_data = false;
        }
        connection.read.undelivered = undelivered;
        if connection.read.blocked_on.is_some() {
            self.credited.push(id.slot);
        }
    }

    pub(super) fn forget(&mut self, connection: &mut Connection) {
        self.take(connection);
        self.charged -= usize::from(connection.read.undelivered > 0);
    }

    fn next(&mut self, connections: &mut Connections) -> Option<u32> {
        loop {
            let id = self.queue.pop(connections, |all, id| Some(&mut all.get(id)?.read.listed))?;
            let connection = connections.get(id).filter(|c| c.read.blocked_on == Some(BlockedOn::Room));
            if let Some(connection) = connection {
                self.take(connection);
                return Some(id.slot);
            }
        }
    }
}

impl<C: Consumer> Reactor<C> {
    /// The consumer might have dealt with records: serves connections that waited for that.
    pub(in crate::reactor) fn reclaim(&mut self) {
        let (connections, backpressure) = (&mut self.connections, &mut self.reader.backpressure);
        self.consumer.reclaim(&mut |credit| backpressure.release(connections, credit));
        let mut credited = std::mem::take(&mut self.reader.backpressure.credited);
        for slot in credited.drain(..) {
            // The connection can lack something else now, by which it is found.
            if let Some((mut conn, consumer, _)) = self.conn_at(slot)
                && conn.allowance(consumer).is_some()
            {
                conn.want_read();
            }
        }
        self.reader.backpressure.credited = credited;
        let connections = &mut self.connections;
        // Most connections in the queue have ended.
        if self.reader.backpressure.queue.len() > 2 * connections.len() + SERVED_AT_ONCE {
            self.reader.backpressure.queue.tidy(|id| connections.get(id).is_some());
        }
        if self.consumer.pressure() == Pressure::None {
            self.reader.backpressure.reserve_used = 0;
            // Not many more connections go on than can have a share of this turn.
            let mut served = 0;
            while served < SERVED_AT_ONCE
                && let Some(slot) = self.reader.backpressure.next(&mut self.connections)
            {
                let Some((mut conn, ..)) = self.conn_at(slot) else { continue };
                conn.want_read();
                served += usize::from(conn.state.read.is_queued());
            }
        }
        let waits = self.reader.backpressure.count > 0 || self.barrier.is_waiting();
        if !waits && std::mem::take(&mut self.reader.backpressure.wishes) {
            self.consumer.set_wants_wake(false);
        }
        if self.barrier.is_waiting() {
            self.open_barrier(self.consumer.progress().map_or(u64::MAX, |progress| progress.delivered));
        }
    }

    /// Before the reactor sleeps: asks to be woken for blocked connections, and for peers that wait
    /// until the consumer knows of something. First the request, then the look: a batch that came
    /// back before the request wakes no thread.
    pub(in crate::reactor) fn request_wake(&mut self) {
        if self.reader.backpressure.count > 0 || self.barrier.is_waiting() {
            self.reader.backpressure.wishes = true;
            self.consumer.set_wants_wake(true);
            self.reclaim();
        }
    }
}

impl Conn<'_> {
    /// The most bytes that can be read now. `None`: the connection waits, or is not to be read.
    pub(in crate::reactor) fn allowance<C: Consumer>(&mut self, consumer: &C) -> Option<usize> {
        let limit = self.limit(consumer.pressure())?;
        self.reader.backpressure.take(self.state);
        match limit {
            Ok(_) => self.metrics.unpaused(self.id.slot, self.timers.now()),
            Err(blocked) => {
                self.reader.backpressure.add(self.id, self.state, blocked);
                self.metrics.stopped(self.id.slot, Pause::Behind, self.timers.now());
            }
        }
        limit.ok()
    }

    /// Bytes that can be read, or the reason against it. `None`: it is not to be read.
    fn limit(&mut self, pressure: Pressure) -> Option<Result<usize, BlockedOn>> {
        let connection = &*self.state;
        if !is_read(connection) {
            return None;
        }
        if connection.read.undelivered >= self.config.connection_mark {
            return Some(Err(BlockedOn::Credit));
        }
        let limited = match &connection.config.rates {
            Some(rates) if connection.is_open() => {
                let missing = connection.engine.missing();
                let room = self.reader.rate_limiter.room(self.id, rates, missing, self.timers.now());
                if room.is_none() {
                    self.metrics.stopped(self.id.slot, Pause::Rate, self.timers.now());
                }
                room?
            }
            _ => usize::MAX,
        };
        if pressure == Pressure::None {
            return Some(Ok(limited));
        }
        // A complete message is undrained, so it counts already. An incomplete one is no record.
        let kept = if pressure == Pressure::Bytes { connection.engine.buffered() } else { 0 };
        // The length of a read is not known before, so it must not exceed the rest.
        let left = self.share(pressure).saturating_sub(connection.read.undelivered + kept);
        if left < SMALLEST_READ {
            // A connection that only pings is not why memory runs out, if it sends little at a
            // time.
            let reserve = self.config.total_mark / CONTROL_RESERVE;
            let may_ping = self.reader.backpressure.reserve_used < reserve && only_pings(connection);
            let ping = wire(connection, SMALLEST_READ).min(limited);
            return Some(if may_ping { Ok(ping) } else { Err(BlockedOn::Room) });
        }
        Some(Ok(wire(connection, left).min(limited)))
    }

    /// Amounts that a connection can leave undrained under pressure. Bytes: if each has as much, the sum
    /// is no longer too much. Records: so few that messages of other connections wait for
    /// little.
    fn share(&self, pressure: Pressure) -> usize {
        match pressure {
            Pressure::None => usize::MAX,
            Pressure::Records => BUSY_ALLOWANCE,
            Pressure::Bytes => {
                let equal = self.config.total_mark / 2 / self.reader.backpressure.charged.max(1);
                equal.clamp(2 * SMALLEST_READ, SMALL_ALLOWANCE)
            }
        }
    }

    /// Inbound bytes that the consumer has yet to take; above `connection_mark` the socket is not
    /// read.
    pub fn charge(&mut self, bytes: usize) {
        self.add_undelivered(bytes);
        self.state.read.has_data = true;
    }

    /// The same for a ping or pong.
    pub fn charge_control(&mut self, bytes: usize) {
        if !self.state.read.has_data && self.state.read.undelivered > SMALL_ALLOWANCE {
            self.reader.backpressure.reserve_used += bytes;
        }
        self.add_undelivered(bytes);
    }

    fn add_undelivered(&mut self, bytes: usize) {
        self.reader.backpressure.charged += usize::from(self.state.read.undelivered == 0 && bytes > 0);
        self.state.read.undelivered += bytes;
    }
}

/// Whether the connection is to be read, apart from the others.
fn is_read(Connection { read, life, .. }: &Connection) -> bool {
    !read.paused
        && read.class != ReadClass::AwaitingHandback
        && !read.class.is_moving()
        && read.peer != PeerSide::Ended
        && !matches!(life, Life::Gone(_) | Life::AwaitingDecision(_))
}

fn only_pings(connection: &Connection) -> bool {
    let Connection { read, engine, .. } = connection;
    !read.has_data && engine.buffered() == 0 && read.undelivered < CONTROL_ALLOWANCE
}

/// Bytes that can be read so that at most `bytes` are kept, whatever they are inflated to.
fn wire(connection: &Connection, bytes: usize) -> usize {
    if connection.may_inflate() { (bytes / MOST_INFLATED).max(1) } else { bytes }
}
