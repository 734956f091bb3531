//! Who receives the reactor's events: the bridge, or a program on the same thread.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::batch::Credit;
use crate::bridge::layout::{Cause, Moved};
use crate::bridge::tally::{Meters, Tally};
use crate::engine::Event;
use crate::reactor::tls::Failure;
use crate::reactor::{Conn, ConnectionId, Descriptor, HandshakeInfo, Hello, Verdict};

/// Numbers of records, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last record, handed over or not.
    pub recorded: u64,
    /// The last one that the consumer has dealt with.
    pub delivered: u64,
}

/// What all connections together have waiting for the consumer beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    None,
    /// Too many records: the consumer has much to do.
    Records,
    /// Too many bytes: the consumer has much to take, and perhaps too many records as well.
    Bytes,
}

/// The consumer of a reactor's events. It is called in this order:
///
/// ```text
/// on_turn_begin
///   listener refuses -> on_refused, on_listener_closed
///   a read   on_received, pressure -> spare -> the system call -> claim -> next_event and on_..., for each event
///            -> keep, if the last frame is cut off, or release
///   a write  on_settled -> on_sent -> on_drain
///   topics   on_published, on_topic
///   an end   on_closing, on_settled -> on_sent -> on_closed
/// on_turn_end -> on_tally
///
/// on_turn_end hands over what there is. It is also called before the wait, and before a report that
/// belongs to no read.
///
/// of one connection
///   on_hello -> on_secure, or on_tls_error instead of all that follows
///   asks -> on_request, if that is true -> on_open -> frames as they came
///   -> on_end -> on_closed, once
///   or on_handoff -> on_socket
///   or on_handoff -> on_data -> on_end -> on_closed, once; until it opens: on_handback -> frames
///
/// a connection that is not read because of `pressure`
///   set_wants_wake(true) -> reclaim, which gives credit -> set_wants_wake(false)
/// ```
pub trait Consumer: Memory + Events + Flow {}

impl<T: Memory + Events + Flow> Consumer for T {}

/// The buffer that sockets are read into. Ranges in payloads refer to it. By default each read begins
/// at its start, so it stays in cache; it then has 64 KiB.
pub trait Memory {
    /// Memory for the next read: at most `most` bytes, never empty. `shortest`: bytes of the
    /// shortest frame that can come.
    fn spare(&mut self, most: usize, _shortest: usize) -> &mut [u8] {
        self.buffer(0..most)
    }
    /// Takes `len` bytes that were read into the memory of `spare`; returns their range in the
    /// buffer.
    fn claim(&mut self, len: usize) -> Range<usize> {
        0..len
    }
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8];
    /// The next event for the reactor in the buffer, from `pos` to `end`. A consumer that only
    /// notes messages can keep those to itself.
    ///
    /// # Errors
    /// As of [`Engine::advance`](crate::engine::Engine::advance).
    #[inline]
    fn next_event(&mut self, conn: &mut Conn<'_>, end: usize, pos: &mut usize) -> Result<Option<Event>, u64> {
        let connection = &mut *conn.state;
        connection.engine.advance::<true>(&connection.config.engine, self.buffer(0..end), pos)
    }
    /// Whether the bytes in `range`, the end of what was claimed last, stay directly before the
    /// memory that `spare` and `claim` return next, with room for `more` bytes. Until then nothing
    /// is handed over.
    fn keep(&mut self, _range: Range<usize>, _more: usize) -> bool {
        false
    }
    /// All events of the bytes claimed last have been handed over.
    fn release(&mut self, _range: Range<usize>) {}
}

/// All methods run on the reactor's thread and must not block. A consumer can leave out what it does
/// not need.
pub trait Events {
    /// Whether the handshake needs a decision that comes later, as a command.
    fn asks(&mut self, _listener: u32, _verdict: Verdict) -> bool {
        false
    }
    /// Whether the listener refuses new clients, because it is drained.
    fn refuses(&self, _listener: u32) -> bool {
        false
    }
    /// The handshake of TLS waits for [`Command::Choose`](crate::reactor::Command::Choose).
    fn on_hello(&mut self, _conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>, _hello: &Hello) {}
    /// The handshake of TLS is done. Only if the server asks for it.
    fn on_secure(&mut self, _conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>) {}
    /// A handshake of TLS has failed. Only if the server asks for it, and not for all.
    fn on_tls_error(&mut self, _info: &HandshakeInfo<'_>, _failure: &Failure) {}
    /// Follows `asks`, if that returned true.
    fn on_request(&mut self, _conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>) {}
    fn on_open(&mut self, _conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>) {}
    /// As `on_open`, for a connection that has come from another process; with `asks` as `on_request`.
    fn on_resumed(
        &mut self,
        _conn: &mut Conn<'_>,
        _info: &HandshakeInfo<'_>,
        _moved: &Moved<'_>,
        _asks: bool,
    ) {
    }
    /// The connections of the listener are not read any more.
    fn on_frozen(&mut self, _listener: u32) {}
    /// Another process has the connection; `id` is of no more use.
    fn on_moved(&mut self, _id: ConnectionId) {}
    /// The other connections of the listener are read again, and with `accepts` new ones are accepted.
    fn on_thawed(&mut self, _listener: u32, _accepts: bool) {}
    /// The connection is the consumer's HTTP server's, with `info.rest`. With `socket`,
    /// `on_socket` follows and nothing more; else `on_data`, `on_end` and `on_closed`.
    fn on_handoff(&mut self, _conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>, _socket: bool) {}
    /// A socket that the consumer closes.
    fn on_socket(&mut self, _id: ConnectionId, _socket: Descriptor) {}
    /// Bytes of a relayed connection, in the buffer.
    fn on_data(&mut self, _conn: &mut Conn<'_>, _range: Range<usize>) {}
    /// A relayed connection has become a WebSocket: no `on_data` comes any more. Whether the consumer
    /// hands back what came after the request.
    fn on_handback(&mut self, _id: ConnectionId) -> bool {
        false
    }
    /// A message, a control frame, or an error of the peer, after which nothing is read. The
    /// automatic pong of a ping is already queued.
    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event);
    /// The peer ended its side without a close frame. Also called while the consumer decides about
    /// the handshake, and again if it then accepts, after the bytes received before the end.
    fn on_end(&mut self, conn: &mut Conn<'_>);
    /// The socket is closed; `id` is of no more use.
    fn on_closed(&mut self, _id: ConnectionId, _cause: Cause) {}
    /// `count` marked sends are in the kernel.
    fn on_sent(&mut self, _id: ConnectionId, _count: u32) {}
    /// Queued bytes have fallen to half the high-water mark after having been above it.
    fn on_drain(&mut self, _id: ConnectionId) {}
    /// A close frame was sent that the consumer did not ask for.
    fn on_closing(&mut self, _id: ConnectionId) {}
    /// A report about a topic: a record of one of the `IN_` kinds of
    /// [`layout`](crate::bridge::layout) for topics, with its slot.
    fn on_topic(&mut self, _slot: u32, _kind: u8, _payload: Vec<u8>) {}
    /// Descriptors have run out: this many connections of the listener were closed as they came. At
    /// most once a second.
    fn on_refused(&mut self, _listener: u32, _count: u32) {}
    fn on_listener_closed(&mut self, _listener: u32) {}
}

/// The defaults are for a consumer that has dealt with a report when the call returns.
pub trait Flow {
    fn on_turn_begin(&mut self, _now: Instant) {}
    fn on_turn_end(&mut self) {}
    /// The reactor's counts so far, and when the turn began.
    fn on_tally(&mut self, _tally: &Tally, _began: Option<Instant>) {}
    fn meters(&self) -> Arc<Meters> {
        Arc::default()
    }
    /// Running total of bytes written or discarded for the connection.
    fn on_settled(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// Topics give the connection `bytes`, which `on_settled` will count too.
    fn on_published(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// In total, `bytes` have been read from the connection.
    fn on_received(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// `Some`, if the consumer is on another thread.
    fn progress(&self) -> Option<Progress> {
        None
    }
    /// Credit for records that were taken since the last call.
    fn reclaim(&mut self, _release: &mut dyn FnMut(Credit)) {}
    fn pressure(&self) -> Pressure {
        Pressure::None
    }
    /// Undrained bytes about connections that open or ask to.
    fn pending_open_bytes(&self) -> usize {
        0
    }
    /// Whether some sockets are not read until `reclaim` gives credit.
    fn set_wants_wake(&mut self, _starving: bool) {}
}
