//! Work of topics for the end of a turn.

use std::time::Instant;

use crate::bridge::layout::IN_DROPPED;

use crate::reactor::Reactor;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::topics::registry::Topics;
use crate::reactor::topics::report::encode;

impl Topics {
    /// Whether the next turn has something to do.
    pub(in crate::reactor) fn is_waiting(&self, now: Instant) -> bool {
        self.is_leaving() || !self.receipts.is_empty() || self.dropped.is_due(now)
    }

    /// The time at which the next work is due.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        [self.histories.deadline(), self.dropped.deadline()].into_iter().flatten().min()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Takes memberships back, drops expired messages, and reports the outcomes of
    /// messages to JavaScript.
    pub(in crate::reactor) fn end_topics(&mut self) {
        let now = self.work.now;
        if self.topics.histories.deadline().is_some_and(|at| at <= now) {
            self.topics.expire(now);
        }
        if !self.topics.is_waiting(now) {
            return;
        }
        self.topics.take_back();
        self.settle_receipts();
        if self.topics.dropped.is_due(now) {
            for (id, topic, count) in self.topics.dropped.take(now) {
                self.on_dropped(id, topic, count);
            }
        }
    }

    /// Reports the messages that a connection was not sent, before it goes or leaves all topics.
    pub(in crate::reactor) fn report_dropped(&mut self, id: ConnectionId) {
        for (topic, count) in self.topics.dropped.take_of(id) {
            self.on_dropped(id, topic, count);
        }
    }

    /// Reports messages of one topic that a connection is not sent.
    pub(in crate::reactor::topics) fn on_dropped(&mut self, id: ConnectionId, topic: u32, count: u32) {
        self.work.tally.dropped += u64::from(count);
        if self.connections.get(id).is_some() {
            self.consumer.on_topic(id.slot, IN_DROPPED, encode(&[topic, count]));
        }
    }
}
