//! The messages that topics remember, within the memory that all of them may take.

use std::time::Instant;

use crate::engine::Prepared;

use crate::reactor::topics::history::Due;
use crate::reactor::topics::history::ring::Kept;
use crate::reactor::topics::registry::Topics;

impl Topics {
    /// Appends a message to the history of a topic, at the cost of others where there is no room.
    pub(in crate::reactor) fn remember(&mut self, number: u32, kept: Kept) {
        let Self { topics, histories, .. } = self;
        let Some(ring) = topics.get_mut(&number).and_then(|topic| topic.ring.as_mut()) else { return };
        let before = ring.memory();
        if kept.message.has_compressed() {
            histories.has_compressed(number, true);
        }
        ring.push(kept);
        histories.changed(before, ring.memory());
        ring.rank = histories.promote(number, ring.rank);
        if ring.watched.is_none() {
            ring.watched = ring.expires_at().and_then(|at| histories.watch(number, at));
        }
        self.make_room();
    }

    /// Puts the same message, compressed in more ways, in the place of one in the history of a
    /// topic.
    pub(in crate::reactor) fn replace_kept(&mut self, number: u32, offset: u64, message: Prepared) {
        let Some(ring) = self.topics.get_mut(&number).and_then(|topic| topic.ring.as_mut()) else { return };
        let before = ring.memory();
        ring.replace(offset, message);
        self.histories.changed(before, ring.memory());
        self.histories.has_compressed(number, true);
        self.make_room();
    }

    /// Makes rings give up messages until all of them are within the budget.
    pub(in crate::reactor) fn make_room(&mut self) {
        while let Some(due) = self.histories.to_give() {
            let (Due::Compressed(number) | Due::Message(number)) = due;
            let Some(ring) = self.topics.get_mut(&number).and_then(|topic| topic.ring.as_mut()) else {
                return;
            };
            let before = ring.memory();
            let had_some = match due {
                Due::Compressed(_) => ring.pop_compressed(),
                Due::Message(_) => ring.pop(),
            };
            self.histories.changed(before, ring.memory());
            match due {
                _ if had_some => {}
                Due::Compressed(_) => self.histories.has_compressed(number, false),
                Due::Message(_) => self.histories.forget(ring.rank),
            }
        }
    }

    /// Drops expired messages.
    pub(in crate::reactor) fn expire(&mut self, now: Instant) {
        while let Some(number) = self.histories.pop_due(now) {
            self.expire_one(number, now);
            let Self { topics, histories, .. } = self;
            if let Some(ring) = topics.get_mut(&number).and_then(|topic| topic.ring.as_mut()) {
                ring.watched = ring.expires_at().and_then(|at| histories.watch(number, at));
            }
        }
    }

    /// Drops expired messages of one topic.
    pub(in crate::reactor) fn expire_one(&mut self, number: u32, now: Instant) {
        if let Some(ring) = self.topics.get_mut(&number).and_then(|topic| topic.ring.as_mut()) {
            let before = ring.memory();
            ring.expire(now);
            self.histories.changed(before, ring.memory());
        }
    }
}
