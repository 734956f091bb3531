//! From a readable socket to bytes for the engine, within the connection's share of a turn.

use crate::bridge::layout::Cause;

use super::PeerSide;
use super::frames::{Begun, on_frames};
use super::rate_limiter::charge;
use crate::reactor::config::{DENSE_READ_SIZE, READ_BUDGET, SMALLEST_READ};
use crate::reactor::conn::life::Life;
use crate::reactor::transport::{Ahead, Received};
use crate::reactor::upgrade::{self, Step};
use crate::reactor::{Conn, Connection, Consumer};

impl Conn<'_> {
    /// Reads until the socket is empty, the budget is used up, or the connection must not be read.
    /// `to_end`: a short read does not prove that the socket is empty, because the peer's end can
    /// follow.
    pub(super) fn read<C: Consumer>(&mut self, consumer: &mut C, to_end: bool) {
        let mut budget = READ_BUDGET;
        let mut begun = Begun::default();
        while let Some(allowed) = self.allowance(consumer) {
            let (compressed, largest) = (self.state.may_inflate(), self.state.largest_read());
            let most = if budget == 0 || self.reader.is_turn_over() {
                // One more short read costs less than assembling the frame from this read and one
                // of the next turn.
                begun.missing
            } else {
                budget.min(largest)
            };
            if most == 0 {
                self.assemble(consumer, begun);
                return self.read_on(READ_BUDGET - budget);
            }
            let room = consumer.spare(most.min(allowed), self.state.shortest_frame());
            let wanted = room.len();
            if wanted == 0 {
                // Reading nothing would look like the peer's end.
                self.assemble(consumer, begun);
                return self.read_on(READ_BUDGET);
            }
            let undelivered = self.state.read.undelivered;
            let had = undelivered + self.state.engine.buffered() + begun.len;
            let kept = self.reader.read_kept(self.id.slot, room).map(Received::Bytes);
            let is_kept = kept.is_some();
            match kept.unwrap_or_else(|| self.state.transport.stream_mut().receive(room)) {
                Received::Bytes(len) => {
                    self.state.pinged = false;
                    // A read of less than was asked for has mostly brought everything.
                    let has_all = !is_kept && self.state.transport.stream().is_dry(len < wanted);
                    let spent = if is_kept { 0 } else { self.state.transport.stream().spent() };
                    if !is_kept {
                        self.count(consumer, len);
                    }
                    let more = !has_all && !compressed && allowed == usize::MAX;
                    begun = self.on_bytes(consumer, begun.len, len, more);
                    self.notice_density(had, len);
                    let mut work = len;
                    if compressed {
                        // What it has inflated, or handed over if that is more: it can have completed a message
                        // inflated in other turns, as can a read of each other connection.
                        let handed_over = self.state.read.undelivered.saturating_sub(undelivered);
                        work = len.max(self.inflated()).max(handed_over);
                    }
                    let work = work.max(spent);
                    // A system call has the cost of that many bytes, however few it brings.
                    let work = if allowed < SMALLEST_READ { work.max(SMALLEST_READ) } else { work };
                    budget = budget.saturating_sub(work);
                    self.reader.turn_budget = self.reader.turn_budget.saturating_sub(work);
                    let is_last = if is_kept { self.is_dry() } else { has_all };
                    if is_last && !to_end {
                        self.assemble(consumer, begun);
                        return self.drained(READ_BUDGET - budget);
                    }
                }
                // What came before is whole, and its answers still go out: `cause_of_end` tells the two apart.
                Received::Eof | Received::Cut => {
                    self.state.read.unread = false;
                    self.assemble(consumer, begun);
                    return self.on_eof(consumer);
                }
                Received::Empty => {
                    self.drained(READ_BUDGET - budget);
                    break;
                }
                Received::Short => {
                    self.timers.retry_later(self.id);
                    break;
                }
                Received::Dead => return self.schedule_close(Cause::Reset),
            }
        }
        self.assemble(consumer, begun);
    }

    /// Whether the stream has no more bytes now. The read that emptied it decides whether it is greedy: a
    /// read in a later turn would find nothing, and make it modest.
    fn is_dry(&mut self) -> bool {
        !self.reader.keeps(self.id.slot)
            && self.state.transport.as_tcp().is_none()
            && matches!(self.state.transport.stream_mut().receive(&mut []), Received::Empty)
    }

    /// Notes whether a read of `len` bytes was mostly short messages: below some 30 bytes they are
    /// charged for a quarter more than they took on the wire. `had`: bytes before the read, incomplete
    /// messages included.
    fn notice_density(&mut self, had: usize, len: usize) {
        if len >= DENSE_READ_SIZE {
            self.state.dense = self.state.read.undelivered.saturating_sub(had) > len + len / 4;
        }
    }

    /// Nothing more is read of this frame now: the engine keeps its beginning.
    fn assemble<C: Consumer>(&mut self, consumer: &mut C, begun: Begun) {
        if begun.len > 0 {
            self.on_bytes(consumer, begun.len, 0, false);
        }
    }

    /// If nothing was read because the consumer decides on the handshake, or has paused, the peer's
    /// end is reported.
    pub(super) fn report_end<C: Consumer>(&mut self, consumer: &mut C) {
        let is_passed_on = self.state.is_open() || self.state.life.is_relayed();
        if self.state.read.paused && is_passed_on {
            return self.look_for_end(consumer);
        }
        let peer = self.state.read.peer;
        let Life::AwaitingDecision(pending) = &mut self.state.life else { return };
        if peer == PeerSide::Dead {
            self.schedule_close(Cause::Reset);
        } else if peer == PeerSide::HungUp && pending.note_end() {
            // The consumer must act by this deadline, as for an open connection.
            self.arm_close();
            consumer.on_end(self);
        }
    }

    /// A paused connection has nothing to wait for after its peer's end, unless there are unread
    /// bytes before that end.
    fn look_for_end<C: Consumer>(&mut self, consumer: &mut C) {
        let has_news = matches!(self.state.read.peer, PeerSide::HungUp | PeerSide::Dead);
        if !has_news || self.state.life.is_gone() {
            return;
        }
        // The peer's close frame was read, and the consumer gets it when it resumes.
        if self.state.engine.close_received() || self.state.engine.failure().is_some() {
            return;
        }
        if self.reader.keeps(self.id.slot) {
            return;
        }
        match self.state.transport.stream_mut().look_ahead() {
            Ahead::Bytes | Ahead::Nothing => {}
            Ahead::End => self.on_eof(consumer),
            Ahead::Dead => self.schedule_close(Cause::Reset),
        }
    }

    /// Takes bytes that were read and counted with a request: they wait for their turn as if they
    /// were still in the socket.
    pub(in crate::reactor) fn feed(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.reader.keep(self.id.slot, bytes);
            self.reader.ready.push(self.id, &mut self.state.read);
        }
    }

    /// The socket has more than the connection's share of this turn; `spent` is used.
    fn read_on(&mut self, spent: usize) {
        if spent == 0 {
            return self.want_read();
        }
        self.state.read.class.note(spent);
        self.reader.ready.push_served(self.id, &mut self.state.read);
    }

    /// The socket has nothing more for now; `spent` of the share is used.
    fn drained(&mut self, spent: usize) {
        self.state.read.unread = false;
        self.state.read.class.note(spent);
    }

    pub(in crate::reactor) fn count<C: Consumer>(&mut self, consumer: &mut C, len: usize) {
        self.state.read.received += len as u64;
        self.metrics.tally.bytes_received += len as u64;
        consumer.on_received(self.id, self.state.read.received);
    }

    /// `len` bytes are at the consumer's position, after `kept` bytes of a frame that begins there.
    /// With `more` to come, the beginning of the last frame can stay where it is.
    pub(in crate::reactor) fn on_bytes<C: Consumer>(
        &mut self,
        consumer: &mut C,
        kept: usize,
        len: usize,
        more: bool,
    ) -> Begun {
        let claimed = consumer.claim(len);
        let range = claimed.start.saturating_sub(kept)..claimed.end;
        match self.state.life {
            Life::Open | Life::Closing { .. } => {
                self.touch_silence();
                let frames = self.metrics.tally.frames_received();
                let fragments = self.state.engine.small_fragments();
                let (kept, whole) = on_frames(consumer, self, range.clone(), more);
                if self.state.config.rates.is_some() {
                    let frames = self.metrics.tally.frames_received() - frames;
                    let small = self.state.engine.small_fragments();
                    let small = small.wrapping_sub(fragments).cast_signed().max(0) as u64;
                    charge(consumer, self, frames + small, len);
                }
                let bytes = self.state.engine.buffered();
                self.reader.unfinished.set(self.id, bytes, (len, whole), self.timers.now());
                if kept.len == 0 {
                    consumer.release(range);
                }
                return kept;
            }
            Life::Opening(_) | Life::AwaitingDecision(_) => {
                let bytes = consumer.buffer(range.clone()).to_vec();
                consumer.release(range);
                match upgrade::on_bytes(consumer, self, &bytes) {
                    Step::Opened(rest) => self.feed(&rest),
                    Step::HandOff(bytes) => self.hand_off(consumer, &bytes),
                    Step::Wait | Step::Again => {}
                }
            }
            Life::Relayed => consumer.on_data(self, range),
            Life::Draining { .. } | Life::Gone(_) => consumer.release(range),
        }
        Begun::default()
    }

    fn on_eof<C: Consumer>(&mut self, consumer: &mut C) {
        self.state.read.peer = PeerSide::Ended;
        if let Some(bytes) = upgrade::unfinished(self) {
            self.hand_off(consumer, &bytes);
        }
        let Connection { write, life, .. } = &mut *self.state;
        if life.is_gone() {
            return;
        }
        if life.is_relayed() && !write.state.is_ended() {
            return consumer.on_end(self);
        }
        if !self.state.is_open() || self.state.close_complete() || self.state.write.state.is_ended() {
            let write = &mut self.state.write;
            if write.queued() == 0 || write.state.is_ended() {
                return self.schedule_close(Cause::Fin);
            }
            write.state.end_when_written();
            return self.touch();
        }
        // The consumer must act by this deadline.
        if matches!(self.state.life, Life::Open) {
            self.arm_close();
        }
        // A close frame was received and reported: the consumer's answer ends the connection.
        if !self.state.engine.close_received() && self.state.engine.failure().is_none() {
            consumer.on_end(self);
        }
    }
}
