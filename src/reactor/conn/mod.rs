//! One connection: its state, and what can be done with it.

pub(super) mod deadline;
pub(super) mod life;
pub(super) mod origin;
pub(super) mod teardown;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::Poll;
use mio::event::Event;

use crate::bridge::layout::{CONTROL_BYTES, Cause, REASON_BYTES};
use crate::bridge::limits::{SHORTEST_FRAME, SHORTEST_MASKED_FRAME};
use crate::engine::{CloseCode, Engine, FrameKind, Role};

use crate::reactor::barrier::DeliveryBarrier;
use crate::reactor::config::{COMPRESSED_READ_SIZE, DENSE_READ_SIZE, HEAD_READ, LAST_WRITE, READ_SIZE};
use crate::reactor::handover::Handovers;
use crate::reactor::metrics::Metrics;
use crate::reactor::read::Reader;
use crate::reactor::read::{PeerSide, ReadClass, ReadHalf};
use crate::reactor::timers::{Deadline, Timers};
use crate::reactor::topics::{Following, Topics};
use crate::reactor::write::Writer;
use crate::reactor::write::masking::Masking;
use crate::reactor::write::{HoldReason, WriteHalf};
use crate::reactor::{Consumer, ListenerConfig, ReactorConfig, Transport};
use life::Life;
use teardown::Teardown;

/// Names one connection in the life of the reactor: a slot that is used again has another
/// generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Index into a slab; others number the slots from
    /// [`ADOPTED_SLOTS`](crate::bridge::layout::ADOPTED_SLOTS) on.
    pub slot: u32,
    /// Counts the uses of the slot. 0 names no connection.
    pub generation: u32,
}

/// One transport, its engine, and the bytes it has yet to write.
pub(super) struct Connection {
    pub(super) transport: Transport,
    pub(super) listener: u32,
    pub(super) config: Arc<ListenerConfig>,
    pub(super) engine: Engine,
    pub(super) life: Life,
    pub(super) read: ReadHalf,
    pub(super) write: WriteHalf,
    /// Its purpose depends on `life`.
    pub(super) deadline: Deadline,
    /// No byte of the peer has followed our ping.
    pub(super) pinged: bool,
    /// The last long read was mostly short messages, so the next is short. Here and not in `read`,
    /// where it would take 8 bytes.
    pub(super) dense: bool,
    /// Here for the same reason.
    pub(super) following: Following,
    /// The consumer asked to have the peer's end reported again.
    pub(super) end_wanted: bool,
}

/// One connection, with the parts of the reactor that it needs.
pub struct Conn<'a> {
    pub(super) id: ConnectionId,
    pub(super) state: &'a mut Connection,
    pub(super) config: &'a ReactorConfig,
    pub(super) poll: Option<&'a Poll>,
    pub(super) topics: &'a mut Topics,
    pub(super) timers: &'a mut Timers,
    pub(super) reader: &'a mut Reader,
    pub(super) writer: &'a mut Writer,
    pub(super) barrier: &'a mut DeliveryBarrier,
    pub(super) teardown: &'a mut Teardown,
    pub(super) handovers: &'a mut Handovers,
    pub(super) metrics: &'a mut Metrics,
}

impl Conn<'_> {
    /// The poll has something to report of the socket.
    pub(super) fn on_event<C: Consumer>(&mut self, consumer: &mut C, event: &Event) {
        let (readable, closed) = (event.is_readable(), event.is_read_closed() || event.is_error());
        if event.is_writable() {
            self.on_writable();
        }
        if closed {
            self.on_hang_up();
        }
        if readable || closed {
            let seen = match (closed, event.is_error()) {
                (_, true) => PeerSide::Dead,
                (true, false) => PeerSide::HungUp,
                (false, false) if event.is_priority() => PeerSide::Urgent,
                (false, false) => PeerSide::Open,
            };
            self.on_peer(consumer, seen);
        }
    }

    pub(super) fn on_writable(&mut self) {
        // The next read returns the error.
        let _again = self.state.transport.stream_mut().flush();
        self.go_on(HoldReason::Edge);
    }

    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Whether frames go both ways; false during the handshake and after a refusal.
    pub fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// `None` when the kernel does not know it (a dead socket).
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.state.transport.local_address()
    }

    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.state.transport.remote_address()
    }

    pub fn queued(&self) -> usize {
        self.state.write.queued()
    }

    /// Sends a close frame and closes the socket once the peer has answered, or after
    /// `close_timeout`. `None`: a frame without a code. A reason is cut to 123 bytes.
    pub fn close(&mut self, code: Option<CloseCode>, reason: &[u8]) {
        self.close_with(code, reason, Masking::Rule);
    }

    pub(super) fn close_with(&mut self, code: Option<CloseCode>, reason: &[u8], masking: Masking) {
        let mut body = [0; CONTROL_BYTES];
        let mut len = 0;
        if let Some(code) = code {
            let reason = reason.get(..reason.len().min(REASON_BYTES)).unwrap_or_default();
            len = 2 + reason.len();
            for (to, from) in body.iter_mut().zip(code.to_bytes().iter().chain(reason)) {
                *to = *from;
            }
        }
        let first = !self.state.engine.close_sent();
        let key = self.key(masking);
        self.frame_with(FrameKind::Close, true, body.get(..len).unwrap_or_default(), key);
        if first {
            self.arm_close();
        }
    }

    /// Ends our side of the socket once everything is written. The connection closes when the
    /// peer's side has ended too, or after `close_timeout`; a relayed one only then. Before the
    /// handshake is done, later bytes of the peer are no request any more.
    pub fn end(&mut self) {
        if matches!(self.state.life, Life::Opening(_) | Life::AwaitingDecision(_)) {
            return self.respond(&[]);
        }
        self.state.write.state.end_when_written();
        if !self.state.life.is_relayed() {
            self.arm_close();
        }
        self.touch();
    }

    /// Closes the socket after one attempt to write the waiting bytes. Bytes that were read already
    /// are not reported any more.
    pub fn terminate(&mut self) {
        self.cut(Cause::Terminate);
    }

    pub(super) fn cut(&mut self, cause: Cause) {
        if self.state.life.is_gone() {
            return;
        }
        // Bytes that the kernel does not take now are lost, as with destroy() of a net.Socket.
        self.write_at_once(LAST_WRITE);
        self.schedule_close(cause);
    }

    /// Destroys the connection with a reset: waiting bytes are lost, and the peer sees an error.
    pub fn reset(&mut self) {
        self.state.transport.stream_mut().reset_when_dropped();
        self.schedule_close(Cause::Terminate);
    }

    pub(super) fn schedule_close(&mut self, cause: Cause) {
        self.teardown.schedule_close(self.id, self.state, cause);
    }

    /// Why the connection ends, if our side ends now after the peer's.
    pub(super) fn cause_of_end(&self) -> Cause {
        self.state.cause_of_end(Cause::Fin)
    }

    /// If the peer has ended its side, reports that once more, after what can be written.
    pub(super) fn ask_end(&mut self) {
        self.state.end_wanted = self.state.read.peer == PeerSide::Ended;
        self.touch();
    }

    pub(super) fn arm(&mut self, after: Duration) {
        self.timers.arm(self.id, &mut self.state.deadline, after);
    }

    pub(super) fn arm_close(&mut self) {
        if matches!(self.state.life, Life::Open) {
            self.state.life = Life::Closing { cause: None };
        }
        let after = self.state.config.close_timeout;
        self.arm(after);
    }

    /// Refuses the handshake; the connection then waits for the peer's end. Before the handshake of
    /// TLS is done, an alert is all that the peer is told.
    pub(super) fn respond(&mut self, response: &[u8]) {
        if self.state.transport.stream().is_open() {
            self.write(response);
        } else {
            self.state.read.class = ReadClass::Modest;
            self.touch();
        }
        self.drain();
        self.state.write.state.end_when_written();
        self.teardown.drain(self.id);
        let after = crate::reactor::config::DRAIN_TIMEOUT;
        self.arm(after);
    }

    /// From here on, bytes of the peer are read and thrown away.
    pub(super) fn drain(&mut self) {
        self.state.life = Life::Draining { reported: self.state.life.is_reported(), cause: None };
        self.state.read.paused = false;
        self.want_read();
    }

    /// After a panic: sends 1011 after the queued bytes, which are whole frames, and throws away
    /// later bytes of the peer. False if no frame can be sent any more.
    pub(super) fn give_up(&mut self) -> bool {
        let connection = &mut *self.state;
        if !connection.takes_frames() {
            return false;
        }
        connection.write.deferred = None;
        self.frame(FrameKind::Close, true, &CloseCode::INTERNAL_ERROR.to_bytes());
        self.respond(&[]);
        self.state.life.blame(Cause::Panic);
        true
    }
}

impl Connection {
    pub(super) fn new(transport: Transport, listener: u32, config: Arc<ListenerConfig>, life: Life) -> Self {
        Self {
            transport,
            listener,
            config,
            engine: Engine::new(),
            life,
            deadline: Deadline::default(),
            read: ReadHalf::default(),
            write: WriteHalf::default(),
            pinged: false,
            dense: false,
            following: Following::Live,
            end_wanted: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.life.is_open()
    }

    /// Whether the next bytes can be compressed, messages after the request included.
    pub(super) fn may_inflate(&self) -> bool {
        let is_raw = self.is_open() || self.life.is_relayed();
        self.engine.has_deflate() || (self.config.deflate.is_some() && !is_raw)
    }

    /// Bytes freed with the connection, as far as they are known.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.engine.buffered() + self.engine.context_bytes() + self.write.queued()
    }

    pub(super) fn largest_read(&self) -> usize {
        match self.life {
            Life::Opening(_) | Life::AwaitingDecision(_) => HEAD_READ,
            _ if self.engine.has_deflate() => COMPRESSED_READ_SIZE,
            _ if self.dense => DENSE_READ_SIZE,
            _ => READ_SIZE,
        }
    }

    #[inline]
    pub(super) fn is_client(&self) -> bool {
        self.config.engine.role == Role::Client
    }

    pub(super) fn shortest_frame(&self) -> usize {
        if self.is_client() { SHORTEST_FRAME } else { SHORTEST_MASKED_FRAME }
    }

    /// Both sides have sent their close frames, or the peer can send nothing more.
    pub(super) fn close_complete(&self) -> bool {
        self.engine.close_sent() && (self.engine.close_received() || self.engine.failure().is_some())
    }

    /// The first cause counts, and a close frame more than what became of the socket after it.
    pub(super) fn cause_of_end(&self, last: Cause) -> Cause {
        let ended = self.read.peer == PeerSide::Ended;
        let first = self.life.cause().or_else(|| self.engine.failure().map(Cause::from));
        match (first, last) {
            (Some(first), _) => first,
            (None, _) if self.engine.close_received() => Cause::Closed,
            // For an HTTP server it is an end, as in Node.
            (None, Cause::Fin | Cause::Reset | Cause::CloseTimeout)
                if ended && !self.life.is_relayed() && self.transport.stream().is_cut() =>
            {
                Cause::Reset
            }
            (None, Cause::Reset | Cause::CloseTimeout) if ended => Cause::Fin,
            (None, last) => last,
        }
    }

    /// Not before the handshake is done, not after a close frame (RFC 6455 section 5.5.1), not
    /// after our end.
    pub(super) fn takes_frames(&self) -> bool {
        self.is_open() && !self.engine.close_sent() && !self.write.state.is_ended()
    }

    /// The silence after which something must be done; `None` if silence does not matter.
    pub(super) fn silence(&self) -> Option<Duration> {
        let (ping, idle) = (self.config.ping_interval, self.config.idle_timeout);
        match (ping.is_zero(), idle.is_zero()) {
            (true, true) => None,
            (false, true) => Some(ping),
            (true, false) => Some(idle),
            (false, false) => Some(ping.min(idle)),
        }
    }
}
