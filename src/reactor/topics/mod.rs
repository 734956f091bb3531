//! Topics: one record for a message to many connections, their history, and the treatment of slow
//! members.
//!
//! JavaScript owns names, numbers and positions. Each reactor has the topics that its connections
//! might have joined, their members, and the same history as the others.
//!
//! ```text
//!                     .--> members, one after the other: framed once, compressed once for
//!                     |    equal parameters
//!  record -> Publishing --> ring, where there is a history
//!                     '--> slow members: queued, dropped, kept (latest), or left to the ring
//!                          (catch-up)
//!
//!  a write has made room -> catch_up: kept messages, or messages of the ring from an offset on
//!  the member moves to another process -> catch_up as well, with all or none
//!  a connection has ended -> leaving: its memberships are taken back, some of them each turn
//! ```
//!
//! A publish uses the turn's budget, as any record does. When that is used up, it goes on in the next turn, and the
//! records after it wait.

mod dropped;
mod history;
mod members;
mod publish;
mod records;
mod restart;
mod ring;
mod slow;
#[cfg(test)]
mod tests;
mod topic;

use std::collections::VecDeque;
use std::time::Instant;

use crate::bridge::layout::IN_DROPPED;

use crate::reactor::{Conn, ConnectionId, Consumer, Reactor};
use dropped::Dropped;
use history::Histories;
use members::{ByNumber, Joined};
use publish::{Publishing, Target};
use ring::Ring;
use topic::Topic;

#[derive(Default)]
pub(super) struct Topics {
    topics: ByNumber<u32, Topic>,
    /// Topics of each connection, until its memberships are taken back.
    joined: ByNumber<ConnectionId, Joined>,
    /// Connections that have ended, or left all topics.
    leaving: VecDeque<ConnectionId>,
    /// The message that not all members have had yet; records after it wait.
    publishing: Option<Box<Publishing>>,
    /// Settings of the next message, from the last record.
    target: Option<Box<Target>>,
    dropped: Dropped,
    histories: Histories,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Following {
    /// The connection gets the messages of its topics as they are published.
    Live,
    /// Some topic has messages that it was not sent because it was slow.
    Lagging,
    /// The consumer has taken it out of all topics: nothing that is published is for it.
    Left,
}

impl Topics {
    pub(super) fn new(history_budget: usize) -> Self {
        let mut topics = Self::default();
        topics.histories.budget = history_budget;
        topics
    }

    pub(super) fn is_publishing(&self) -> bool {
        self.publishing.is_some()
    }

    pub(super) fn on_gone(&mut self, id: ConnectionId) {
        if self.joined.contains_key(&id) {
            self.leaving.push_back(id);
        }
    }

    pub(super) fn history(&self) -> [usize; 2] {
        [self.histories.used, self.histories.budget]
    }

    pub(super) fn is_waiting(&self, now: Instant) -> bool {
        !self.leaving.is_empty() || self.dropped.is_due(now)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.histories.deadline(), self.dropped.deadline()].into_iter().flatten().min()
    }

    fn members_mut(&mut self, number: u32) -> Option<&mut Vec<ConnectionId>> {
        self.topics.get_mut(&number).map(|topic| &mut topic.members)
    }

    fn ring(&mut self, number: u32) -> Option<&mut Ring> {
        self.topics.get_mut(&number)?.ring.as_deref_mut()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Takes memberships back, drops expired messages, and reports messages that were not sent.
    pub(super) fn end_topics(&mut self) {
        let now = self.timers.now();
        if self.topics.histories.deadline().is_some_and(|at| at <= now) {
            self.topics.expire(now);
        }
        if !self.topics.is_waiting(now) {
            return;
        }
        self.topics.take_back();
        if self.topics.dropped.is_due(now) {
            for (id, topic, count) in self.topics.dropped.take(now) {
                if let Some((mut conn, consumer, _)) = self.conn_of(id) {
                    conn.on_dropped(consumer, topic, count);
                }
            }
        }
    }
}

impl Conn<'_> {
    /// Reports the messages that the connection was not sent, before it ends or leaves all topics.
    pub(super) fn report_dropped<C: Consumer>(&mut self, consumer: &mut C) {
        for (topic, count) in self.topics.dropped.take_of(self.id) {
            self.on_dropped(consumer, topic, count);
        }
    }

    fn on_dropped<C: Consumer>(&mut self, consumer: &mut C, topic: u32, count: u32) {
        self.metrics.tally.dropped += u64::from(count);
        consumer.on_topic(self.id.slot, IN_DROPPED, records::encode(&[topic, count]));
    }
}
