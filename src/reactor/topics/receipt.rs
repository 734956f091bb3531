//! What became of one message, counted by member.

use crate::reactor::ConnectionId;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct Receipt {
    request: u32,
    matched: u32,
    pub(super) sent: u32,
    pub(super) queued: u32,
    pub(super) dropped: u32,
    /// Of its frames, sent and queued.
    pub(super) bytes: u64,
    /// Members to which no write was tried yet, with the bytes of the frame, and all bytes ever
    /// queued for them, the frame included.
    pub(super) untried: VecDeque<(ConnectionId, u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Bytes of the message that are queued, and all bytes ever queued up to its last one.
    Queued(u64, u64),
    /// The message waits elsewhere: to be compressed, or to be sent later.
    Kept(u64),
    Dropped,
}

impl Receipt {
    pub(super) fn new(request: u32) -> Box<Self> {
        Box::new(Self { request, ..Self::default() })
    }

    pub(super) fn count(&mut self, id: ConnectionId, outcome: Outcome) {
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

/// Most reports of dropped messages in a turn; those dropped meanwhile are added to waiting
/// reports.
const REPORTS: usize = 256;
/// Time between two turns with reports: else each message to a slow member would cause one, and
/// JavaScript would wake for it.
const APART: Duration = Duration::from_millis(10);

pub(super) fn encode(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Lower, upper.
pub(super) fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

impl Receipt {
    pub(super) fn encode(&self) -> Vec<u8> {
        let [low, high] = halves(self.bytes);
        encode(&[self.request, self.matched, self.sent, self.queued, self.dropped, low, high])
    }
}

/// Dropped messages not yet reported, by connection and topic.
#[derive(Default)]
pub(super) struct Dropped {
    counts: BTreeMap<(ConnectionId, u32), u32>,
    order: VecDeque<(ConnectionId, u32)>,
    /// No report is due before then.
    due: Option<Instant>,
}

impl Dropped {
    pub(super) fn add(&mut self, id: ConnectionId, topic: u32, count: u32) {
        if count == 0 {
            return;
        }
        let known = self.counts.entry((id, topic)).or_insert(0);
        if *known == 0 {
            self.order.push_back((id, topic));
        }
        *known = known.saturating_add(count);
    }

    pub(super) fn take_one(&mut self, id: ConnectionId, topic: u32) -> Option<u32> {
        self.counts.remove(&(id, topic))
    }

    /// Topics and counts.
    pub(super) fn take_of(&mut self, id: ConnectionId) -> Vec<(u32, u32)> {
        let mut reports = Vec::new();
        while let Some((&key, &count)) = self.counts.range((id, 0)..=(id, u32::MAX)).next() {
            self.counts.remove(&key);
            reports.push((key.1, count));
        }
        reports
    }

    pub(super) fn take(&mut self, now: Instant) -> Vec<(ConnectionId, u32, u32)> {
        let first = self.order.drain(..self.order.len().min(REPORTS));
        let counted = |(id, topic)| Some((id, topic, self.counts.remove(&(id, topic))?));
        let reports = first.filter_map(counted).collect();
        if self.order.is_empty() {
            *self = Self { due: Some(now + APART), ..Self::default() };
        }
        reports
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.is_empty() && self.due.is_none_or(|due| due <= now)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.is_empty())
    }
}
