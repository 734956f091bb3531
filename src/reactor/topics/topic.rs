//! One topic: its settings, members and history.

use crate::bridge::layout::{
    Slow, TOPIC_HISTORY, TOPIC_LIMIT, TOPIC_MAX_BYTES, TOPIC_SLOW, TOPIC_TTL, TOPIC_WORDS,
};

use super::ring::Ring;
use crate::reactor::ConnectionId;

/// When a member is slow, and what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) slow: Slow,
    /// Bytes that can wait for a member before it is slow.
    pub(super) limit: usize,
}

pub(super) struct Topic {
    pub(super) patience: Patience,
    /// Some might have ended: their memberships are taken back later.
    pub(super) members: Vec<ConnectionId>,
    /// Boxed: many topics have none.
    pub(super) ring: Option<Box<Ring>>,
}

impl Topic {
    pub(super) fn new(words: &[u32; TOPIC_WORDS]) -> Self {
        let [slow, limit, history, ttl, max_bytes] =
            [TOPIC_SLOW, TOPIC_LIMIT, TOPIC_HISTORY, TOPIC_TTL, TOPIC_MAX_BYTES].map(|word| words[word]);
        let slow = Slow::ALL.into_iter().find(|known| *known as u32 == slow);
        // Without a history there is nothing to catch up from.
        let slow = slow.filter(|slow| *slow != Slow::CatchUp || history > 0).unwrap_or(Slow::Queue);
        let ring = (history > 0).then(|| Box::new(Ring::new(history, ttl, max_bytes)));
        Self { patience: Patience { slow, limit: limit as usize }, members: Vec::new(), ring }
    }
}
