//! The rates at which peers can send, and how often they were exceeded.

// Not through `sync`: no number depends on another.
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Messages, pings and pongs.
    Messages = 0,
    /// Bytes of its socket.
    Bytes = 1,
}

/// Amounts that each connection can send in a second, and at once after a silent one. 0: no limit.
#[derive(Debug, Default)]
pub struct Rates {
    pub messages: u32,
    pub bytes: u64,
    /// Whether a connection that sends more is closed; else it is not read for a while.
    pub closes: bool,
    exceeded: [AtomicU64; 2],
}

impl Rates {
    pub fn new(messages: u32, bytes: u64, closes: bool) -> Self {
        Self { messages, bytes, closes, exceeded: Default::default() }
    }

    pub fn exceed(&self, counted: Counted) {
        self.exceeded.get(counted as usize).map(|count| count.fetch_add(1, Ordering::Relaxed));
    }

    pub fn exceeded(&self) -> [u64; 2] {
        self.exceeded.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl PartialEq for Rates {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
