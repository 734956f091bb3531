//! Messages that members were not sent, until they are reported.

use crate::reactor::ConnectionId;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Most reports of dropped messages in a turn; those dropped meanwhile are added to waiting
/// reports.
const REPORTS: usize = 256;
/// Time between two turns with reports: else each message to a slow member would cause one, and
/// JavaScript would wake for it.
const APART: Duration = Duration::from_millis(10);

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
