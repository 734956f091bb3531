//! A connection becomes a member, after the messages that it asks to have again, or leaves.

use crate::bridge::layout::{IN_SUBSCRIBED, SUBSCRIBE_WORDS};

use crate::reactor::Reactor;
use crate::reactor::connection::Following;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::topics::behind::{Behind, Cursor};
use crate::reactor::topics::history::ring::Since;
use crate::reactor::topics::records::words;
use crate::reactor::topics::report::{encode, halves};
use crate::reactor::topics::topic::Slow;

impl<C: Consumer> Reactor<C> {
    /// A connection becomes a member of a topic. The messages that it asks to have again are queued
    /// in this very step, so that it neither misses a message published meanwhile nor gets one
    /// twice.
    pub(in crate::reactor) fn on_subscribe(&mut self, id: ConnectionId, payload: &[u8]) {
        let Some(words) = words::<SUBSCRIBE_WORDS>(payload) else { return };
        let [number, request, since, low, high] = words;
        let Some(connection) = self.connections.get(id) else { return };
        if connection.life.is_gone() || connection.following == Following::Left {
            return;
        }
        let is_there = self.topics.join(number, id);
        let since = Since::new(since, u64::from(high) << 32 | u64::from(low));
        let (replayed, top) = if is_there { self.replay(id, number, since) } else { (None, 0) };
        if request != 0 {
            let [low, high] = halves(top);
            let answer = encode(&[request, u32::from(replayed.is_some()), replayed.unwrap_or(0), low, high]);
            self.consumer.on_topic(id.slot, IN_SUBSCRIBED, answer);
        }
    }

    /// Returns how many messages are sent again, unless some are missing, and the offset of the
    /// topic's last one.
    fn replay(&mut self, id: ConnectionId, number: u32, since: Since) -> (Option<u32>, u64) {
        self.topics.expire_one(number, self.work.now);
        let Some(topic) = self.topics.get_mut(number) else { return (None, 0) };
        let (slow, Some(ring)) = (topic.patience.slow, topic.ring.as_deref_mut()) else { return (None, 0) };
        let (first, top) = (ring.first_since(since), ring.top());
        let Some(first) = first else { return (None, top) };
        if slow == Slow::CatchUp {
            // It is behind, like a member that was slow.
            if let Some(joined) = self.topics.joined_mut(id) {
                joined
                    .behind
                    .get_or_insert_default()
                    .insert(number, Behind::CatchUp(Cursor { next: first, again: top }));
            }
            if let Some(connection) = self.connections.get(id) {
                connection.following = Following::Behind;
            }
            self.catch_up(id);
        } else {
            (first..=top).for_each(|offset| self.send_kept(id, number, offset));
        }
        (Some(u32::try_from(top + 1 - first).unwrap_or(u32::MAX)), top)
    }

    /// A connection is no longer a member, with number 0 of any topic. It never gets the messages
    /// that it missed while it was slow.
    pub(in crate::reactor) fn on_unsubscribe(&mut self, id: ConnectionId, payload: &[u8]) {
        let Some([number]) = words(payload) else { return };
        if number == 0 {
            return self.on_left(id);
        }
        let missed = match self.topics.leave(number, id) {
            None => 0,
            Some(Behind::Latest(latest)) => latest.len(),
            Some(Behind::CatchUp(Cursor { next, .. })) => {
                let ring = self.topics.get_mut(number).and_then(|topic| topic.ring.as_ref());
                ring.map_or(0, |ring| (ring.top() + 1).saturating_sub(next)) as usize
            }
        };
        self.topics.dropped.add(id, number, u32::try_from(missed).unwrap_or(u32::MAX));
        // At once: JavaScript forgets a topic without members when all before is reported.
        if let Some(count) = self.topics.dropped.take_one(id, number) {
            self.on_dropped(id, number, count);
        }
    }

    /// A connection has left all topics. Its memberships are taken back some at a time.
    fn on_left(&mut self, id: ConnectionId) {
        self.report_dropped(id);
        if let Some(connection) = self.connections.get(id) {
            connection.following = Following::Left;
        }
        self.topics.on_gone(id);
    }
}
