//! From readable sockets to events, and the bytes that can be read.
//!
//! ```text
//! undelivered input, in bytes and records    the connection waits, see `backpressure.rs`
//! messages that have not come to their end   the oldest is given up, see `unfinished.rs`
//! messages and bytes in a second             the connection waits or is closed, see `rate_limiter.rs`
//! ```
//!
//! The limits are independent. A waiting connection is found without a search: the consumer's
//! credits name it, or it is in a queue.

mod backpressure;
mod frames;
mod rate_limiter;
mod ready;
mod socket;
#[cfg(test)]
mod tests;
mod unfinished;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::bridge::batch::Credit;
use crate::reactor::config::{MODEST, TURN_BUDGET};
use crate::reactor::queue::Mark;
use crate::reactor::{Connection, ConnectionId, Connections};
use backpressure::Backpressure;
use rate_limiter::RateLimiter;
use ready::{Ready, Sweep};
use unfinished::{Excess, Unfinished};

/// What connections share for reading: queues, limits and budgets.
pub(super) struct Reader {
    ready: Ready,
    sweep: Sweep,
    backpressure: Backpressure,
    rate_limiter: RateLimiter,
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
            backpressure: Backpressure::default(),
            rate_limiter: RateLimiter::default(),
            unfinished: Unfinished::new(unfinished_budget, begun),
            kept: HashMap::new(),
            turn_budget: TURN_BUDGET,
            reserved: 0,
        }
    }

    /// Whether no modest connection can be read any more; from `on_greedy` on, no connection at
    /// all.
    fn is_turn_over(&self) -> bool {
        self.turn_budget <= self.reserved
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// When a connection is read again, or no more, because of its rates.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.rate_limiter.deadline()
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
        self.backpressure.release(connections, credit);
    }

    pub(super) fn set_budget(&mut self, budget: usize) {
        self.unfinished.budget = budget;
    }

    /// Whether one of this reactor's messages is to be given up; `in_group`: as for `excess`.
    pub(super) fn has_excess(&self, now: Instant, in_group: impl FnOnce(u64) -> (usize, bool)) -> bool {
        self.excess(now, in_group) == Excess::Own
    }

    pub(super) fn unfinished_bytes(&self) -> usize {
        self.unfinished.bytes
    }

    /// The unfinished message of a connection that has come from another process takes `bytes`.
    pub(super) fn resume_message(&mut self, id: ConnectionId, bytes: usize, now: Instant) {
        self.unfinished.set(id, bytes, (0, true), now);
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

    /// The kept bytes that were not read.
    pub(super) fn kept(&self, slot: u32) -> &[u8] {
        self.kept.get(&slot).and_then(|kept| kept.bytes.get(kept.read..)).unwrap_or_default()
    }

    /// Times until the rates of messages and bytes are whole again.
    pub(super) fn export_rates(&self, slot: u32, now: Instant) -> [Duration; 2] {
        self.rate_limiter.export(slot, now)
    }

    pub(super) fn import_rates(&mut self, slot: u32, used: [Duration; 2], now: Instant) {
        self.rate_limiter.import(slot, used, now);
    }

    /// Reads the kept bytes that fit. `None`: there are none.
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
        self.rate_limiter.forget(slot);
        if !self.kept.is_empty() {
            self.kept.remove(&slot);
        }
        self.unfinished.forget(slot);
        self.backpressure.forget(connection);
    }
}

/// The peer's side of a socket: whether it is read, and how much was read.
#[derive(Default)]
pub(super) struct ReadHalf {
    /// There can be something to read: an edge came and the socket was not read to its end, or
    /// bytes came after the request.
    pub(super) unread: bool,
    /// In one of the queues of [`Ready`].
    queued: Mark,
    pub(super) peer: PeerSide,
    pub(super) class: ReadClass,
    pub(super) paused: bool,
    /// Why the connection is not read.
    blocked_on: Option<BlockedOn>,
    /// In the queue of connections that wait until all together have less undrained.
    listed: Mark,
    /// Whether `undelivered` is more than pings and pongs.
    has_data: bool,
    /// Inbound bytes that the consumer has not taken, records included.
    undelivered: usize,
    pub(super) received: u64,
}

/// The known state of the peer's side. It only ever gets worse:
///
/// ```text
///          events                         a read
///   Open --------> Urgent, HungUp, Dead --------> Ended
///     '---------------------------------------------^
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PeerSide {
    #[default]
    Open,
    /// The peer sent urgent bytes: from then on a short read might have stopped before one.
    Urgent,
    /// An event reported the end of the peer's side; bytes before it can be unread.
    HungUp,
    /// An event reported a dead socket; bytes before that can be unread.
    Dead,
    /// All bytes were read, and then the end.
    Ended,
}

/// How much of a turn a connection wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReadClass {
    #[default]
    Modest,
    /// It wanted much of its last share.
    Greedy,
    /// The handshake of its transport is under way, which is work whatever it brings.
    Handshaking,
    /// None: the consumer hands back bytes, which come before the transport's.
    AwaitingHandback,
    /// None: it is about to belong to another process, or has come from one.
    Frozen,
    /// None, nor is it written: its state is on the way to another process.
    Packed,
    /// The same, and it belongs to the other process: it is about to leave.
    Moved,
}

impl ReadClass {
    #[inline]
    pub(super) fn is_moving(self) -> bool {
        self == Self::Frozen || self.is_packed()
    }

    #[inline]
    pub(super) fn is_packed(self) -> bool {
        matches!(self, Self::Packed | Self::Moved)
    }

    /// After a share of which `spent` was used.
    fn note(&mut self, spent: usize) {
        if *self != Self::Handshaking {
            *self = if spent >= MODEST { Self::Greedy } else { Self::Modest };
        }
    }
}

/// Why a connection is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockedOn {
    /// The connection itself has left too much undrained.
    Credit,
    /// All connections together have, and this one more than its share.
    Room,
}

impl ReadHalf {
    /// Whether the connection waits for its share of a turn.
    pub(super) fn is_queued(&self) -> bool {
        self.queued.is_set()
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread || self.queued.is_set()
    }
}
