//! A slow member has room again: it is sent the messages that it has missed.

use crate::bridge::layout::IN_GAP;
use crate::engine::Prepared;

use crate::reactor::Reactor;
use crate::reactor::config::COST_OF_CALL;
use crate::reactor::connection::Following;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::topics::behind::{Behind, Behinds, Cursor, Latest};
use crate::reactor::topics::publishing::is_among;
use crate::reactor::topics::report::{encode, halves};

impl<C: Consumer> Reactor<C> {
    /// Sends a connection missed messages of its topics, of each topic as many as may wait for it.
    pub(in crate::reactor) fn catch_up(&mut self, id: ConnectionId) {
        if self.connections.get(id).is_none_or(|connection| connection.following != Following::Behind) {
            return;
        }
        let mut behind = self.topics.joined_mut(id).and_then(|joined| joined.behind.take());
        if let Some(behinds) = &mut behind {
            self.serve_behinds(id, behinds);
        }
        let behind = behind.filter(|behinds| !behinds.is_empty());
        if let Some(connection) = self.connections.get(id) {
            connection.following = if behind.is_some() { Following::Behind } else { Following::Live };
        }
        if let Some(joined) = self.topics.joined_mut(id) {
            joined.behind = behind;
        }
    }

    fn serve_behinds(&mut self, id: ConnectionId, behinds: &mut Behinds) {
        behinds.retain(|&number, behind| {
            if let Some(publishing) = self.topics.publishing.as_mut().filter(|it| it.topic == number) {
                publishing.postponed.push(id);
                return true;
            }
            let Some(topic) = self.topics.get_mut(number) else { return false };
            let (limit, low) = (topic.patience.limit, topic.patience.low());
            if self.waiting(id) > low {
                return true;
            }
            match behind {
                Behind::Latest(latest) => self.serve_latest(id, latest, limit),
                Behind::CatchUp(cursor) => self.serve_ring(id, number, cursor, limit),
            }
        });
    }

    /// Sends kept messages, as many as may wait. False: those were all.
    fn serve_latest(&mut self, id: ConnectionId, latest: &mut Latest, limit: usize) -> bool {
        while self.waiting(id) <= limit {
            let Some(mut message) = latest.pop() else { return false };
            self.send_after_all(id, &mut message);
        }
        latest.len() > 0
    }

    /// Sends messages of the ring from the cursor on, as many as may wait. False: those were all.
    fn serve_ring(&mut self, id: ConnectionId, number: u32, cursor: &mut Cursor, limit: usize) -> bool {
        let Cursor { next, again } = cursor;
        self.topics.expire_one(number, self.work.now);
        while self.waiting(id) <= limit {
            let Some(ring) = self.topics.get_mut(number).and_then(|topic| topic.ring.as_deref_mut()) else {
                return false;
            };
            let (oldest, top) = (ring.oldest(), ring.top());
            if *next < oldest {
                let ([from, from_high], [to, to_high]) = (halves(*next), halves(oldest - 1));
                self.consumer.on_topic(id.slot, IN_GAP, encode(&[number, from, from_high, to, to_high]));
                *next = oldest;
            }
            if *next > top {
                return false;
            }
            if *next <= *again || !self.is_excepted(id, number, *next) {
                self.send_kept(id, number, *next);
            }
            *next += 1;
        }
        true
    }

    fn is_excepted(&mut self, id: ConnectionId, number: u32, offset: u64) -> bool {
        let ring = self.topics.get_mut(number).and_then(|topic| topic.ring.as_deref_mut());
        let except = ring.and_then(|ring| ring.get_mut(offset)?.except.as_ref());
        except.is_some_and(|except| is_among(except, id))
    }

    /// Sends a connection a message of a topic's history.
    pub(in crate::reactor) fn send_kept(&mut self, id: ConnectionId, number: u32, offset: u64) {
        let ring = self.topics.get_mut(number).and_then(|topic| topic.ring.as_deref_mut());
        let Some(kept) = ring.and_then(|ring| ring.get_mut(offset)) else { return };
        let mut message = kept.message.clone();
        let before = message.memory();
        self.send_after_all(id, &mut message);
        // Compressed with these parameters, too: the next connection that has them gets the same
        // bytes.
        if message.memory() != before {
            self.topics.replace_kept(number, offset, message);
        }
    }

    /// Sends a message that was withheld, or that was published before the connection was a member.
    fn send_after_all(&mut self, id: ConnectionId, message: &mut Prepared) {
        // Others may be many: what this turn has no time to compress waits, and is for this one alone.
        let longest = self.work.compression.at_once();
        self.send_of_topic(id, message, COST_OF_CALL, longest);
    }

    fn waiting(&mut self, id: ConnectionId) -> usize {
        self.connections.get(id).map_or(usize::MAX, |connection| connection.write.waiting())
    }
}
