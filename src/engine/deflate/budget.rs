use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The bytes that kept contexts can take and do take, separately for each direction. All pools of a
/// process share one budget.
///
/// An outgoing context counts while it exists; if one does not fit, each message is compressed by
/// itself. An incoming context counts from the handshake on, after which the peer can refer to
/// earlier messages. When these have used the budget up, it is [full](Self::is_full), and
/// handshakes should ask for `client_no_context_takeover`. Messages of peers that agreed get a
/// context while one fits; otherwise they are kept compressed until they are complete or long.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    outgoing: AtomicUsize,
    incoming: AtomicUsize,
}

static PROCESS: LazyLock<Arc<Budget>> = LazyLock::new(|| Arc::new(Budget::new(64 << 20)));

impl Budget {
    pub const fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), outgoing: AtomicUsize::new(0), incoming: AtomicUsize::new(0) }
    }

    pub fn of_process() -> Arc<Self> {
        PROCESS.clone()
    }

    /// Contexts that are kept stay.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub fn outgoing(&self) -> usize {
        self.outgoing.load(Ordering::Relaxed)
    }

    /// Bytes of contexts that connections keep or can keep, and of unfinished messages.
    pub fn incoming(&self) -> usize {
        self.incoming.load(Ordering::Relaxed)
    }

    /// Whether no other connection can keep an incoming context.
    pub fn is_full(&self) -> bool {
        self.incoming().saturating_add(super::INFLATER_BYTES) > self.limit()
    }

    /// Whether a connection can keep an outgoing context of `bytes`; it counts from now on.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        self.take(&self.outgoing, bytes)
    }

    pub(super) fn unkeep(&self, bytes: usize) {
        self.outgoing.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether a message can have a context until it is complete; it counts from now on.
    pub(super) fn lend(&self) -> bool {
        self.take(&self.incoming, super::INFLATER_BYTES)
    }

    fn take(&self, kept: &AtomicUsize, bytes: usize) -> bool {
        let more = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= self.limit());
        kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts the incoming context of a connection or a message, whether it fits or not.
    pub(super) fn reserve(&self) {
        self.incoming.fetch_add(super::INFLATER_BYTES, Ordering::Relaxed);
    }

    pub(super) fn unreserve(&self) {
        self.incoming.fetch_sub(super::INFLATER_BYTES, Ordering::Relaxed);
    }
}
