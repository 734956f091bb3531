//! The state of one connection, and of the requests for it that the kernel has.

use wire::answer::Answering;

/// One connection.
#[derive(Default)]
pub(crate) struct Connection {
    pub(crate) answering: Answering,
    pub(crate) reading: Reading,
    /// Nothing is left to be read or sent.
    pub(crate) ended: bool,
    /// The turn in which `try_send` was called last, and the bytes that it was to send. They stay
    /// in their buffer until it is known how many were sent.
    pub(crate) tried_in: u64,
    pub(crate) tried: Span,
    /// The bytes that the kernel sends from until it reports that all are sent; empty when it sends
    /// none.
    pub(crate) sending: Vec<u8>,
    pub(crate) sent: usize,
    /// Bytes that wait for `sending`, or for the end of the turn.
    pub(crate) queued: Vec<u8>,
}

/// The state of a connection's receive request.
#[derive(Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The kernel has the request, and completes it again and again.
    Armed,
    /// The kernel was asked to stop.
    Stopping,
    #[default]
    Over,
}

/// The place of bytes that the kernel was given.
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

    /// Whether everything has been sent.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.answering.is_over() && self.sending.is_empty() && self.queued.is_empty()
    }
}
