//! A message to a member that is slow, or has missed earlier ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::bridge::layout::{Cause, Slow};
use crate::engine::{CloseCode, Prepared};

use super::publish::{Publishing, is_among};
use crate::reactor::config::{COST_OF_CALL, LATEST_BYTES, LATEST_KEYS, WRITE_BUDGET};
use crate::reactor::connection::Following;
use crate::reactor::{ConnectionId, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    /// Decides about a message for a member that may be slow. False: send it.
    #[cold]
    pub(super) fn on_slow(&mut self, id: ConnectionId, publishing: &mut Publishing) -> bool {
        let is_slow = self.has_much(id, publishing.patience.limit);
        let topic = publishing.topic;
        let behind = match publishing.patience.slow {
            Slow::Queue => return false,
            Slow::Drop if is_slow => {
                self.topics.dropped.add(id, topic, 1);
                return true;
            }
            Slow::Close if is_slow => {
                let Some(mut session) = self.session_of(id) else { return false };
                session.close(Some(CloseCode::TRY_AGAIN_LATER), &[]);
                session.connection.life.blame(Cause::Slow);
                self.consumer.on_closing(id);
                return true;
            }
            Slow::Drop | Slow::Close => return false,
            Slow::Latest | Slow::CatchUp => match self.topics.joined.get_mut(&id) {
                Some(joined) => &mut joined.behind,
                None => return false,
            },
        };
        if !is_slow && !behind.as_ref().is_some_and(|behind| behind.contains_key(&topic)) {
            return false;
        }
        let behinds: &mut Behinds = behind.get_or_insert_default();
        let dropped = match publishing.offset {
            Some(offset) if publishing.patience.slow == Slow::CatchUp => {
                let cursor = Behind::CatchUp(Cursor { next: offset, again: 0 });
                behinds.entry(topic).or_insert(cursor);
                0
            }
            _ => match behinds.entry(topic).or_insert_with(|| Behind::Latest(Latest::default())) {
                Behind::Latest(latest) => latest.keep(&publishing.key, publishing.message.clone()),
                Behind::CatchUp(_) => 0,
            },
        };
        self.topics.dropped.add(id, topic, dropped);
        if let Some(connection) = self.connections.get(id) {
            connection.following = Following::Behind;
        }
        true
    }

    /// Whether more than `limit` bytes wait that the kernel does not take: many messages in one
    /// turn make no member slow.
    fn has_much(&mut self, id: ConnectionId, limit: usize) -> bool {
        let Some(mut session) = self.session_of(id) else { return true };
        if session.connection.write.waiting() > limit && !session.connection.write.state.waits() {
            session.write_at_once(WRITE_BUDGET);
        }
        session.connection.write.waiting() > limit
    }
}

/// By the number of the topic.
pub(super) type Behinds = BTreeMap<u32, Behind>;

/// Messages of one topic that a member was not sent.
pub(super) enum Behind {
    Latest(Latest),
    /// All messages of the history from an offset on.
    CatchUp(Cursor),
}

#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// Offset of the next message to send.
    pub(super) next: u64,
    /// Offset of the last message that it asked to have again: up to there it gets all, even those
    /// that it was excepted from.
    pub(super) again: u64,
}

/// The last message of each key, in the order of publishing.
#[derive(Default)]
pub(super) struct Latest {
    next: u64,
    /// Keys come from the program, perhaps from its peers: chosen keys cannot make this kind of
    /// table slow.
    places: HashMap<Arc<[u8]>, u64>,
    kept: BTreeMap<u64, (Arc<[u8]>, Prepared)>,
    bytes: usize,
}

/// Its compressed forms come later, and do not count.
fn weight(key: &[u8], message: &Prepared) -> usize {
    key.len() + message.payload().len()
}

impl Latest {
    /// Returns how many earlier ones are never sent: the one that it replaces, or the oldest, when
    /// there is no room.
    fn keep(&mut self, key: &Arc<[u8]>, message: Prepared) -> u32 {
        let place = self.next;
        self.next += 1;
        self.bytes += weight(key, &message);
        let before = self.places.insert(key.clone(), place).and_then(|before| self.kept.remove(&before));
        let mut dropped = u32::from(before.is_some());
        self.bytes -= before.map_or(0, |(key, message)| weight(&key, &message));
        self.kept.insert(place, (key.clone(), message));
        while self.kept.len() > 1 && (self.bytes > LATEST_BYTES || self.kept.len() > LATEST_KEYS) {
            self.pop();
            dropped += 1;
        }
        dropped
    }

    fn pop(&mut self) -> Option<Prepared> {
        let (_, (key, message)) = self.kept.pop_first()?;
        self.places.remove(&key);
        self.bytes -= weight(&key, &message);
        Some(message)
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Sends a connection what it missed of its topics, of each as much as may wait for it.
    pub(in crate::reactor) fn catch_up(&mut self, id: ConnectionId) {
        if self.connections.get(id).is_none_or(|connection| connection.following != Following::Behind) {
            return;
        }
        let mut behind = self.topics.joined.get_mut(&id).and_then(|joined| joined.behind.take());
        if let Some(behinds) = &mut behind {
            self.serve_behinds(id, behinds);
        }
        let behind = behind.filter(|behinds| !behinds.is_empty());
        if let Some(connection) = self.connections.get(id) {
            connection.following = if behind.is_some() { Following::Behind } else { Following::Live };
        }
        if let Some(joined) = self.topics.joined.get_mut(&id) {
            joined.behind = behind;
        }
    }

    fn serve_behinds(&mut self, id: ConnectionId, behinds: &mut Behinds) {
        behinds.retain(|&number, behind| {
            if let Some(publishing) = self.topics.publishing.as_mut().filter(|it| it.topic == number) {
                publishing.postponed.push(id);
                return true;
            }
            let Some(topic) = self.topics.topics.get_mut(&number) else { return false };
            let limit = topic.patience.limit;
            if self.waiting(id) > limit / 2 {
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

    /// As `serve_latest`, with messages of the ring from the cursor on.
    fn serve_ring(&mut self, id: ConnectionId, number: u32, cursor: &mut Cursor, limit: usize) -> bool {
        let Cursor { next, again } = cursor;
        self.topics.expire_one(number, self.timers.now());
        while self.waiting(id) <= limit {
            let Some(ring) = self.topics.ring(number) else { return false };
            let (oldest, top) = (ring.oldest(), ring.top());
            if *next < oldest {
                self.report_gap(id, number, *next, oldest - 1);
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
        let ring = self.topics.ring(number);
        let except = ring.and_then(|ring| ring.get_mut(offset)?.except.as_ref());
        except.is_some_and(|except| is_among(except, id))
    }

    pub(super) fn send_kept(&mut self, id: ConnectionId, number: u32, offset: u64) {
        let Some(kept) = self.topics.ring(number).and_then(|ring| ring.get_mut(offset)) else { return };
        let mut message = kept.message.clone();
        let before = message.memory();
        self.send_after_all(id, &mut message);
        // Compressed with these parameters too: the next connection that has them gets the same
        // bytes.
        if message.memory() != before {
            self.topics.replace_kept(number, offset, message);
        }
    }

    /// The message was withheld, or published before the connection was a member.
    fn send_after_all(&mut self, id: ConnectionId, message: &mut Prepared) {
        // There may be many: what this turn has no time to compress waits, and is for this one
        // alone.
        let longest = self.writer.compressed_at_once();
        self.send_of_topic(id, message, COST_OF_CALL, longest);
    }

    fn waiting(&mut self, id: ConnectionId) -> usize {
        self.connections.get(id).map_or(usize::MAX, |connection| connection.write.waiting())
    }
}
