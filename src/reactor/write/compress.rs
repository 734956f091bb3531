//! permessage-deflate in the reactor: outgoing messages, their share of a turn, idle contexts.
//!
//! A long message is compressed in slices. Later sends wait for it, in order (`command/apply.rs`).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bridge::layout::{OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_TEXT};
use crate::engine::FrameKind;
use crate::engine::deflate::{Params, Pool};
use crate::engine::frame::wire_len;
use crate::engine::handshake::extensions::Acceptance;

use crate::reactor::command::records::Outbound;
use crate::reactor::config::{COMPRESS_BUDGET, COMPRESS_SLICE, COPY_DISCOUNT};
use crate::reactor::queue::Alarms;
use crate::reactor::write::{Deferred, Head, Pending};
use crate::reactor::{Conn, ConnectionId, Consumer, DeflateConfig, Reactor};

/// Compressed messages up to this size are built in memory that is kept for the next one.
const REUSED: usize = 64 << 10;

impl<C: Consumer> Reactor<C> {
    /// Frees compression contexts that were not used for `release_after`.
    pub(in crate::reactor) fn release_contexts(&mut self) {
        let now = self.timers.now();
        while let Some(id) = self.writer.compression.holders.pop(now) {
            let Some(connection) = self.connections.get(id) else { continue };
            let after = connection.config.deflate.map(|deflate| deflate.release_after);
            let (Some(used), Some(after)) = (&connection.write.contexts_used, after) else { continue };
            if **used + after > now {
                self.writer.compression.holders.push(**used + after, id);
                continue;
            }
            let before = connection.engine.context_bytes();
            connection.engine.release_contexts();
            self.idling.freed(before.saturating_sub(connection.engine.context_bytes()));
            connection.write.contexts_used = None;
        }
    }
}

impl Conn<'_> {
    /// Bytes inflated since the last call, all of them for this connection.
    pub(in crate::reactor) fn inflated(&mut self) -> usize {
        self.note_contexts();
        self.writer.compression.pool.take_work()
    }

    /// The offers accepted at the moment: once kept contexts have used up the budget, no new
    /// connection can keep one for incoming messages.
    pub(in crate::reactor) fn acceptance(&self, deflate: &DeflateConfig) -> Acceptance {
        let full = self.writer.compression.pool.budget().is_full();
        let mut acceptance = deflate.acceptance;
        if full {
            acceptance.client_no_context_takeover = Some(true);
        }
        acceptance
    }

    pub(in crate::reactor) fn enable_deflate(&mut self, params: Params) {
        let config = &self.state.config;
        let Some(deflate) = config.deflate else { return };
        let mut settings = deflate.settings;
        settings.releasable = !deflate.release_after.is_zero();
        settings.movable = self.handovers.knows(self.id.slot);
        self.state.engine.enable_deflate(
            config.engine.role,
            params,
            &settings,
            &self.writer.compression.pool,
        );
    }

    /// Whether a data frame must wait: for others, or because this turn has compressed enough.
    pub(in crate::reactor) fn must_wait(&mut self, flags: u8, len: usize) -> bool {
        self.state.write.deferred.is_some()
            || (len > self.writer.compression.at_once()
                && self.state.engine.will_compress(flags & OUT_FLAG_COMPRESS != 0, len))
    }

    pub(in crate::reactor) fn defer(&mut self, pending: Pending) {
        let deferred = self.state.write.deferred.get_or_insert_with(|| {
            self.writer.compression.deferred.push_back(self.id);
            Box::<Deferred>::default()
        });
        deferred.bytes += pending.payload.len();
        deferred.sends.push_back(pending);
        self.writer.budget.set(self.id, self.state.write.waiting());
    }

    pub(in crate::reactor) fn compressed(
        &mut self,
        kind: u8,
        flags: u8,
        payload: &[u8],
        key: Option<[u8; 4]>,
    ) {
        let fin = flags & OUT_FLAG_FIN != 0;
        if !self.state.takes_frames() {
            return;
        }
        let mut compressed = std::mem::take(&mut self.writer.compression.message);
        self.state.engine.compress(payload, fin, &mut compressed);
        self.note_compressed(payload.len(), compressed.len());
        self.frame_with(data_kind(kind), fin, &compressed, key);
        self.note_contexts();
        if compressed.capacity() <= REUSED {
            compressed.clear();
            self.writer.compression.message = compressed;
        }
    }

    /// Compresses a slice of a data frame that waits; true once all of it is queued.
    pub(in crate::reactor) fn advance(&mut self, deferred: &mut Deferred, pending: &Pending) -> bool {
        let Head { kind, flags, aux } = pending.head;
        let (masking, payload) = Outbound::Lent(&pending.payload).masking(flags, aux);
        let payload = &*payload;
        let key = self.key(masking);
        let (fin, wanted) = (flags & OUT_FLAG_FIN != 0, flags & OUT_FLAG_COMPRESS != 0);
        if self.writer.compression.budget == 0 {
            return false;
        }
        let connection = &mut *self.state;
        if connection.takes_frames() && connection.engine.will_compress(wanted, payload.len()) {
            let rest = payload.get(deferred.done..).unwrap_or_default();
            let slice = rest.get(..rest.len().min(COMPRESS_SLICE)).unwrap_or_default();
            let last = slice.len() == rest.len();
            connection.engine.compress(slice, fin && last, deferred.compressed.memory_mut());
            deferred.done += slice.len();
            self.writer.compression.spend(slice.len());
            self.note_contexts();
            if !last {
                return false;
            }
            deferred.done = 0;
            let compressed = std::mem::take(&mut deferred.compressed);
            self.count_compressed(payload.len(), compressed.len());
            self.state.queue_large(data_kind(kind), fin, compressed, key);
            self.touch();
        } else {
            self.frame_with(data_kind(kind), fin, payload, key);
            self.writer.compression.spend(payload.len() / COPY_DISCOUNT);
        }
        self.account(wire_len(payload.len(), key.is_some()));
        true
    }

    pub(super) fn note_compressed(&mut self, from: usize, to: usize) {
        self.writer.compression.spend(from);
        self.count_compressed(from, to);
    }

    fn count_compressed(&mut self, from: usize, to: usize) {
        let (from, to) = (from as u64, to as u64);
        self.metrics.tally.compressed_from += from;
        self.metrics.tally.compressed_to += to;
        self.metrics.meters.ratios.record_ratio(to, from);
    }

    /// The time until contexts are released begins anew.
    fn note_contexts(&mut self) {
        let connection = &mut *self.state;
        let Some(after) = connection.config.deflate.map(|deflate| deflate.release_after) else { return };
        if after.is_zero() || !connection.engine.holds_contexts() {
            return;
        }
        if let Some(used) = &mut connection.write.contexts_used {
            **used = self.timers.now();
        } else {
            connection.write.contexts_used = Some(Box::new(self.timers.now()));
            self.writer.compression.holders.push(self.timers.now() + after, self.id);
        }
    }
}

pub(in crate::reactor) fn is_data(kind: u8) -> bool {
    matches!(kind, OUT_TEXT | OUT_BINARY)
}

fn data_kind(kind: u8) -> FrameKind {
    if kind == OUT_TEXT { FrameKind::Text } else { FrameKind::Binary }
}

pub(super) struct Compression {
    pub(super) pool: Arc<Pool>,
    /// A compressed message on its way to `outgoing`.
    message: Vec<u8>,
    pub(super) budget: usize,
    pub(super) deferred: VecDeque<ConnectionId>,
    /// Connections with contexts, and when these are released unless they are used before.
    pub(super) holders: Alarms,
}

impl Compression {
    /// `budget`: as in [`ReactorConfig`](crate::reactor::ReactorConfig).
    pub(super) fn new(budget: Option<usize>) -> Self {
        Self {
            pool: Arc::new(budget.map_or_else(Pool::of_process, Pool::new)),
            message: Vec::new(),
            budget: COMPRESS_BUDGET,
            deferred: VecDeque::new(),
            holders: Alarms::default(),
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes);
    }

    /// Most bytes of a message to compress without waiting for the next turn.
    pub(super) fn at_once(&self) -> usize {
        self.budget.min(COMPRESS_SLICE)
    }
}
