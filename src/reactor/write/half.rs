//! Our side of a socket: the bytes queued for it, and when they may be written.

use std::io;
use std::time::Instant;

use super::Deferred;
use crate::reactor::Transport;
use crate::reactor::queue::Mark;
use crate::reactor::write::outgoing::{Outgoing, Pool, Written};

#[derive(Default)]
pub(in crate::reactor) struct WriteHalf {
    pub(in crate::reactor) outgoing: Outgoing,
    pub(in crate::reactor) state: WriteState,
    pub(super) unwritten: Mark,
    pub(super) high: bool,
    /// Automatic pongs since the queue was last empty.
    pending_pongs: u32,
    /// Bytes of the consumer's sends since the connection opened.
    pub(super) accepted: u64,
    /// Sends that wait for a message that is being compressed.
    pub(in crate::reactor) deferred: Option<Box<Deferred>>,
    /// The consumer is told when the kernel has all bytes up to each of these values of
    /// `outgoing.pushed()`. In order, with [`LOST`] for sends that never leave and those after
    /// them. Boxed: few connections have any.
    #[expect(clippy::box_collection, reason = "16 bytes less for each connection")]
    marks: Option<Box<Vec<u64>>>,
    /// When compression contexts were last used; `None`: there are none to release. Boxed: few
    /// connections have any.
    pub(super) contexts_used: Option<Box<Instant>>,
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
pub(in crate::reactor) enum WriteState {
    Open(HoldReason),
    Ending(HoldReason),
    /// Nothing is queued, and nothing may be.
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
pub(in crate::reactor) enum HoldReason {
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
    pub(in crate::reactor) fn waits(self) -> bool {
        !matches!(self, Self::Open(HoldReason::None) | Self::Ending(HoldReason::None) | Self::Ended)
    }

    /// Whether the peer must see nothing before the consumer knows of the connection.
    pub(in crate::reactor) fn is_withheld(self) -> bool {
        let (Self::Open(reason) | Self::Ending(reason)) = self else { return false };
        matches!(reason, HoldReason::Delivery | HoldReason::Decision | HoldReason::Ends)
    }

    /// Whether the socket has refused bytes.
    pub(super) fn is_refused(self) -> bool {
        matches!(self, Self::Open(HoldReason::Edge) | Self::Ending(HoldReason::Edge))
    }

    #[inline]
    pub(in crate::reactor) fn is_ended(self) -> bool {
        self == Self::Ended
    }

    pub(super) fn is_ending(self) -> bool {
        !matches!(self, Self::Open(_))
    }

    pub(in crate::reactor) fn withhold(&mut self) {
        if let Some(reason) = self.hold_reason() {
            *reason = HoldReason::Delivery;
        }
    }

    /// False: the half did not wait for `from`.
    pub(in crate::reactor) fn go_on(&mut self, from: HoldReason) -> bool {
        let Some(reason) = self.hold_reason().filter(|reason| **reason == from) else { return false };
        *reason = HoldReason::None;
        true
    }

    pub(in crate::reactor) fn end_when_written(&mut self) {
        if let Self::Open(reason) = *self {
            *self = Self::Ending(reason);
        }
    }
}

impl WriteHalf {
    /// Bytes of the consumer's sends that no longer wait; automatic pongs in between count as its
    /// own.
    pub(in crate::reactor) fn settled(&self) -> u64 {
        self.accepted.saturating_sub(self.outgoing.len() as u64)
    }

    /// The consumer wants to know when the kernel has the bytes queued so far, or, for a send that
    /// was `lost`, when the connection has ended.
    pub(in crate::reactor) fn mark(&mut self, lost: bool) {
        let pushed = if lost { LOST } else { self.outgoing.pushed() };
        let marks = self.marks.get_or_insert_default();
        // Callbacks are called in order: sends after a lost one are reported with it.
        marks.push(marks.last().map_or(pushed, |&last| last.max(pushed)));
    }

    /// HoldReason the marks that were reached off the list, and returns their number.
    pub(in crate::reactor) fn take_sent(&mut self) -> u32 {
        let Some(marks) = self.marks.as_deref_mut() else { return 0 };
        let written = self.outgoing.written();
        let reached = marks.partition_point(|&mark| mark <= written);
        marks.drain(..reached);
        if marks.is_empty() {
            self.marks = None;
        }
        reached as u32
    }

    /// Counts an automatic pong. False: too many wait for a peer that does not read.
    pub(in crate::reactor) fn count_pong(&mut self, most: u32) -> bool {
        // If the pongs wait only for the consumer, the peer is not to blame: its pings are read,
        // and no more pongs wait than it has sent pings.
        let waits = self.state.waits() && !self.state.is_withheld();
        let fits = most == 0 || !waits || self.pending_pongs < most;
        self.pending_pongs += u32::from(fits);
        fits
    }

    /// Bytes that wait to be written or compressed.
    pub(in crate::reactor) fn waiting(&self) -> usize {
        self.outgoing.len() + self.deferred.as_ref().map_or(0, |deferred| deferred.bytes)
    }

    /// The consumer decides about the connection after all, or ends come first. An answer that has
    /// not left waits for that, even if its record is delivered in this very turn.
    pub(in crate::reactor) fn withhold_until(&mut self, until: HoldReason, transport: &Transport) {
        if self.outgoing.written() == 0
            && !self.outgoing.is_empty()
            && !transport.has_begun()
            && let Some(reason) = self.state.hold_reason()
            && *reason != HoldReason::Decision
        {
            *reason = until;
        }
    }

    pub(super) fn write_to(
        &mut self,
        transport: &mut Transport,
        pool: &mut Pool,
        budget: usize,
    ) -> io::Result<Written> {
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
