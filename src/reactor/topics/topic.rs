//! One topic: its settings, its members, its history.

use crate::bridge::layout::{
    SLOW_CATCH_UP, SLOW_CLOSE, SLOW_DROP, SLOW_LATEST, TOPIC_HISTORY, TOPIC_LIMIT, TOPIC_MAX_BYTES,
    TOPIC_SLOW, TOPIC_TTL, TOPIC_WORDS,
};

use super::ring::Ring;
use crate::reactor::ConnectionId;

/// The ways to treat a message to a slow member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slow {
    /// The message is queued like any other.
    Queue,
    /// The member does not get the message.
    Drop,
    /// The last message of each key is kept until the member is no longer slow.
    Latest,
    /// The member gets the message from the history once the member is no longer slow.
    CatchUp,
    /// The member is closed.
    Close,
}

/// The bounds of slow members, and their treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) slow: Slow,
    /// Bytes that may wait for a member before it is slow.
    pub(super) limit: usize,
}

pub(super) struct Topic {
    pub(super) patience: Patience,
    /// Connections whose memberships have not been taken back yet: some may be gone.
    pub(super) members: Vec<ConnectionId>,
    /// Boxed: many topics have none.
    pub(super) ring: Option<Box<Ring>>,
}

impl Topic {
    /// A topic without members, from the words of its record.
    pub(super) fn new(words: &[u32; TOPIC_WORDS]) -> Self {
        let [slow, limit, history, ttl, max_bytes] =
            [TOPIC_SLOW, TOPIC_LIMIT, TOPIC_HISTORY, TOPIC_TTL, TOPIC_MAX_BYTES].map(|word| words[word]);
        let slow = match slow {
            SLOW_DROP => Slow::Drop,
            SLOW_LATEST => Slow::Latest,
            SLOW_CATCH_UP if history > 0 => Slow::CatchUp,
            SLOW_CLOSE => Slow::Close,
            _ => Slow::Queue,
        };
        let ring = (history > 0).then(|| Box::new(Ring::new(history, ttl, max_bytes)));
        Self { patience: Patience { slow, limit: limit as usize }, members: Vec::new(), ring }
    }
}
