//! The parts of compression that connections share.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::deflate::Pool;

use crate::reactor::config::{COMPRESS_BUDGET, COMPRESS_SLICE};
use crate::reactor::connection::id::ConnectionId;

/// One for each reactor.
pub(in crate::reactor) struct Compression {
    pub(in crate::reactor) pool: Arc<Pool>,
    /// A compressed message on its way to `outgoing`.
    pub(in crate::reactor) message: Vec<u8>,
    /// Bytes that may still be compressed in this turn.
    pub(in crate::reactor) budget: usize,
    /// Connections whose sends wait.
    pub(in crate::reactor) deferred: VecDeque<ConnectionId>,
    /// Connections with contexts that are to be released at some time.
    pub(in crate::reactor) holders: Vec<ConnectionId>,
    /// When to check them.
    pub(in crate::reactor) release_at: Option<Instant>,
}

impl Compression {
    /// Nothing under way; `budget` is that of [`ReactorConfig`](crate::reactor::ReactorConfig).
    pub(in crate::reactor) fn new(budget: Option<usize>) -> Self {
        Self {
            pool: Arc::new(budget.map_or_else(Pool::of_process, Pool::new)),
            message: Vec::new(),
            budget: COMPRESS_BUDGET,
            deferred: VecDeque::new(),
            holders: Vec::new(),
            release_at: None,
        }
    }

    pub(in crate::reactor) fn begin_turn(&mut self) {
        self.budget = COMPRESS_BUDGET;
    }

    /// This many bytes have been compressed.
    pub(in crate::reactor) fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes);
    }

    /// Most bytes of a message that need not wait for the next turn.
    pub(in crate::reactor) fn at_once(&self) -> usize {
        self.budget.min(COMPRESS_SLICE)
    }

    pub(in crate::reactor) fn end_turn(&mut self) {
        self.pool.forget_message();
    }

    /// Whether sends wait for the next turn.
    pub(in crate::reactor) fn is_waiting(&self) -> bool {
        !self.deferred.is_empty()
    }
}
