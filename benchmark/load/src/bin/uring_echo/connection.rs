//! What is known of one connection, and what of it the kernel has.

use wire::answer::Answering;

/// One connection.
#[derive(Default)]
pub(crate) struct Connection {
    pub(crate) answering: Answering,
    pub(crate) reading: Reading,
    /// Nothing more is to be read, or to be sent.
    pub(crate) ended: bool,
    /// The turn in which `try_send` was called last, and what it was to send. The bytes stay in their buffer until it
    /// is known how far that went.
    pub(crate) tried_in: u64,
    pub(crate) tried: Span,
    /// What the kernel sends from until it says that all of it is gone; empty when it does not.
    pub(crate) sending: Vec<u8>,
    pub(crate) sent: usize,
    /// Waits for `sending`, or for the end of the turn.
    pub(crate) queued: Vec<u8>,
}

/// What is under way of a connection's receive.
#[derive(Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The kernel has it, and completes it again and again.
    Armed,
    /// It was asked to stop.
    Stopping,
    #[default]
    Over,
}

/// Where bytes are that the kernel was given.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: *const u8,
    pub(crate) length: u32,
}

impl Default for Span {
    fn default() -> Self {
        Self { start: std::ptr::null(), length: 0 }
    }
}

impl Connection {
    /// Whether the next answer has to wait behind others, or is the last one.
    pub(crate) fn must_queue(&self, turn: u64) -> bool {
        self.tried_in == turn
            || !self.sending.is_empty()
            || !self.queued.is_empty()
            || self.answering.is_over()
    }

    /// Whether all is said.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.answering.is_over() && self.sending.is_empty() && self.queued.is_empty()
    }
}
