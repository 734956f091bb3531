//! The memory for contexts that connections keep between messages.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Bytes that contexts may take in each direction, by default: 64 MiB.
pub const DEFAULT_BUDGET: usize = 64 << 20;

/// The bytes that kept contexts may take and do take, in each direction by itself. All pools of a
/// process share one budget.
///
/// A context for outgoing messages counts while it is there; a context that does not fit is not
/// kept, and its connection's messages are compressed each by itself. A context for incoming
/// messages counts from the handshake on, whether it is there or not, for nothing could be done
/// once the peer may refer to earlier messages; when they have used the budget up, it is
/// [full](Self::is_full), and handshakes should ask for `client_no_context_takeover`. Messages of
/// peers that have agreed to that get a context as long as one fits; where none does, they are kept
/// compressed until they are complete, or long.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    outgoing: AtomicUsize,
    incoming: AtomicUsize,
}

static PROCESS: LazyLock<Arc<Budget>> = LazyLock::new(|| Arc::new(Budget::new(DEFAULT_BUDGET)));

impl Budget {
    /// A budget of this many bytes in each direction.
    pub const fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), outgoing: AtomicUsize::new(0), incoming: AtomicUsize::new(0) }
    }

    /// The budget of this process.
    pub fn of_process() -> Arc<Self> {
        PROCESS.clone()
    }

    /// Sets another limit. Contexts that are kept already stay.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// The bytes that contexts may take in each direction.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes of the contexts for outgoing messages that connections keep.
    pub fn outgoing(&self) -> usize {
        self.outgoing.load(Ordering::Relaxed)
    }

    /// Bytes of the contexts for incoming messages that connections keep or may come to keep, and
    /// of those that unfinished messages have.
    pub fn incoming(&self) -> usize {
        self.incoming.load(Ordering::Relaxed)
    }

    /// Whether one more connection that keeps a context for incoming messages would be too many.
    pub fn is_full(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        self.incoming().saturating_add(super::INFLATER_BYTES) > limit
    }

    /// Whether a connection may keep a context for outgoing messages of this many bytes; they count
    /// from now on.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= limit);
        self.outgoing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// The memory that [`keep`](Self::keep) allowed is kept no more.
    pub(super) fn unkeep(&self, bytes: usize) {
        self.outgoing.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether a message may have a context until it is complete; it counts from now on.
    pub(super) fn lend(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |kept: usize| kept.checked_add(super::INFLATER_BYTES).filter(|sum| *sum <= limit);
        self.incoming.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A connection keeps a context for incoming messages, or a message has one, whether that fits
    /// or not.
    pub(super) fn reserve(&self) {
        self.incoming.fetch_add(super::INFLATER_BYTES, Ordering::Relaxed);
    }

    /// The context is kept no more.
    pub(super) fn unreserve(&self) {
        self.incoming.fetch_sub(super::INFLATER_BYTES, Ordering::Relaxed);
    }
}
