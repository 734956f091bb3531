//! Sends to a connection, from messages to queued frames.

use std::io::IoSlice;

use crate::bridge::layout::{CONTROL_BYTES, OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_TEXT};
use crate::engine::Large;
use crate::engine::frame::wire_len;
use crate::engine::{Frame, FrameKind, MessageKind, mask};

use super::Head;
use super::WriteHalf;
use super::masking::Masking;
use crate::reactor::command::apply::submit;
use crate::reactor::command::records::Outbound;
use crate::reactor::config::{COST_OF_COMPRESSED, IN_PLACE};
use crate::reactor::{Conn, Connection};

impl Conn<'_> {
    /// Sends a message, or one fragment of it if `fin` is false (RFC 6455 section 5.4), compressed
    /// where permessage-deflate was negotiated. A long one can leave at once; what the kernel does
    /// not take is copied.
    pub fn send(&mut self, kind: MessageKind, fin: bool, payload: &[u8]) {
        let kind = if kind == MessageKind::Text { OUT_TEXT } else { OUT_BINARY };
        let flags = OUT_FLAG_COMPRESS | if fin { OUT_FLAG_FIN } else { 0 };
        submit(self, Head { kind, flags, aux: 0 }, Outbound::Lent(payload), false);
    }

    /// Bytes beyond 125 are cut off.
    pub fn ping(&mut self, payload: &[u8]) {
        self.pings();
        self.frame(FrameKind::Ping, true, control(payload));
    }

    /// Queues the consumer's messages, uncompressed, on a connection that takes frames and masks
    /// none: whether each is text, and its payload.
    #[inline(always)]
    pub(in crate::reactor) fn queue_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = (bool, &'a [u8])>,
    ) {
        let Connection { engine, write: WriteHalf { outgoing, accepted, .. }, .. } = &mut *self.state;
        let frames = messages.map(|(is_text, payload)| {
            // Two calls with constants, so that neither has to test the kind.
            let header = match is_text {
                true => engine.encode(FrameKind::Text, true, payload.len(), None),
                false => engine.encode(FrameKind::Binary, true, payload.len(), None),
            };
            (header, payload)
        });
        *accepted += outgoing.push_frames(frames, &mut self.writer.pool) as u64;
    }

    /// Sends a consumer's frame. `more`: another one for this connection follows.
    #[inline]
    pub(in crate::reactor) fn send_payload(
        &mut self,
        kind: FrameKind,
        fin: bool,
        masking: Masking,
        payload: Outbound<'_>,
        more: bool,
    ) {
        if kind == FrameKind::Ping {
            self.pings();
        }
        let key = self.key(masking);
        self.account(wire_len(payload.len(), key.is_some()));
        match payload {
            Outbound::Own(large) => {
                self.state.queue_large(kind, fin, large, key);
                self.touch();
            }
            // Frames in a row leave together; a long one that stands alone is spared a copy.
            Outbound::Lent(_) | Outbound::Shared(_) | Outbound::Framed(_) => {
                if more || key.is_some() || !self.frame_now(kind, fin, &payload) {
                    self.frame_with(kind, fin, &payload, key);
                }
            }
        }
    }

    /// Counts a consumer's send for `on_settled`: its bytes on the wire, queued or dropped.
    pub(in crate::reactor) fn account(&mut self, wire_bytes: usize) {
        self.state.write.accepted += wire_bytes as u64;
    }

    fn pings(&mut self) {
        if self.state.takes_frames() {
            self.metrics.pinged(self.id.slot);
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
        if self.state.takes_frames() {
            let Connection { engine, write, .. } = &mut *self.state;
            let header = engine.encode(kind, fin, payload.len(), key);
            write.outgoing.push_frame(&header, payload, key, &mut self.writer.pool);
        }
        self.touch();
    }

    /// The key of the next frame, if it must be masked.
    #[inline]
    pub(in crate::reactor) fn key(&mut self, masking: Masking) -> Option<[u8; 4]> {
        let masks = match masking {
            Masking::Rule => self.state.is_client(),
            Masking::Against => !self.state.is_client(),
            Masking::Key(key) => return Some(key),
        };
        masks.then(|| self.writer.keys.next())
    }

    /// Raw bytes, not a frame: a response to the handshake, or a write of a user to the socket
    /// itself.
    pub(in crate::reactor) fn write(&mut self, bytes: &[u8]) {
        self.write_payload(Outbound::Lent(bytes));
    }

    /// Without copying memory that is the reactor's.
    pub(in crate::reactor) fn write_payload(&mut self, payload: Outbound<'_>) {
        if self.state.write.state.is_ended() {
            return;
        }
        match payload {
            Outbound::Lent(bytes) => self.state.write.outgoing.push(bytes, &mut self.writer.pool),
            other => self.state.write.outgoing.push_whole(other.into_frame()),
        }
        self.touch();
    }

    /// Schedules the queued bytes to be written at the end of the turn, and a report of how far
    /// that went.
    #[inline]
    pub(in crate::reactor) fn touch(&mut self) {
        self.writer.fresh.push(self.id, &mut self.state.write.unwritten);
    }

    /// Writes a frame at once if it is worth a write of its own and nothing waits before it.
    fn frame_now(&mut self, kind: FrameKind, fin: bool, payload: &[u8]) -> bool {
        let now = self.may_write_now(payload.len());
        if now {
            let header = self.state.engine.encode(kind, fin, payload.len(), None);
            self.write_now(&[IoSlice::new(&header), IoSlice::new(payload)]);
        }
        now
    }

    /// Sends a whole frame that other connections send too. `now`: what the kernel takes of a long
    /// one leaves at once, if nothing waits before it.
    pub(in crate::reactor) fn shared(&mut self, (mut frame, compressed): (Frame, usize), now: bool) {
        if compressed != 0 {
            self.note_compressed(compressed, frame.len());
            self.writer.spend(compressed * COST_OF_COMPRESSED);
        }
        if frame.len() < IN_PLACE {
            self.state.write.outgoing.push(&frame, &mut self.writer.pool);
        } else {
            if now && self.may_write_now(frame.len()) {
                // As in `write_now`.
                let sent = self.state.transport.stream_mut().send(&frame).unwrap_or_default();
                // Without this only the record would be charged, which does not have the payload.
                self.writer.left = self.writer.left.saturating_sub(sent);
                self.metrics.tally.bytes_sent += sent as u64;
                frame.skip(sent);
            }
            if !frame.is_empty() {
                self.state.write.outgoing.push_whole(frame);
            }
        }
        self.touch();
    }

    /// The second long one of a turn leaves with others: two writes cost more than a copy.
    fn may_write_now(&self, len: usize) -> bool {
        let connection = &self.state;
        len >= IN_PLACE
            && connection.write.outgoing.is_empty()
            && !connection.write.unwritten.is_set()
            && !connection.read.class.is_packed()
            && connection.takes_frames()
            && !connection.is_client()
    }

    /// Queues bytes that the kernel does not take.
    fn write_now(&mut self, parts: &[IoSlice<'_>]) {
        // The write at the end of the turn will meet any error of the socket again.
        let mut sent = self.state.transport.stream_mut().send_vectored(parts).unwrap_or_default();
        self.metrics.tally.bytes_sent += sent as u64;
        for part in parts {
            let taken = sent.min(part.len());
            sent -= taken;
            if let Some(rest) = part.get(taken..).filter(|rest| !rest.is_empty()) {
                self.state.write.outgoing.push(rest, &mut self.writer.pool);
            }
        }
        // Also when everything is written: that is reported at the end of the turn.
        self.touch();
    }

    /// `on_sent` reports when the kernel has all bytes queued so far.
    pub fn mark(&mut self) {
        self.state.write.mark(false);
        self.touch();
    }

    /// Writes at most `most` of the queued bytes now, not at the end of the turn; charged like a
    /// command.
    pub(in crate::reactor) fn write_at_once(&mut self, most: usize) {
        if self.state.read.class.is_packed() {
            return;
        }
        let before = self.state.write.outgoing.written();
        let Connection { write, transport, .. } = &mut *self.state;
        // As in `write_now`.
        let _again = write.write_to(transport, &mut self.writer.pool, most);
        let sent = self.state.write.outgoing.written() - before;
        self.metrics.tally.bytes_sent += sent;
        self.writer.spend(sent as usize);
    }
}

impl Connection {
    /// Queues a frame without copying its payload; drops it if the connection takes none.
    pub(super) fn queue_large(
        &mut self,
        kind: FrameKind,
        fin: bool,
        mut payload: Large,
        key: Option<[u8; 4]>,
    ) {
        if !self.takes_frames() {
            return;
        }
        let header = self.engine.encode(kind, fin, payload.len(), key);
        if let Some(key) = key {
            mask::unmask(key, 0, payload.payload_mut());
        }
        let (bytes, start) = payload.into_frame(&header);
        self.write.outgoing.push_whole(Frame::new(bytes, start));
    }
}

/// The part that fits a control frame (RFC 6455 section 5.5).
fn control(payload: &[u8]) -> &[u8] {
    payload.get(..payload.len().min(CONTROL_BYTES)).unwrap_or_default()
}
