//! The outcomes of one message, counted by member.

use std::collections::VecDeque;

use crate::reactor::connection::id::ConnectionId;

/// The counts of a message as far as they are known.
#[derive(Default)]
pub(in crate::reactor) struct Receipt {
    pub(in crate::reactor) request: u32,
    pub(in crate::reactor) matched: u32,
    pub(in crate::reactor) sent: u32,
    pub(in crate::reactor) queued: u32,
    pub(in crate::reactor) dropped: u32,
    /// Bytes of its frames, sent and queued.
    pub(in crate::reactor) bytes: u64,
    /// Members to which no write has been tried yet, with the bytes of the frame, and the bytes
    /// that their queues had ever taken, the frame included.
    pub(in crate::reactor) untried: VecDeque<(ConnectionId, u64, u64)>,
}

/// The outcome of a message to one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reactor) enum Outcome {
    /// This many bytes of it are queued; the second number counts all bytes ever queued up to its
    /// last one.
    Queued(u64, u64),
    /// The message waits elsewhere: to be compressed, or to be sent later.
    Kept(u64),
    Dropped,
}

impl Receipt {
    pub(in crate::reactor) fn new(request: u32) -> Box<Self> {
        Box::new(Self { request, ..Self::default() })
    }

    pub(in crate::reactor) fn count(&mut self, id: ConnectionId, outcome: Outcome) {
        self.matched += 1;
        match outcome {
            Outcome::Queued(bytes, pushed) => {
                self.untried.push_back((id, bytes, pushed));
            }
            Outcome::Kept(bytes) => {
                self.bytes += bytes;
                self.queued += 1;
            }
            Outcome::Dropped => self.dropped += 1,
        }
    }
}
