//! One transport, its engine, and the bytes it has yet to write.

pub(in crate::reactor) mod deadline;
pub(in crate::reactor) mod gate;
pub(in crate::reactor) mod gates;
pub(in crate::reactor) mod id;
pub(in crate::reactor) mod life;
pub(in crate::reactor) mod marks;
pub(in crate::reactor) mod queue;
pub(in crate::reactor) mod retries;
pub(in crate::reactor) mod session;
pub(in crate::reactor) mod sweep;
pub(in crate::reactor) mod table;
pub(in crate::reactor) mod timers;
pub(in crate::reactor) mod watch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bridge::large::Large;
use crate::bridge::layout::Cause;
use crate::bridge::limits::{SHORTEST_FRAME, SHORTEST_MASKED_FRAME};
use crate::engine::{Engine, FrameKind, Role, mask};

use crate::reactor::config::{COMPRESSED_READ_SIZE, DENSE_READ_SIZE, HEAD_READ, ListenerConfig, READ_SIZE};
use crate::reactor::connection::life::Life;
use crate::reactor::connection::marks::Marks;
use crate::reactor::connection::timers::Deadline;
use crate::reactor::read::half::{PeerSide, ReadHalf};
use crate::reactor::transport::Transport;
use crate::reactor::write::half::WriteHalf;
use crate::reactor::write::outgoing::Pool;

pub(in crate::reactor) struct Connection {
    pub(in crate::reactor) transport: Transport,
    pub(in crate::reactor) listener: u32,
    pub(in crate::reactor) config: Arc<ListenerConfig>,
    pub(in crate::reactor) engine: Engine,
    pub(in crate::reactor) life: Life,
    pub(in crate::reactor) read: ReadHalf,
    pub(in crate::reactor) write: WriteHalf,
    /// Its purpose depends on `life`.
    pub(in crate::reactor) deadline: Deadline,
    /// A ping of ours has not been followed by any byte of the peer.
    pub(in crate::reactor) pinged: bool,
    /// Its last long read was mostly short messages: the next one brings no more than some hundred.
    /// Here and not in `read`, where it would take 8 bytes.
    pub(in crate::reactor) dense: bool,
    /// Its part in topics. Here for the same reason.
    pub(in crate::reactor) following: Following,
    /// The consumer wants the peer's end, which it knows of, reported once more.
    pub(in crate::reactor) end_asked: bool,
    /// Sends whose end the consumer wants reported. Boxed: few connections have any at a time.
    pub(in crate::reactor) marks: Option<Box<Marks>>,
    /// The time at which compression contexts were used last; `None` when there are none to
    /// release. Boxed: few connections have any.
    pub(in crate::reactor) contexts_used: Option<Box<Instant>>,
}

/// The part of a connection in topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reactor) enum Following {
    /// It gets the messages of its topics as they are published.
    Live,
    /// Some topic has messages for it that were not sent because it was slow.
    Behind,
    /// The consumer has taken it out of all topics: nothing that is published is for it.
    Left,
}

impl Connection {
    pub(in crate::reactor) fn new(
        transport: Transport,
        listener: u32,
        config: Arc<ListenerConfig>,
        life: Life,
    ) -> Self {
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
            marks: None,
            contexts_used: None,
        }
    }

    pub(in crate::reactor) fn is_open(&self) -> bool {
        self.life.is_open()
    }

    /// Whether the next bytes may be compressed: messages that come behind the request too.
    pub(in crate::reactor) fn may_inflate(&self) -> bool {
        self.engine.has_deflate() || (self.config.deflate.is_some() && !self.is_open())
    }

    /// The bytes freed with the connection, as far as they are known.
    pub(in crate::reactor) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.engine.buffered() + self.engine.context_bytes() + self.write.outgoing.len()
    }

    /// The most bytes of the connection to read at once.
    pub(in crate::reactor) fn largest_read(&self) -> usize {
        match self.life {
            Life::Opening(_) | Life::Asked(_) => HEAD_READ,
            _ if self.engine.has_deflate() => COMPRESSED_READ_SIZE,
            _ if self.dense => DENSE_READ_SIZE,
            _ => READ_SIZE,
        }
    }

    /// Whether our end is the client, which masks its frames.
    #[inline]
    pub(in crate::reactor) fn is_client(&self) -> bool {
        self.config.engine.role == Role::Client
    }

    /// Bytes of the shortest frame that the peer may send.
    pub(in crate::reactor) fn shortest_frame(&self) -> usize {
        if self.is_client() { SHORTEST_FRAME } else { SHORTEST_MASKED_FRAME }
    }

    /// Both sides have sent their close frames, or the peer can send nothing more.
    pub(in crate::reactor) fn close_complete(&self) -> bool {
        self.engine.close_sent() && (self.engine.close_received() || self.engine.failed())
    }

    /// Why it ends: the first cause counts, and a close frame more than what became of the socket
    /// after it.
    pub(in crate::reactor) fn cause_of_end(&self, last: Cause) -> Cause {
        let ended = self.read.peer == PeerSide::Ended;
        let first = self.life.cause().or_else(|| self.engine.failure().map(Cause::from));
        match (first, last) {
            (Some(first), _) => first,
            (None, _) if self.engine.close_received() => Cause::Closed,
            (None, Cause::Reset | Cause::CloseTimeout) if ended => Cause::Fin,
            (None, last) => last,
        }
    }

    /// Whether a frame may be sent: not before the handshake is done, not after a close frame (RFC
    /// 6455 section 5.5.1), not after our end.
    pub(in crate::reactor) fn takes_frames(&self) -> bool {
        self.is_open() && !self.engine.close_sent() && !self.write.state.is_ended()
    }

    /// Queues a frame, copying its payload. It is dropped when the connection does not take any.
    pub(in crate::reactor) fn queue_frame(
        &mut self,
        kind: FrameKind,
        fin: bool,
        payload: &[u8],
        key: Option<[u8; 4]>,
        pool: &mut Pool,
    ) {
        if !self.takes_frames() {
            return;
        }
        let header = self.engine.encode(kind, fin, payload.len(), key);
        match key {
            None => self.write.outgoing.push_frame(&header, payload, pool),
            Some(key) => self.write.outgoing.push_masked(&header, payload, key, pool),
        }
    }

    /// As `queue_frame` for a consumer's messages that are not compressed, on a connection that
    /// takes frames and masks none. Each is given as whether it is text, and its payload.
    #[inline(always)]
    pub(in crate::reactor) fn queue_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = (bool, &'a [u8])>,
        pool: &mut Pool,
    ) {
        let Self { engine, write: WriteHalf { outgoing, accepted, .. }, .. } = self;
        let frames = messages.map(|(is_text, payload)| {
            // Two calls, so that neither has to test for the other role.
            let header = match is_text {
                true => engine.encode(FrameKind::Text, true, payload.len(), None),
                false => engine.encode(FrameKind::Binary, true, payload.len(), None),
            };
            (header, payload)
        });
        *accepted += outgoing.push_frames(frames, pool) as u64;
    }

    /// As `queue_frame`, without copying the payload.
    pub(in crate::reactor) fn queue_large(
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
        self.write.outgoing.push_owned(bytes, start);
    }

    /// The silence after which something is to be done; `None` when silence does not matter.
    pub(in crate::reactor) fn silence(&self) -> Option<Duration> {
        let (ping, idle) = (self.config.ping_interval, self.config.idle_timeout);
        match (ping.is_zero(), idle.is_zero()) {
            (true, true) => None,
            (false, true) => Some(ping),
            (true, false) => Some(idle),
            (false, false) => Some(ping.min(idle)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What only few connections have at a time is boxed.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_idle_connection_is_small() {
        // The socket is larger in a build with assertions.
        let size = size_of::<Connection>() - size_of::<Transport>();
        assert!(size <= 220, "{size}");
        assert!(size_of::<Engine>() <= 48, "{}", size_of::<Engine>());
    }
}
