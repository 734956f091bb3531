//! One transport, its engine, and the bytes it has yet to write.

pub(super) mod deadline;
pub(super) mod life;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::layout::Cause;
use crate::bridge::limits::{SHORTEST_FRAME, SHORTEST_MASKED_FRAME};
use crate::engine::{Engine, Role};

use crate::reactor::config::{COMPRESSED_READ_SIZE, DENSE_READ_SIZE, HEAD_READ, READ_SIZE};
use crate::reactor::connection::life::Life;
use crate::reactor::read::half::{PeerSide, ReadHalf};
use crate::reactor::timers::Deadline;
use crate::reactor::write::half::{Takes, WriteHalf};
use crate::reactor::{ListenerConfig, Transport};

/// Names one connection for as long as the reactor lives: a slot that is used again has another
/// generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Index into a slab; others number the slots from
    /// [`ADOPTED_SLOTS`](crate::bridge::layout::ADOPTED_SLOTS) on.
    pub slot: u32,
    /// Counts the uses of the slot. 0 names no connection.
    pub generation: u32,
}

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
    /// The consumer wants the peer's end, which it knows of, reported once more.
    pub(super) end_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Following {
    /// The connection gets the messages of its topics as they are published.
    Live,
    /// Some topic has messages that it was not sent because it was slow.
    Behind,
    /// The consumer has taken it out of all topics: nothing that is published is for it.
    Left,
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
            end_asked: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.life.is_open()
    }

    /// Whether the next bytes may be compressed, messages after the request included.
    pub(super) fn may_inflate(&self) -> bool {
        let is_raw = self.is_open() || self.life.is_relayed();
        self.engine.has_deflate() || (self.config.deflate.is_some() && !is_raw)
    }

    /// Bytes freed with the connection, as far as they are known.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.engine.buffered() + self.engine.context_bytes() + self.write.outgoing.len()
    }

    pub(super) fn largest_read(&self) -> usize {
        match self.life {
            Life::Opening(_) | Life::Asked(_) => HEAD_READ,
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
            (None, Cause::Fin | Cause::Reset | Cause::CloseTimeout) if ended && self.transport.is_cut() => {
                Cause::Reset
            }
            (None, Cause::Reset | Cause::CloseTimeout) if ended => Cause::Fin,
            (None, last) => last,
        }
    }

    /// What was queued as an answer waits, unless it has left, see [`WriteHalf::hold`].
    pub(super) fn hold(&mut self, until: Takes) {
        self.write.hold(until, &self.transport);
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
