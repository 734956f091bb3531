//! From frames to the kernel: compression, queues, and the order in which connections are written.
//!
//! ```text
//! a send -> frame -> queued: touch -> write_unwritten: its share of the turn -> the kernel
//!    '----- deferred, if it is long or waits for such a one: a slice of it each turn --^
//! ```

mod budget;
mod compress;
pub(super) mod masking;
mod outgoing;
mod schedule;
mod send;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Frame, Large, deflate};

use super::config::{COMPRESS_BUDGET, COST_OF_CALL, FREE_BUDGET, ReactorConfig};
use super::queue::{Mark, Queue};
use crate::reactor::{ConnectionId, Transport};
use budget::Budget;
use compress::Compression;
pub(super) use compress::is_data;
use masking::Keys;
use outgoing::{Outgoing, Pool, Written};

/// What connections share for writing: queues, memory and budgets.
pub(super) struct Writer {
    /// Queued since the last look, in the order of writing. A connection is in one queue at most.
    fresh: Queue,
    /// Connections with more than a share, and those that the budget did not reach.
    waiting: Queue,
    /// Bytes of commands that can still be applied in this turn.
    left: usize,
    pool: Pool,
    keys: Keys,
    compression: Compression,
    budget: Budget,
    /// Queues of connections that have ended. Freeing 1 MiB takes 20 us, so freeing 1 GiB at once,
    /// queued for peers that died together, would stop all others for 20 ms.
    remains: VecDeque<Outgoing>,
}

impl Writer {
    pub(super) fn new(config: &ReactorConfig) -> Self {
        Self {
            fresh: Queue::default(),
            waiting: Queue::default(),
            left: 0,
            pool: Pool::default(),
            keys: Keys::default(),
            compression: Compression::new(config.deflate_budget),
            budget: Budget::new(config.send_budget),
            remains: VecDeque::new(),
        }
    }

    pub(super) fn deflate_pool(&self) -> &Arc<deflate::Pool> {
        &self.compression.pool
    }

    pub(super) fn set_budget(&mut self, budget: usize) {
        self.budget.budget = budget;
    }

    pub(super) fn begin_turn(&mut self) {
        self.compression.budget = COMPRESS_BUDGET;
    }

    pub(super) fn end_turn(&mut self) {
        // The pool has a lock.
        if self.compression.budget != COMPRESS_BUDGET {
            self.compression.pool.forget_message();
        }
        let mut budget = FREE_BUDGET;
        while budget > 0
            && let Some(first) = self.remains.front_mut()
        {
            budget = budget.saturating_sub(first.discard(budget));
            if first.is_empty() {
                self.remains.pop_front();
            }
        }
    }

    pub(super) fn has_written(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.has_written() || !self.remains.is_empty() || !self.compression.deferred.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.compression.holders.next()
    }

    pub(super) fn compressed_at_once(&self) -> usize {
        self.compression.at_once()
    }

    /// The next connection with deferred sends, if this turn can compress more.
    pub(super) fn next_deferred(&mut self) -> Option<ConnectionId> {
        if self.compression.budget == 0 { None } else { self.compression.deferred.pop_front() }
    }

    pub(super) fn is_deferring(&self) -> bool {
        !self.compression.deferred.is_empty()
    }

    pub(super) fn defer_again(&mut self, id: ConnectionId) {
        self.compression.deferred.push_back(id);
    }

    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = bytes;
    }

    pub(super) fn may_apply(&self) -> bool {
        self.left > 0
    }

    /// A command moved `bytes`.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.charge(bytes + COST_OF_CALL);
    }

    /// Commands can move that many bytes less.
    pub(super) fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    pub(super) fn forget(&mut self, id: ConnectionId, write: WriteHalf) {
        self.budget.set(id, 0);
        if !write.outgoing.is_empty() {
            self.remains.push_back(write.outgoing);
        }
    }
}

/// Our side of a socket: the bytes queued for it, and when they are written.
#[derive(Default)]
pub(super) struct WriteHalf {
    outgoing: Outgoing,
    pub(super) state: WriteState,
    unwritten: Mark,
    high: bool,
    /// Automatic pongs since the queue was last empty.
    pending_pongs: u32,
    /// Bytes of the consumer's sends since the connection opened.
    accepted: u64,
    /// Sends that wait for a message that is being compressed.
    pub(super) deferred: Option<Box<Deferred>>,
    /// The consumer is told when the kernel has all bytes up to each of these values of
    /// `outgoing.pushed()`. In order, with [`LOST`] for sends that never leave and those after
    /// them. Boxed: few connections have any.
    #[expect(clippy::box_collection, reason = "16 bytes less for each connection")]
    marks: Option<Box<Vec<u64>>>,
    /// When compression contexts were last used; `None`: there are none to release. Boxed: few
    /// connections have any.
    contexts_used: Option<Box<Instant>>,
}

const LOST: u64 = u64::MAX;

/// The progress of our side.
///
/// ```text
///                    end(), a refusal                      all is written
///   Open(HoldReason) --------------------> Ending(HoldReason) ------------> Ended
///      '----------- both close frames were sent, all is written --------------^
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteState {
    Open(HoldReason),
    Ending(HoldReason),
    /// Nothing is queued, and nothing can be.
    Ended,
}

/// Why the queued bytes are not offered to the socket.
///
/// ```text
///         a write is refused             withhold()
///   Edge <------------------- None ------------------------> Delivery
///     '------- an edge ---------^ ^--- the consumer has dealt ---'
///                                      with the record
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldReason {
    /// They are, as far as is known.
    None,
    Edge,
    /// Not before the consumer knows of the connection, see `barrier.rs`. The 101 is queued.
    Delivery,
    /// As `Delivery`, and not before the consumer has decided whether the 101 leaves at all.
    Decision,
    /// As `Delivery`, and not before the consumer says that clients have seen earlier ends.
    Ends,
}

impl Default for WriteState {
    fn default() -> Self {
        Self::Open(HoldReason::None)
    }
}

impl WriteState {
    fn hold_reason(&mut self) -> Option<&mut HoldReason> {
        match self {
            Self::Open(reason) | Self::Ending(reason) => Some(reason),
            Self::Ended => None,
        }
    }

    #[inline]
    pub(super) fn waits(self) -> bool {
        !matches!(self, Self::Open(HoldReason::None) | Self::Ending(HoldReason::None) | Self::Ended)
    }

    /// Whether the peer must see nothing before the consumer knows of the connection.
    pub(super) fn is_withheld(self) -> bool {
        let (Self::Open(reason) | Self::Ending(reason)) = self else { return false };
        matches!(reason, HoldReason::Delivery | HoldReason::Decision | HoldReason::Ends)
    }

    /// Whether the socket has refused bytes.
    fn is_refused(self) -> bool {
        matches!(self, Self::Open(HoldReason::Edge) | Self::Ending(HoldReason::Edge))
    }

    #[inline]
    pub(super) fn is_ended(self) -> bool {
        self == Self::Ended
    }

    fn is_ending(self) -> bool {
        !matches!(self, Self::Open(_))
    }

    pub(super) fn withhold(&mut self) {
        if let Some(reason) = self.hold_reason() {
            *reason = HoldReason::Delivery;
        }
    }

    /// False: the half did not wait for `from`.
    pub(super) fn go_on(&mut self, from: HoldReason) -> bool {
        let Some(reason) = self.hold_reason().filter(|reason| **reason == from) else { return false };
        *reason = HoldReason::None;
        true
    }

    pub(super) fn end_when_written(&mut self) {
        if let Self::Open(reason) = *self {
            *self = Self::Ending(reason);
        }
    }
}

impl WriteHalf {
    /// Bytes that wait to be written.
    pub(super) fn queued(&self) -> usize {
        self.outgoing.len()
    }

    /// The queued bytes never leave.
    pub(super) fn discard(&mut self) {
        self.outgoing.discard(usize::MAX);
    }

    /// Bytes ever queued and ever written, and the memory of those that wait.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (u64, u64, usize) {
        (self.outgoing.pushed(), self.outgoing.written(), self.outgoing.memory())
    }

    /// Bytes of the consumer's sends that no longer wait; automatic pongs in between count as its
    /// own.
    pub(super) fn settled(&self) -> u64 {
        self.accepted.saturating_sub(self.outgoing.len() as u64)
    }

    /// The consumer wants to know when the kernel has the bytes queued so far, or, for a send that
    /// was `lost`, when the connection has ended.
    pub(super) fn mark(&mut self, lost: bool) {
        let pushed = if lost { LOST } else { self.outgoing.pushed() };
        let marks = self.marks.get_or_insert_default();
        // Callbacks are called in order: sends after a lost one are reported with it.
        marks.push(marks.last().map_or(pushed, |&last| last.max(pushed)));
    }

    /// Takes the marks that were reached off the list, and returns their number.
    pub(super) fn take_sent(&mut self) -> u32 {
        let Some(marks) = self.marks.as_deref_mut() else { return 0 };
        let written = self.outgoing.written();
        let reached = marks.partition_point(|&mark| mark <= written);
        marks.drain(..reached);
        if marks.is_empty() {
            self.marks = None;
        }
        reached as u32
    }

    /// Takes the marks of bytes that another process has: the first `packed_at` of all.
    pub(super) fn take_moved(&mut self, packed_at: u64) -> u32 {
        self.marks.take().map_or(0, |marks| marks.partition_point(|&mark| mark <= packed_at) as u32)
    }

    pub(super) fn pushed(&self) -> u64 {
        self.outgoing.pushed()
    }

    /// A copy of the bytes that wait, and their positions among all bytes ever queued.
    pub(super) fn copy(&self) -> (Vec<u8>, Range<u64>) {
        (self.outgoing.copy(0), self.outgoing.written()..self.outgoing.pushed())
    }

    /// A copy of the bytes that wait. With an earlier copy of some of them, of these positions: how many of that have left, and
    /// the others. `None`: more are being made, or something else must happen first.
    pub(super) fn export(&self, earlier: Option<&Range<u64>>) -> Option<(Option<u64>, Vec<u8>)> {
        let moves = matches!(self.state, WriteState::Open(HoldReason::None | HoldReason::Edge));
        let written = self.outgoing.written();
        let earlier = earlier.filter(|earlier| earlier.contains(&written));
        let without = earlier.map_or(0, |earlier| (earlier.end - written) as usize);
        let left = earlier.map(|earlier| written - earlier.start);
        (moves && self.deferred.is_none()).then(|| (left, self.outgoing.copy(without)))
    }

    /// The first bytes of a connection that has come from another process.
    pub(super) fn import(&mut self, queued: Vec<u8>) {
        self.accepted = queued.len() as u64;
        if !queued.is_empty() {
            self.outgoing.push_whole(Frame::new(queued, 0));
        }
    }

    /// Counts an automatic pong. False: too many wait for a peer that does not read.
    pub(super) fn count_pong(&mut self, most: u32) -> bool {
        // If the pongs wait only for the consumer, the peer is not to blame: its pings are read,
        // and no more pongs wait than it has sent pings.
        let waits = self.state.waits() && !self.state.is_withheld();
        let fits = most == 0 || !waits || self.pending_pongs < most;
        self.pending_pongs += u32::from(fits);
        fits
    }

    /// Bytes that wait to be written or compressed.
    pub(super) fn waiting(&self) -> usize {
        self.outgoing.len() + self.deferred.as_ref().map_or(0, |deferred| deferred.bytes)
    }

    /// The consumer decides about the connection after all, or ends come first. An answer that has
    /// not left waits for that, even if its record is delivered in this very turn.
    pub(super) fn withhold_until(&mut self, until: HoldReason, transport: &Transport) {
        if self.outgoing.written() == 0
            && !self.outgoing.is_empty()
            && !transport.stream().has_begun()
            && let Some(reason) = self.state.hold_reason()
            && *reason != HoldReason::Decision
        {
            *reason = until;
        }
    }

    fn write_to(&mut self, transport: &mut Transport, pool: &mut Pool, budget: usize) -> io::Result<Written> {
        if self.state.waits() && !self.outgoing.is_empty() {
            return Ok(Written::Blocked);
        }
        let written = self.outgoing.write_to(transport, pool, budget)?;
        if let Some(reason) = self.state.hold_reason() {
            *reason = if written == Written::Blocked { HoldReason::Edge } else { HoldReason::None };
        }
        if written == Written::All {
            self.pending_pongs = 0;
        }
        Ok(written)
    }
}

/// Sends that wait for a long message, which is compressed in slices.
#[derive(Default)]
pub(super) struct Deferred {
    pub(super) sends: VecDeque<Pending>,
    /// The compressed part of the message at the front.
    compressed: Large,
    /// Bytes of that message that have been compressed.
    done: usize,
    pub(super) bytes: usize,
}

/// A record without its payload and its connection.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Its meaning depends on the kind.
    pub(super) aux: u16,
}

pub(super) struct Pending {
    pub(super) head: Head,
    /// Other connections can send it too.
    pub(super) payload: Frame,
}
