//! The receiver of the reactor's events: either a [`Handler`](crate::reactor::Handler) on the same
//! thread, or the bridge.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::batch::Credit;
use crate::bridge::layout::Cause;
use crate::bridge::tally::{Meters, Tally};
use crate::engine::Event;
use crate::reactor::{ConnectionId, Opening, Session, Verdict};

/// The numbers of records that a consumer has got and has dealt with, counted from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last record there is, handed over or not.
    pub recorded: u64,
    /// The last one that it has dealt with.
    pub delivered: u64,
}

/// The excess of all connections together over the bytes or records that may wait for the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    None,
    /// Too many records: the consumer has much to do.
    Records,
    /// Too many bytes: the consumer has much to take. There may be too many records as well.
    Bytes,
}

/// What the reactor hands its events to. It is called in this order:
///
/// ```text
/// on_turn_begin
///   a read   pressure -> spare -> the system call -> claim -> next_event and on_..., for each event
///            -> keep, if the last frame is cut off, or release
///   a write  on_settled -> on_sent -> on_drain
///   an end   on_settled -> on_sent -> on_closed
/// on_turn_end -> on_tally
///
/// of one connection
///   asks -> on_request, if that is true -> on_open -> frames as they came
///   -> on_end -> on_closed, once
///
/// a connection that is not read because of `pressure`
///   set_starving(true) -> reclaim, which gives credit -> set_starving(false)
/// ```
pub trait Consumer: Memory + Events + Flow {}

impl<T: Memory + Events + Flow> Consumer for T {}

/// The buffer that sockets are read into. Ranges in payloads refer to it.
pub trait Memory {
    /// The memory for the next read: at most `most` bytes, never empty. `shortest`: bytes of the
    /// shortest frame that may come.
    fn spare(&mut self, most: usize, shortest: usize) -> &mut [u8];
    /// Takes `len` bytes that were read into the memory of `spare`; returns their range in the
    /// buffer.
    fn claim(&mut self, len: usize) -> Range<usize>;
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8];
    /// The next event for the reactor in the bytes from `pos` to `end` of the buffer. A consumer
    /// that only notes messages may keep those to itself.
    ///
    /// # Errors
    /// As of [`Engine::poll_whole`](crate::engine::Engine::poll_whole).
    #[inline]
    fn next_event(
        &mut self,
        session: &mut Session<'_>,
        end: usize,
        pos: &mut usize,
    ) -> Result<Option<Event>, u64> {
        let connection = &mut *session.connection;
        connection.engine.poll_whole(&connection.config.engine, self.buffer(0..end), pos)
    }
    /// Whether the bytes in `range`, the last of those claimed last, stay directly before the
    /// memory that `spare` and `claim` return next, and `more` bytes can be read there. Until then
    /// nothing is handed over.
    fn keep(&mut self, _range: Range<usize>, _more: usize) -> bool {
        false
    }
    /// All events of the bytes claimed last have been handed over.
    fn release(&mut self, _range: Range<usize>) {}
}

pub trait Events {
    /// Whether the handshake needs a decision that comes later, as a command.
    fn asks(&mut self, _listener: u32, _verdict: Verdict) -> bool {
        false
    }
    /// Whether the listener refuses new clients, as one that is drained.
    fn refuses(&self, _listener: u32) -> bool {
        false
    }
    /// A handshake for which `asks` returned true.
    fn on_request(&mut self, _session: &mut Session<'_>, _opening: &Opening<'_>) {}
    fn on_open(&mut self, session: &mut Session<'_>, opening: &Opening<'_>);
    /// A message, a control frame, or an error of the peer, after which nothing is read. The automatic
    /// pong of a ping is queued already.
    fn on_event(&mut self, session: &mut Session<'_>, event: Event);
    /// The peer ended its side without a close frame. This is also called while the
    /// consumer decides about the handshake, and once more if it accepts all the same, after what
    /// was received before the end.
    fn on_end(&mut self, session: &mut Session<'_>);
    fn on_closed(&mut self, id: ConnectionId, cause: Cause);
    /// `count` marked sends are in the kernel.
    fn on_sent(&mut self, id: ConnectionId, count: u32);
    /// Queued bytes have fallen to half the high-water mark after having been above it.
    fn on_drain(&mut self, id: ConnectionId);
    /// A close frame was sent that the consumer has not asked for.
    fn on_closing(&mut self, _id: ConnectionId) {}
    /// A report about a topic: a record of one of the `IN_` kinds of
    /// [`layout`](crate::bridge::layout) for topics, with its slot.
    fn on_topic(&mut self, slot: u32, kind: u8, payload: Vec<u8>);
    /// Descriptors have run out: this many connections of the listener were closed as they came. At
    /// most once a second.
    fn on_refused(&mut self, listener: u32, count: u32);
    fn on_listener_closed(&mut self, listener: u32);
}

/// The progress of the consumer, and of the reactor. The defaults are those of a consumer that has
/// dealt with a report when the call returns.
pub trait Flow {
    fn on_turn_begin(&mut self, _now: Instant) {}
    /// All that the sockets had when the consumer asked has been reported.
    fn on_fence(&mut self) {}
    fn on_turn_end(&mut self);
    /// The counts of the reactor until now, and when the turn has begun.
    fn on_tally(&mut self, _tally: &Tally, _began: Option<Instant>) {}
    /// Where the reactor notes how its numbers are spread.
    fn meters(&self) -> Arc<Meters> {
        Arc::default()
    }
    /// `bytes` of what the connection is sent wait no more, all in all.
    fn on_settled(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// The connection is given `bytes` of its topics, which `on_settled` will count too.
    fn on_published(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// `bytes` have been read from the connection, all in all.
    fn on_received(&mut self, _id: ConnectionId, _bytes: u64) {}
    /// How far a consumer on another thread is.
    fn progress(&self) -> Option<Progress> {
        None
    }
    /// Credit for the records that have been taken since the last call.
    fn reclaim(&mut self, _release: &mut dyn FnMut(Credit)) {}
    /// The excess that all connections together have left undrained.
    fn pressure(&self) -> Pressure {
        Pressure::None
    }
    /// Undrained bytes about connections that open or ask to.
    fn openings(&self) -> usize {
        0
    }
    /// Whether some sockets are not read until `reclaim` gives credit.
    fn set_starving(&mut self, _starving: bool) {}
}
