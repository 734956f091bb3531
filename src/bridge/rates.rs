//! The rates at which the peers of a server may send, and the numbers of breaches: for all
//! reactors, and for streams, which JavaScript reads.

// Not through `sync`: no number depends on another.
use std::sync::atomic::{AtomicU64, Ordering};

/// The units in which a connection is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Messages, pings and pongs.
    Messages = 0,
    /// Bytes of its socket.
    Bytes = 1,
}

/// The amounts that each connection of a server may send in a second; the same amount at once after
/// a second in which it has sent nothing. 0 is no limit.
#[derive(Debug, Default)]
pub struct Rates {
    /// Messages, pings and pongs.
    pub messages: u32,
    /// Bytes of the socket.
    pub bytes: u64,
    /// Whether a connection that sends more is closed; otherwise it is not read for a while.
    pub closes: bool,
    exceeded: [AtomicU64; 2],
}

impl Rates {
    /// The counts before the first message.
    pub fn new(messages: u32, bytes: u64, closes: bool) -> Self {
        Self { messages, bytes, closes, exceeded: Default::default() }
    }

    /// A connection has sent more, and is closed or not read for that.
    pub fn exceed(&self, counted: Counted) {
        self.exceeded.get(counted as usize).map(|count| count.fetch_add(1, Ordering::Relaxed));
    }

    /// The numbers of breaches: by messages, and by bytes.
    pub fn exceeded(&self) -> [u64; 2] {
        self.exceeded.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl PartialEq for Rates {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
