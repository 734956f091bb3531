//! From readable sockets to events, and the bytes that may be read.
//!
//! ```text
//! undelivered input, in bytes and records    the connection waits, see `starved.rs`
//! messages that have not come to their end   the oldest is given up, see `unfinished.rs`
//! messages and bytes in a second             the connection waits or is closed, see `paced.rs`
//! ```
//!
//! The limits are independent. A waiting connection is found without a search: the consumer's
//! credits name it, or it is in a queue.

mod frames;
pub(super) mod half;
mod paced;
mod ready;
mod starved;
#[cfg(test)]
mod tests;
mod unfinished;

use std::collections::HashMap;
use std::time::Instant;

use crate::bridge::batch::Credit;
use crate::bridge::layout::Cause;
use crate::reactor::config::{DENSE_READ_SIZE, READ_BUDGET, SMALLEST_READ, TURN_BUDGET};
use crate::reactor::connection::deadline::touch_silence;
use crate::reactor::connection::life::Life;
use crate::reactor::open::upgrade::{self, Step};
use crate::reactor::transport::{Ahead, Received};
use crate::reactor::{Connection, Connections, Consumer, Reactor};
use frames::{Begun, on_frames};
use half::PeerSide;
use paced::{Paced, charge};
use ready::{Ready, Sweep};
use starved::Starved;
pub(super) use unfinished::Excess;
use unfinished::Unfinished;

/// What connections share for reading: queues, limits and budgets.
pub(super) struct Reader {
    ready: Ready,
    sweep: Sweep,
    starved: Starved,
    paced: Paced,
    unfinished: Unfinished,
    /// Bytes to read before the transport: they followed a request, or came from a stream.
    kept: HashMap<u32, Kept>,
    turn_budget: usize,
    /// Bytes of `turn_budget` that are reserved for greedy connections.
    reserved: usize,
}

/// Some of the bytes are always unread.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// How many of the bytes were read.
    read: usize,
}

impl Reader {
    /// `begun` is not later than now, and the same for all reactors of a group.
    pub(super) fn new(unfinished_budget: usize, begun: Instant) -> Self {
        Self {
            ready: Ready::default(),
            sweep: Sweep::Polling(0),
            starved: Starved::default(),
            paced: Paced::default(),
            unfinished: Unfinished::new(unfinished_budget, begun),
            kept: HashMap::new(),
            turn_budget: TURN_BUDGET,
            reserved: 0,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// When a connection is read again, or no more, because of its rates.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.paced.deadline()
    }

    /// Deadlines are judged once everything is read that the sockets have now. `sockets`: the most
    /// there can be.
    pub(super) fn begin_sweep(&mut self, sockets: usize) {
        self.sweep = Sweep::Polling(sockets);
    }

    /// The poll reported this many sockets, which are read in this turn, or queued.
    pub(super) fn polled(&mut self, events: usize) {
        self.sweep.polled(events);
    }

    /// Whether all of these sockets are read; asked at the end of a turn.
    pub(super) fn has_swept(&mut self) -> bool {
        self.sweep.is_over(&self.ready)
    }

    pub(super) fn release(&mut self, connections: &mut Connections, credit: Credit) {
        self.starved.release(connections, credit);
    }

    pub(super) fn set_budget(&mut self, budget: usize) {
        self.unfinished.budget = budget;
    }

    pub(super) fn unfinished_bytes(&self) -> usize {
        self.unfinished.bytes
    }

    pub(super) fn forget_message(&mut self, slot: u32) {
        self.unfinished.forget(slot);
    }

    pub(super) fn keep(&mut self, slot: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let kept = self.kept.entry(slot).or_default();
        // Moves at most as many bytes as were read before.
        if kept.read > kept.bytes.len() / 2 {
            kept.bytes.drain(..kept.read);
            kept.read = 0;
        }
        kept.bytes.extend_from_slice(bytes);
    }

    pub(super) fn keeps(&self, slot: u32) -> bool {
        !self.kept.is_empty() && self.kept.contains_key(&slot)
    }

    /// Reads kept bytes, as many as fit. `None`: there are none.
    fn read_kept(&mut self, slot: u32, room: &mut [u8]) -> Option<usize> {
        if self.kept.is_empty() {
            return None;
        }
        let kept = self.kept.get_mut(&slot)?;
        let rest = kept.bytes.get(kept.read..).unwrap_or_default();
        let len = room.len().min(rest.len());
        let (now, later) = rest.split_at(len);
        if let Some(room) = room.get_mut(..len) {
            room.copy_from_slice(now);
        }
        kept.read += len;
        if later.is_empty() {
            self.kept.remove(&slot);
        }
        Some(len)
    }

    pub(super) fn forget(&mut self, slot: u32, connection: &mut Connection) {
        self.paced.forget(slot);
        if !self.kept.is_empty() {
            self.kept.remove(&slot);
        }
        self.unfinished.forget(slot);
        self.starved.forget(connection);
    }
}

impl<C: Consumer> Reactor<C> {
    /// Reads one connection until it is empty, its budget is used up, or it may not be read.
    /// `to_end`: a short read does not prove that the socket is empty, because the peer's end may
    /// follow.
    pub(super) fn read(&mut self, slot: u32, to_end: bool) {
        let mut budget = READ_BUDGET;
        let mut begun = Begun::default();
        while let Some(allowed) = self.allowance(slot) {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            let (compressed, largest) = (connection.may_inflate(), connection.largest_read());
            let shortest = connection.shortest_frame();
            let most = if budget == 0 || self.is_turn_over() {
                // One more short read costs less than assembling the frame from this read and one
                // of the next turn.
                begun.missing
            } else {
                budget.min(largest)
            };
            if most == 0 {
                self.assemble(slot, begun);
                return self.read_on(slot, READ_BUDGET - budget);
            }
            let room = self.consumer.spare(most.min(allowed), shortest);
            let asked = room.len();
            if asked == 0 {
                // Reading nothing would look like the peer's end.
                self.assemble(slot, begun);
                return self.read_on(slot, READ_BUDGET);
            }
            let Some(connection) = self.connections.get_mut(slot) else { return };
            let held = connection.read.held;
            let had = held + connection.engine.buffered() + begun.len;
            let kept = self.reader.read_kept(slot, room).map(Received::Bytes);
            let is_kept = kept.is_some();
            let received = kept.unwrap_or_else(|| connection.transport.receive(room));
            match received {
                Received::Bytes(len) => {
                    connection.pinged = false;
                    // A read of less than was asked for has mostly brought everything.
                    let has_all = !is_kept && connection.transport.is_dry(len < asked);
                    let spent = if is_kept { 0 } else { connection.transport.spent() };
                    if !is_kept {
                        self.count(slot, len);
                    }
                    let more = !has_all && !compressed && allowed == usize::MAX;
                    begun = self.on_bytes(slot, begun.len, len, more);
                    self.notice_density(slot, had, len);
                    let work = if compressed { len.max(self.unpacked(slot, held)) } else { len };
                    let work = work.max(spent);
                    // A system call costs as much as that many bytes, however few it brings.
                    let work = if allowed < SMALLEST_READ { work.max(SMALLEST_READ) } else { work };
                    budget = budget.saturating_sub(work);
                    self.reader.turn_budget = self.reader.turn_budget.saturating_sub(work);
                    let is_last = if is_kept { self.is_dry(slot) } else { has_all };
                    if is_last && !to_end {
                        self.assemble(slot, begun);
                        return self.drained(slot, READ_BUDGET - budget);
                    }
                }
                // What came before is whole, and its answers still go out: `cause_of_end` tells the two apart.
                Received::Eof | Received::Cut => {
                    connection.read.unread = false;
                    self.assemble(slot, begun);
                    return self.on_eof(slot);
                }
                Received::Empty => {
                    self.drained(slot, READ_BUDGET - budget);
                    break;
                }
                Received::Short => {
                    if let Some(id) = self.connections.id(slot) {
                        self.timers.retry_later(id);
                    }
                    break;
                }
                Received::Dead => {
                    return self.doom(slot, Cause::Reset);
                }
            }
        }
        self.assemble(slot, begun);
    }

    /// Whether nothing more is to be read of a stream, which then goes on. What was read decides whether
    /// it is greedy: a look in a later turn would find nothing, and make it modest.
    fn is_dry(&mut self, slot: u32) -> bool {
        !self.reader.keeps(slot)
            && self.connections.get_mut(slot).is_some_and(|connection| {
                connection.transport.as_tcp().is_none()
                    && matches!(connection.transport.receive(&mut []), Received::Empty)
            })
    }

    /// Bytes that a read has inflated, or handed over if that is more: it may have completed a
    /// message inflated in other turns, as may a read of each other connection. `held`: before the
    /// read.
    fn unpacked(&mut self, slot: u32, held: usize) -> usize {
        let inflated = self.inflated(slot);
        let now = self.connections.get_mut(slot).map_or(held, |connection| connection.read.held);
        inflated.max(now.saturating_sub(held))
    }

    /// Notes whether a read of `len` bytes was mostly short messages: below some 30 bytes they are
    /// held for a quarter more than they took on the wire. `had`: bytes before the read, incomplete
    /// messages included.
    fn notice_density(&mut self, slot: u32, had: usize, len: usize) {
        if len >= DENSE_READ_SIZE
            && let Some(connection) = self.connections.get_mut(slot)
        {
            connection.dense = connection.read.held.saturating_sub(had) > len + len / 4;
        }
    }

    /// Nothing more is read of this frame now: the engine keeps its beginning.
    fn assemble(&mut self, slot: u32, begun: Begun) {
        if begun.len > 0 {
            self.on_bytes(slot, begun.len, 0, false);
        }
    }

    /// As `read`. If nothing is read because the consumer decides on the handshake, or has paused,
    /// the peer's end is reported.
    pub(super) fn on_readable(&mut self, slot: u32, to_end: bool) {
        self.read(slot, to_end);
        let Some((mut session, consumer)) = self.session(slot) else { return };
        let is_passed_on = session.connection.is_open() || session.connection.life.is_relayed();
        if session.connection.read.paused && is_passed_on {
            return self.look_for_end(slot);
        }
        let peer = session.connection.read.peer;
        let Life::Asked(question) = &mut session.connection.life else { return };
        if peer == PeerSide::Dead {
            session.doom(Cause::Reset);
        } else if peer == PeerSide::HungUp && question.note_end() {
            // The consumer must act by this deadline, as for an open connection.
            session.arm_close();
            consumer.on_end(&mut session);
        }
    }

    /// A paused connection whose peer has ended has nothing to wait for, unless there are unread
    /// bytes before that end.
    fn look_for_end(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let has_news = matches!(connection.read.peer, PeerSide::HungUp | PeerSide::Dead);
        if !has_news || connection.life.is_gone() {
            return;
        }
        // The peer's close frame was read, and the consumer gets it when it resumes.
        if connection.engine.close_received() || connection.engine.failure().is_some() {
            return;
        }
        if self.reader.keeps(slot) {
            return;
        }
        match connection.transport.look_ahead() {
            Ahead::Bytes | Ahead::Nothing => {}
            Ahead::End => self.on_eof(slot),
            Ahead::Dead => self.doom(slot, Cause::Reset),
        }
    }

    /// Takes bytes that were read and counted with a request: they wait for their turn as if they
    /// were still in the socket.
    pub(super) fn feed(&mut self, slot: u32, bytes: &[u8]) {
        let Some((session, _)) = self.session(slot).filter(|_| !bytes.is_empty()) else { return };
        session.reader.keep(slot, bytes);
        session.reader.ready.push(session.id, &mut session.connection.read);
    }

    pub(super) fn read_later(&mut self, slot: u32) {
        let Some((mut session, _)) = self.session(slot) else { return };
        session.want_read();
    }

    fn doom(&mut self, slot: u32, cause: Cause) {
        if let Some((mut session, _)) = self.session(slot) {
            session.doom(cause);
        }
    }

    /// The socket has more than the connection's share of this turn; `spent` is used.
    fn read_on(&mut self, slot: u32, spent: usize) {
        if spent == 0 {
            return self.read_later(slot);
        }
        let Some((session, _)) = self.session(slot) else { return };
        let read = &mut session.connection.read;
        read.pace.note(spent);
        session.reader.ready.push_served(session.id, read);
    }

    /// The socket has nothing more for now; `spent` of the share is used.
    fn drained(&mut self, slot: u32, spent: usize) {
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.read.unread = false;
            connection.read.pace.note(spent);
        }
    }

    pub(super) fn count(&mut self, slot: u32, len: usize) {
        let Some((session, consumer)) = self.session(slot) else { return };
        session.connection.read.received += len as u64;
        session.metrics.tally.bytes_received += len as u64;
        consumer.on_received(session.id, session.connection.read.received);
    }

    /// `len` bytes are at the consumer's position, after `kept` bytes of a frame that begins there.
    /// With `more` to come, the beginning of the last frame may stay where it is.
    pub(super) fn on_bytes(&mut self, slot: u32, kept: usize, len: usize, more: bool) -> Begun {
        let claimed = self.consumer.claim(len);
        let range = claimed.start.saturating_sub(kept)..claimed.end;
        let mut begun = Begun::default();
        let Some((mut session, consumer)) = self.session(slot) else { return begun };
        match session.connection.life {
            Life::Open | Life::Closing { .. } => {
                touch_silence(&mut session);
                let frames = session.metrics.tally.frames_received();
                let fragments = session.connection.engine.small_fragments();
                let (kept, whole) = on_frames(consumer, &mut session, range.clone(), more);
                if session.connection.config.rates.is_some() {
                    let frames = session.metrics.tally.frames_received() - frames;
                    let small = session.connection.engine.small_fragments();
                    let small = small.wrapping_sub(fragments).cast_signed().max(0) as u64;
                    charge(consumer, &mut session, frames + small, len);
                }
                let bytes = session.connection.engine.buffered();
                session.reader.unfinished.set(session.id, bytes, (len, whole), session.timers.now());
                if kept.len == 0 {
                    consumer.release(range);
                }
                begun = kept;
            }
            Life::Opening(_) | Life::Asked(_) => {
                let bytes = consumer.buffer(range.clone()).to_vec();
                consumer.release(range);
                match upgrade::on_bytes(consumer, &mut session, &bytes) {
                    Step::Opened(rest) => self.feed(slot, &rest),
                    Step::Given(bytes) => self.give(slot, &bytes),
                    Step::Wait | Step::Again => {}
                }
            }
            Life::Relayed => consumer.on_data(&mut session, range),
            Life::Draining { .. } | Life::Gone(_) => consumer.release(range),
        }
        begun
    }

    fn on_eof(&mut self, slot: u32) {
        let Some((mut session, consumer)) = self.session(slot) else { return };
        let connection = &mut session.connection;
        connection.read.peer = PeerSide::Ended;
        if connection.life.is_relayed() && !connection.write.state.is_ended() {
            return consumer.on_end(&mut session);
        }
        let open = connection.is_open();
        if !open || connection.close_complete() || connection.write.state.is_ended() {
            if connection.write.outgoing.is_empty() || connection.write.state.is_ended() {
                return session.doom(Cause::Fin);
            }
            connection.write.state.end_when_written();
            return session.touch();
        }
        // The consumer must act by this deadline.
        if matches!(session.connection.life, Life::Open) {
            session.arm_close();
        }
        let connection = &session.connection;
        // A close frame was received and reported: the consumer's answer ends the connection.
        if !connection.engine.close_received() && connection.engine.failure().is_none() {
            consumer.on_end(&mut session);
        }
    }
}
