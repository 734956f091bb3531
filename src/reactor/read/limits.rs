//! The bytes of a connection that may be read, and what happens to those that are too many.
//!
//! ```text
//! undelivered input, in bytes and records    the connection waits, see `starved.rs`
//! messages that have not come to their end   the oldest is given up, see `unfinished.rs`
//! messages and bytes in a second             the connection waits or is closed, see `paced.rs`
//! ```
//!
//! Neither presses the other. A connection that waits is found without a look at the others that
//! wait: credits of the consumer name it, or it is in a queue.

use crate::bridge::layout::Cause;
use crate::bridge::rates::Counted;
use crate::bridge::tally::Pause;
use crate::engine::{CloseCode, ErrorKind};

use crate::reactor::Reactor;
use crate::reactor::config::{
    BUSY_ALLOWANCE, CONTROL_ALLOWANCE, CONTROL_RESERVE, MOST_INFLATED, SERVED_AT_ONCE, SMALL_ALLOWANCE,
    SMALLEST_READ,
};
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::life::Life;
use crate::reactor::connection::session::Session;
use crate::reactor::consume::consumer::{Consumer, Pressure};
use crate::reactor::read::frames::finish_if_complete;
use crate::reactor::read::half::{Lack, PeerSide};
use crate::reactor::read::paced::SECOND;

/// Whether unfinished messages take too much.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::reactor) enum Excess {
    None,
    /// One of this reactor is to be given up.
    Own,
    /// One of another reactor is.
    Elsewhere,
}

impl<C: Consumer> Reactor<C> {
    /// The most bytes that may be read from the connection now; with 0 it waits.
    pub(in crate::reactor) fn allowance(&mut self, slot: u32) -> Option<usize> {
        let limit = self.limit(slot)?;
        let id = self.connections.id(slot)?;
        let connection = self.connections.get(id)?;
        self.work.starved.take(connection);
        if let Err(lack) = limit {
            self.work.starved.add(id, connection, lack);
            if self.work.starved.is_untidy(&self.connections) {
                let connections = &mut self.connections;
                self.work.starved.queue.tidy(|id| connections.get(id).is_some());
            }
        }
        match limit {
            Ok(_) => self.work.watch.goes_on(slot, self.work.now),
            Err(_) => self.work.watch.stopped(slot, Pause::Behind, self.work.now),
        }
        limit.ok()
    }

    /// The number of bytes that may be read from the connection, or its shortage. `None`: it is not
    /// to be read.
    fn limit(&mut self, slot: u32) -> Option<Result<usize, Lack>> {
        let pressure = self.consumer.pressure();
        let share = self.share(pressure);
        let id = self.connections.id(slot)?;
        let connection = self.connections.get_mut(slot)?;
        if !is_read(connection) {
            return None;
        }
        if connection.read.held >= self.config.connection_mark {
            return Some(Err(Lack::Credit));
        }
        let paced = match &connection.config.rates {
            Some(rates) if connection.is_open() => {
                let missing = connection.engine.missing();
                let room = self.work.paced.room(id, rates, missing, self.work.now);
                if room.is_none() {
                    self.work.watch.stopped(slot, Pause::Rate, self.work.now);
                }
                room?
            }
            _ => usize::MAX,
        };
        if pressure == Pressure::None {
            return Some(Ok(paced));
        }
        // A completed message is undrained, so it counts already. An incomplete one is no record.
        let kept = if pressure == Pressure::Bytes { connection.engine.buffered() } else { 0 };
        // The length of a read is not known before, so it may not be longer than the rest.
        let left = share.saturating_sub(connection.read.held + kept);
        if left < SMALLEST_READ {
            // A connection that only pings is not the reason why memory runs out, as long as it
            // sends little at a time.
            let reserve = self.config.total_mark / CONTROL_RESERVE;
            let may_ping = self.work.starved.reserve_used < reserve && only_pings(connection);
            let ping = wire(connection, SMALLEST_READ).min(paced);
            return Some(if may_ping { Ok(ping) } else { Err(Lack::Room) });
        }
        Some(Ok(wire(connection, left).min(paced)))
    }

    /// The amount that a connection may leave undrained while all together have left too much. Of
    /// bytes: if each has as much, the sum is no longer too much. Of records: so few that the
    /// messages of other connections wait behind little.
    fn share(&self, pressure: Pressure) -> usize {
        match pressure {
            Pressure::None => usize::MAX,
            Pressure::Records => BUSY_ALLOWANCE,
            Pressure::Bytes => {
                let equal = self.config.total_mark / 2 / self.work.starved.holders.max(1);
                equal.clamp(2 * SMALLEST_READ, SMALL_ALLOWANCE)
            }
        }
    }

    /// Credits that the consumer gave back let starved connections be read again.
    pub(in crate::reactor) fn reclaim(&mut self) {
        let (connections, starved) = (&mut self.connections, &mut self.work.starved);
        self.consumer.reclaim(&mut |credit| {
            let id = ConnectionId { slot: credit.slot, generation: credit.generation };
            let Some(connection) = connections.get(id) else { return };
            let held = connection.read.held.saturating_sub(credit.bytes as usize);
            if held == 0 && connection.read.held > 0 {
                starved.holders -= 1;
                connection.read.holds_data = false;
            }
            connection.read.held = held;
            if connection.read.starved.is_some() {
                starved.credited.push(id.slot);
            }
        });
        let mut credited = std::mem::take(&mut self.work.starved.credited);
        for slot in credited.drain(..) {
            // The connection may have another shortage now, by which it is found.
            if self.allowance(slot).is_some() {
                self.read_later(slot);
            }
        }
        self.work.starved.credited = credited;
        if self.consumer.pressure() == Pressure::None {
            self.work.starved.reserve_used = 0;
            self.serve_queue();
        }
        let waits = self.work.starved.count > 0 || self.work.gates.is_waiting();
        if !waits && std::mem::take(&mut self.work.starved.wishes) {
            self.consumer.set_starving(false);
        }
    }

    /// Lets connections that lack room go on, not many more than have their share of this turn.
    fn serve_queue(&mut self) {
        let mut served = 0;
        while served < SERVED_AT_ONCE
            && let Some(slot) = self.work.starved.next(&mut self.connections)
        {
            self.read_later(slot);
            served += usize::from(
                self.connections.get_mut(slot).is_some_and(|connection| connection.read.state.is_queued()),
            );
        }
    }

    /// Asks to be woken for the sake of starved connections, and of peers that wait until the
    /// consumer knows of something, before the reactor sleeps. The request first, then the look: a
    /// batch that came back before the request wakes no thread.
    pub(in crate::reactor) fn wish_for_news(&mut self) {
        if self.work.starved.count > 0 || self.work.gates.is_waiting() {
            self.work.starved.wishes = true;
            self.consumer.set_starving(true);
            self.reclaim();
            self.on_delivered();
        }
    }

    /// Whether the unfinished messages of all reactors take too much.
    pub(in crate::reactor) fn excess(&self) -> Excess {
        let unfinished = &self.work.unfinished;
        if unfinished.oldest().is_none() {
            return Excess::None;
        }
        let (bytes, is_own) = self.seat.unfinished();
        if bytes <= unfinished.budget || unfinished.is_alone(bytes) {
            Excess::None
        } else if is_own {
            Excess::Own
        } else {
            Excess::Elsewhere
        }
    }

    /// Gives messages up until the rest is within the budget, not too many in one turn.
    pub(in crate::reactor) fn give_up_unfinished(&mut self) {
        for _ in 0..SERVED_AT_ONCE {
            let unfinished = &self.work.unfinished;
            let oldest = unfinished.oldest();
            self.seat.note_unfinished(unfinished.bytes(), oldest.map_or(u64::MAX, |(second, _)| second));
            let Some((second, slot)) = oldest else { return };
            let is_new = second >= unfinished.second(self.work.now);
            match self.excess() {
                Excess::None => return,
                Excess::Elsewhere => return self.seat.wake_others(),
                Excess::Own => {}
            }
            if !is_new && self.is_held_back(slot) {
                self.work.unfinished.renew(slot, self.work.now);
            } else {
                self.give_up_message(slot);
            }
        }
    }

    /// Whether the connection is not read, so that its message cannot go on.
    fn is_held_back(&mut self, slot: u32) -> bool {
        let waits = self.work.paced.waits(slot);
        self.connections
            .get_mut(slot)
            .is_some_and(|Connection { read, .. }| waits || read.paused || read.starved.is_some())
    }

    fn give_up_message(&mut self, slot: u32) {
        // The reports about the connection belong to no read under way.
        self.consumer.on_turn_end();
        self.guarded(slot, |reactor| {
            reactor.work.unfinished.forget(slot);
            let Some((mut session, consumer)) = reactor.session(slot) else { return };
            let error = session.connection.engine.refuse(ErrorKind::Unfinished);
            if session.is_open() {
                consumer.on_error(&mut session, error);
                finish_if_complete(&mut session);
                // Later bytes are thrown away.
                session.want_read();
            }
        });
    }

    /// An event reports that the peer may have gone.
    pub(in crate::reactor) fn on_hang_up(&mut self, slot: u32) {
        if let Some((mut session, _)) = self.session(slot)
            && session.connection.read.peer == PeerSide::Open
        {
            bound(&mut session);
        }
    }

    /// Ends the connections whose peers have been gone for as long as that may be.
    fn end_gone(&mut self) {
        while let Some(id) = self.work.paced.pop_gone(self.work.now) {
            let Some(connection) = self.connections.get(id) else { continue };
            if connection.read.paused || !self.work.paced.waits(id.slot) {
                // The connection is not held back by its limit.
                self.work.paced.hung_up(id, self.work.now.checked_add(SECOND));
                continue;
            }
            self.guarded(id.slot, |reactor| {
                if let Some((mut session, _)) = reactor.session(id.slot) {
                    session.cut(Cause::Fin);
                }
            });
        }
    }

    /// Schedules the connections that have waited for as long as their limits demand.
    pub(in crate::reactor) fn resume_paced(&mut self) {
        self.end_gone();
        while let Some(id) = self.work.paced.pop(self.work.now) {
            if self.connections.get(id).is_some() {
                self.read_later(id.slot);
            }
        }
    }
}

/// Counts the input of an open connection: `len` bytes, and `messages` in them.
pub(in crate::reactor) fn charge<C: Consumer>(
    consumer: &mut C,
    session: &mut Session<'_>,
    messages: u64,
    len: usize,
) {
    let now = session.work.now;
    let Some(counted) = session.work.paced.take(session.id.slot, messages, len as u64, now) else { return };
    let config = session.connection.config.clone();
    let Some(rates) = config.rates.as_ref().filter(|rates| rates.closes) else { return };
    let engine = &session.connection.engine;
    if session.connection.life.is_gone() || engine.failed() || engine.close_received() {
        return;
    }
    rates.exceed(counted);
    session.work.paced.forget(session.id.slot);
    let kind = match counted {
        Counted::Messages => ErrorKind::TooManyMessages,
        Counted::Bytes => ErrorKind::TooManyBytes,
    };
    let error = session.connection.engine.refuse(kind);
    // Reported at once and not when the consumer has time: it may be busy with the messages of this
    // peer.
    session.close(Some(CloseCode::POLICY_VIOLATION), kind.row().sentence.as_bytes());
    consumer.on_error(session, error);
    finish_if_complete(session);
}

/// The peer may have gone. Bytes sent before are read at its rate, but not for ever.
pub(in crate::reactor) fn bound(session: &mut Session<'_>) {
    let until = session.work.now.checked_add(session.connection.config.close_timeout);
    session.work.paced.hung_up(session.id, until);
}

/// Whether the connection is to be read, as far as others do not matter.
fn is_read(Connection { read, life, .. }: &Connection) -> bool {
    !read.paused && read.peer != PeerSide::Ended && !matches!(life, Life::Gone(_) | Life::Asked(_))
}

/// Whether only pings and pongs of the connection are undrained, and not too many.
fn only_pings(connection: &Connection) -> bool {
    let Connection { read, engine, .. } = connection;
    !read.holds_data && engine.buffered() == 0 && read.held < CONTROL_ALLOWANCE
}

/// The number of bytes that may be read so that no more than `bytes` are kept, whatever they are
/// inflated to.
fn wire(connection: &Connection, bytes: usize) -> usize {
    if connection.may_inflate() { (bytes / MOST_INFLATED).max(1) } else { bytes }
}
