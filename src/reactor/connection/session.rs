//! The operations on a connection that the reactor has in hand.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::time::Duration;

use crate::bridge::layout::{CONTROL_BYTES, Cause, REASON_BYTES};
use crate::bridge::tally::Pause;
use crate::engine::frame::write_before;
use crate::engine::{CloseCode, FrameKind, MessageKind, PreparedFrame};

use crate::reactor::command::records::Outbound;
use crate::reactor::config::{COST_OF_COMPRESSED, IN_PLACE, LAST_WRITE, SMALL_ALLOWANCE};
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::life::Life;
use crate::reactor::consume::message::{Bytes, Message, frame_kind};
use crate::reactor::open::opening::Opening;
use crate::reactor::read::half::{PeerSide, ReadHalf};
use crate::reactor::work::Work;
use crate::reactor::write::masking::Masking;

/// One connection, as a handler or a command sees it.
pub struct Session<'a> {
    pub(in crate::reactor) id: ConnectionId,
    pub(in crate::reactor) connection: &'a mut Connection,
    pub(in crate::reactor) work: &'a mut Work,
}

impl Session<'_> {
    /// The id of the connection.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Whether frames go both ways; false during the handshake and after a refusal.
    pub fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    /// Our end of the socket; `None` when the kernel does not know it (a dead socket).
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.connection.transport.local_address()
    }

    /// The peer's end of the socket.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.connection.transport.remote_address()
    }

    /// The description of the connection without its request.
    pub(in crate::reactor) fn opening(&self) -> Opening<'static> {
        Opening {
            listener: self.connection.listener,
            local: self.local_address(),
            remote: self.remote_address(),
            request: None,
            protocol: None,
            extensions: None,
            rest: &[],
        }
    }

    /// Bytes that wait to be written.
    pub fn queued(&self) -> usize {
        self.connection.write.outgoing.len()
    }

    /// Sends a message, or one fragment of it when `fin` is false (RFC 6455 section 5.4). Copies
    /// `payload`, and compresses it where permessage-deflate was negotiated.
    pub fn send(&mut self, kind: MessageKind, fin: bool, payload: &[u8]) {
        self.data(frame_kind(kind), fin, payload);
    }

    /// Sends a ping with at most 125 bytes; more is cut off.
    pub fn ping(&mut self, payload: &[u8]) {
        self.pings();
        self.frame(FrameKind::Ping, true, control(payload));
    }

    /// Sends a pong with at most 125 bytes; more is cut off.
    pub fn pong(&mut self, payload: &[u8]) {
        self.frame(FrameKind::Pong, true, control(payload));
    }

    /// Sends a message back as it came: from the receive buffer itself where that saves a copy.
    pub fn send_back(&mut self, message: Message<'_>) {
        let kind = frame_kind(message.kind);
        if self.connection.engine.has_deflate() {
            return self.data(kind, true, message.payload.as_slice());
        }
        let Bytes::Input { buffer, range, headroom } = message.payload else {
            return self.frame(kind, true, message.payload.as_slice());
        };
        let payload = buffer.get(range.clone()).unwrap_or_default();
        if !self.may_write_now(payload.len()) {
            return self.frame(kind, true, payload);
        }
        let header = self.connection.engine.encode(kind, true, range.len(), None);
        match write_before(buffer, range.clone(), headroom, &header) {
            Some(frame) => self.write_now(&[IoSlice::new(buffer.get(frame).unwrap_or_default())]),
            None => {
                self.write_now(&[IoSlice::new(&header), IoSlice::new(buffer.get(range).unwrap_or_default())])
            }
        }
    }

    /// Sends a close frame and closes the socket once the peer has answered, at the latest after
    /// the listener's `close_timeout`. `None` = a frame without a code; a reason is cut to 123
    /// bytes.
    pub fn close(&mut self, code: Option<CloseCode>, reason: &[u8]) {
        self.close_with(code, reason, Masking::Rule);
    }

    pub(in crate::reactor) fn close_with(
        &mut self,
        code: Option<CloseCode>,
        reason: &[u8],
        masking: Masking,
    ) {
        let mut body = [0; CONTROL_BYTES];
        let mut len = 0;
        if let Some(code) = code {
            let reason = reason.get(..reason.len().min(REASON_BYTES)).unwrap_or_default();
            len = 2 + reason.len();
            for (to, from) in body.iter_mut().zip(code.to_bytes().iter().chain(reason)) {
                *to = *from;
            }
        }
        let first = !self.connection.engine.close_sent();
        let key = self.key(masking);
        self.frame_with(FrameKind::Close, true, body.get(..len).unwrap_or_default(), key);
        if first {
            self.arm_close();
        }
    }

    /// Ends our side of the socket once all is written; the connection is closed when the peer has
    /// ended its side too, at the latest after the listener's `close_timeout`. Before the handshake
    /// is done, later bytes of the peer are no request any more.
    pub fn end(&mut self) {
        if matches!(self.connection.life, Life::Opening(_) | Life::Asked(_)) {
            return self.respond(&[]);
        }
        self.connection.write.state.end_when_written();
        self.arm_close();
        self.touch();
    }

    /// Closes the socket after one attempt to write the waiting bytes.
    /// Bytes that were read already are not reported any more.
    pub fn terminate(&mut self) {
        self.cut(Cause::Terminate);
    }

    /// The same for another reason.
    pub(in crate::reactor) fn cut(&mut self, cause: Cause) {
        if self.connection.life.is_gone() {
            return;
        }
        // Bytes that the kernel does not take now are lost, as with the destroy() of a net.Socket.
        let queued = self.connection.write.outgoing.len();
        let Connection { write, transport, .. } = &mut *self.connection;
        let _gone_anyway = write.write_to(transport, &mut self.work.pool, LAST_WRITE);
        let sent = queued.saturating_sub(self.connection.write.outgoing.len());
        self.work.tally.bytes_sent += sent as u64;
        self.work.spend_on_commands(sent);
        self.doom(cause);
    }

    /// Destroys the connection with a reset: waiting bytes are lost, and the peer sees an error.
    pub fn reset(&mut self) {
        self.connection.transport.reset_when_dropped();
        self.doom(Cause::Terminate);
    }

    /// The connection is destroyed at the end of this step.
    pub(in crate::reactor) fn doom(&mut self, cause: Cause) {
        self.work.doomed.push(self.id, self.connection, cause);
    }

    /// Stops reading the socket; TCP then holds the peer back. Bytes that have been read already
    /// are still reported.
    pub fn pause(&mut self) {
        self.connection.read.paused = true;
        self.work.watch.stopped(self.id.slot, Pause::Program, self.work.now);
    }

    /// Reads again.
    pub fn resume(&mut self) {
        self.connection.read.paused = false;
        self.work.watch.resumed(self.id.slot, self.work.now);
        self.want_read();
    }

    /// Reports the peer's end, if it has ended its side, once more behind what can be written.
    pub(in crate::reactor) fn ask_end(&mut self) {
        self.connection.end_asked = self.connection.read.peer == PeerSide::Ended;
        self.touch();
    }

    /// Whether small writes leave at once (TCP_NODELAY). Default: true. A socket that refuses it
    /// stays as it is.
    pub fn set_no_delay(&mut self, on: bool) {
        self.connection.transport.set_no_delay(on);
    }

    /// Whether the system probes a silent peer (SO_KEEPALIVE), after `idle` if that is not zero.
    /// Default: false. A socket that refuses it stays as it is.
    pub fn set_keep_alive(&mut self, on: bool, idle: Duration) {
        self.connection.transport.set_keep_alive(on, idle);
    }

    /// Inbound bytes that the consumer has yet to take; above the mark the socket is not read.
    pub fn hold(&mut self, bytes: usize) {
        self.add_held(bytes);
        self.connection.read.holds_data = true;
    }

    /// The same for a ping or pong.
    pub fn hold_control(&mut self, bytes: usize) {
        if !self.connection.read.holds_data && self.connection.read.held > SMALL_ALLOWANCE {
            self.work.starved.reserve_used += bytes;
        }
        self.add_held(bytes);
    }

    fn add_held(&mut self, bytes: usize) {
        self.work.starved.holders += usize::from(self.connection.read.held == 0 && bytes > 0);
        self.connection.read.held += bytes;
    }

    /// Counts a consumer's send for `on_settled`: its bytes on the wire, queued or dropped.
    pub(in crate::reactor) fn account(&mut self, wire_bytes: usize) {
        self.connection.write.accepted += wire_bytes as u64;
    }

    /// A ping is about to be sent.
    pub(in crate::reactor) fn pings(&mut self) {
        if self.connection.takes_frames() {
            self.work.watch.pinged(self.id.slot);
        }
    }

    pub(in crate::reactor) fn frame(&mut self, kind: FrameKind, fin: bool, payload: &[u8]) {
        let key = self.key(Masking::Rule);
        self.frame_with(kind, fin, payload, key);
    }

    pub(in crate::reactor) fn frame_with(
        &mut self,
        kind: FrameKind,
        fin: bool,
        payload: &[u8],
        key: Option<[u8; 4]>,
    ) {
        self.connection.queue_frame(kind, fin, payload, key, &mut self.work.pool);
        self.touch();
    }

    /// The key of the next frame, if it is to be masked.
    #[inline]
    pub(in crate::reactor) fn key(&mut self, masking: Masking) -> Option<[u8; 4]> {
        let masks = match masking {
            Masking::Rule => self.connection.is_client(),
            Masking::Against => !self.connection.is_client(),
            Masking::Key(key) => return Some(key),
        };
        masks.then(|| self.work.keys.next())
    }

    /// Raw bytes, not a frame (a response to the handshake, or what a user writes to the socket
    /// itself).
    pub(in crate::reactor) fn write(&mut self, bytes: &[u8]) {
        if !self.connection.write.state.is_ended() {
            self.connection.write.outgoing.push(bytes, &mut self.work.pool);
            self.touch();
        }
    }

    /// The same, without copying memory that is the reactor's.
    pub(in crate::reactor) fn write_payload(&mut self, payload: Outbound<'_>) {
        if self.connection.write.state.is_ended() {
            return;
        }
        match payload {
            Outbound::Lent(bytes) => self.connection.write.outgoing.push(bytes, &mut self.work.pool),
            Outbound::Shared(frame) => self.connection.write.outgoing.push_shared(frame),
            Outbound::Own(large) => {
                let (bytes, start) = large.into_memory();
                self.connection.write.outgoing.push_owned(bytes, start);
            }
        }
        self.touch();
    }

    pub(in crate::reactor) fn arm_close(&mut self) {
        if matches!(self.connection.life, Life::Open) {
            self.connection.life = Life::Closing { cause: None };
        }
        let after = self.connection.config.close_timeout;
        self.work.timers.arm(self.id, &mut self.connection.deadline, self.work.now, after);
    }

    /// Refuses the handshake with `response`; the connection then waits for the peer's end.
    pub(in crate::reactor) fn respond(&mut self, response: &[u8]) {
        self.write(response);
        self.connection.life = Life::Draining { reported: self.connection.life.is_reported(), cause: None };
        self.connection.write.state.end_when_written();
        self.work.lingering.push_back(self.id);
        let after = crate::reactor::config::LINGER_TIMEOUT;
        self.work.timers.arm(self.id, &mut self.connection.deadline, self.work.now, after);
        self.want_read();
    }

    /// After a panic: sends 1011 behind the queued bytes, which are whole frames; bytes that the
    /// peer still sends are thrown away. False if no frame may be sent any more.
    pub(in crate::reactor) fn give_up(&mut self) -> bool {
        let connection = &mut *self.connection;
        if !connection.takes_frames() {
            return false;
        }
        connection.write.deferred = None;
        connection.read.paused = false;
        self.frame(FrameKind::Close, true, &CloseCode::INTERNAL_ERROR.to_bytes());
        self.respond(&[]);
        self.connection.life.blame(Cause::Panic);
        true
    }

    /// Schedules the queued bytes to be written at the end of the turn, and the consumer to be
    /// informed how far that went.
    #[inline]
    pub(in crate::reactor) fn touch(&mut self) {
        self.work.unwritten.push(self.id, &mut self.connection.write);
    }

    /// Puts the connection on the list of those to read, if there may be something.
    pub(in crate::reactor) fn want_read(&mut self) {
        if self.connection.read.state.is_unread() {
            let ReadHalf { state, greedy, .. } = &mut self.connection.read;
            self.work.ready.push(self.id, state, *greedy);
        }
    }

    /// Writes a frame at once if it is long enough to be worth a write of its own and nothing waits
    /// before it.
    pub(in crate::reactor) fn frame_now(&mut self, kind: FrameKind, fin: bool, payload: &[u8]) -> bool {
        let now = self.may_write_now(payload.len());
        if now {
            let header = self.connection.engine.encode(kind, fin, payload.len(), None);
            self.write_now(&[IoSlice::new(&header), IoSlice::new(payload)]);
        }
        now
    }

    /// Sends a whole frame that other connections send too; `now`: the part that the kernel takes
    /// of a long one leaves at once, if nothing waits before it.
    pub(in crate::reactor) fn shared(
        &mut self,
        PreparedFrame { mut frame, compressed }: PreparedFrame,
        now: bool,
    ) {
        if compressed != 0 {
            self.note_compressed(compressed, frame.len());
            self.work.spend_on_commands(compressed * COST_OF_COMPRESSED);
        }
        if frame.len() < IN_PLACE {
            self.connection.write.outgoing.push(&frame, &mut self.work.pool);
        } else {
            if now && self.may_write_now(frame.len()) {
                // As in `write_now`.
                let sent = self.connection.transport.send(&frame).unwrap_or_default();
                // Otherwise only the record, which does not have the payload, is charged.
                self.work.command_budget = self.work.command_budget.saturating_sub(sent);
                self.work.tally.bytes_sent += sent as u64;
                frame.skip(sent);
            }
            if !frame.is_empty() {
                self.connection.write.outgoing.push_shared(frame);
            }
        }
        self.touch();
    }

    fn may_write_now(&self, len: usize) -> bool {
        let connection = &self.connection;
        len >= IN_PLACE
            && connection.write.outgoing.is_empty()
            && connection.takes_frames()
            && !connection.is_client()
    }

    /// Writes the parts of a frame and queues the bytes that the kernel does not take.
    fn write_now(&mut self, parts: &[IoSlice<'_>]) {
        // The write at the end of the turn will meet any error of the socket again.
        let mut sent = self.connection.transport.send_vectored(parts).unwrap_or_default();
        self.work.tally.bytes_sent += sent as u64;
        for part in parts {
            let taken = sent.min(part.len());
            sent -= taken;
            if let Some(rest) = part.get(taken..).filter(|rest| !rest.is_empty()) {
                self.connection.write.outgoing.push(rest, &mut self.work.pool);
            }
        }
        // Also when all is written: that is reported at the end of the turn.
        self.touch();
    }
}

/// The part that fits a control frame (RFC 6455 section 5.5).
fn control(payload: &[u8]) -> &[u8] {
    payload.get(..payload.len().min(CONTROL_BYTES)).unwrap_or_default()
}
