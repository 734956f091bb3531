//! Reports about topics to JavaScript.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::topics::receipt::Receipt;

/// Most reports of dropped messages in one turn; messages dropped meanwhile are added to waiting
/// reports.
const REPORTS: usize = 256;
/// Time from one turn's reports to the next: otherwise each message to a slow member would cause
/// one, and JavaScript would wake for it.
const APART: Duration = Duration::from_millis(10);

/// Words as they cross.
pub(in crate::reactor) fn encode(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The lower half of a number, and the upper one.
pub(in crate::reactor) fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

impl Receipt {
    /// The payload of its record.
    pub(in crate::reactor) fn encode(&self) -> Vec<u8> {
        let [low, high] = halves(self.bytes);
        encode(&[self.request, self.matched, self.sent, self.queued, self.dropped, low, high])
    }
}

/// Dropped messages that have not been reported to JavaScript, by connection and topic.
#[derive(Default)]
pub(in crate::reactor) struct Dropped {
    counts: BTreeMap<(ConnectionId, u32), u32>,
    order: VecDeque<(ConnectionId, u32)>,
    /// No report is due before then.
    due: Option<Instant>,
}

impl Dropped {
    pub(in crate::reactor) fn add(&mut self, id: ConnectionId, topic: u32, count: u32) {
        if count == 0 {
            return;
        }
        let known = self.counts.entry((id, topic)).or_insert(0);
        if *known == 0 {
            self.order.push_back((id, topic));
        }
        *known = known.saturating_add(count);
    }

    /// The report about one connection and topic.
    pub(in crate::reactor) fn take_one(&mut self, id: ConnectionId, topic: u32) -> Option<u32> {
        self.counts.remove(&(id, topic))
    }

    /// The reports about one connection: the topic, the count.
    pub(in crate::reactor) fn take_of(&mut self, id: ConnectionId) -> Vec<(u32, u32)> {
        let mut reports = Vec::new();
        while let Some((&key, &count)) = self.counts.range((id, 0)..=(id, u32::MAX)).next() {
            self.counts.remove(&key);
            reports.push((key.1, count));
        }
        reports
    }

    /// A turn's reports: the connection, the topic, the count.
    pub(in crate::reactor) fn take(&mut self, now: Instant) -> Vec<(ConnectionId, u32, u32)> {
        let first = self.order.drain(..self.order.len().min(REPORTS));
        let counted = |(id, topic)| Some((id, topic, self.counts.remove(&(id, topic))?));
        let reports = first.filter_map(counted).collect();
        if self.order.is_empty() {
            *self = Self { due: Some(now + APART), ..Self::default() };
        }
        reports
    }

    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether there are reports for the turn that begins now.
    pub(in crate::reactor) fn is_due(&self, now: Instant) -> bool {
        !self.is_empty() && self.due.is_none_or(|due| due <= now)
    }

    /// The time at which there will be reports.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.is_empty())
    }
}
