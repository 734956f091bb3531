//! A message to a member that is slow, or has missed earlier ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::bridge::layout::{Cause, Slow};
use crate::engine::frame::wire_len;
use crate::engine::{CloseCode, Prepared};

use super::publish::{Publishing, is_among};
use super::ring::Ring;
use crate::reactor::config::{COST_OF_CALL, LATEST_BYTES, LATEST_KEYS, MOVED_BESIDES, WRITE_BUDGET};
use crate::reactor::read::ReadClass;
use crate::reactor::topics::Following;
use crate::reactor::{Conn, Consumer};

impl Conn<'_> {
    /// Decides about a message for a member that can be slow. False: send it.
    #[cold]
    pub(super) fn on_slow<C: Consumer>(&mut self, consumer: &mut C, publishing: &mut Publishing) -> bool {
        let is_slow = self.has_much(publishing.patience.limit);
        let topic = publishing.topic;
        let behind = match publishing.patience.slow {
            Slow::Queue => return false,
            Slow::Drop if is_slow => {
                self.topics.dropped.add(self.id, topic, 1);
                return true;
            }
            Slow::Close if is_slow => {
                self.close(Some(CloseCode::TRY_AGAIN_LATER), &[]);
                self.state.life.blame(Cause::Slow);
                consumer.on_closing(self.id);
                return true;
            }
            Slow::Drop | Slow::Close => return false,
            Slow::Latest | Slow::CatchUp => match self.topics.joined.get_mut(&self.id) {
                Some(joined) => &mut joined.backlogs,
                None => return false,
            },
        };
        if !is_slow && !behind.as_ref().is_some_and(|behind| behind.contains_key(&topic)) {
            return false;
        }
        let backlogs: &mut Backlogs = behind.get_or_insert_default();
        let dropped = match publishing.offset {
            Some(offset) if publishing.patience.slow == Slow::CatchUp => {
                let cursor = Backlog::CatchUp(Cursor { next: offset, again: 0 });
                backlogs.entry(topic).or_insert(cursor);
                0
            }
            _ => match backlogs.entry(topic).or_insert_with(|| Backlog::Latest(Latest::default())) {
                Backlog::Latest(latest) => latest.keep(&publishing.key, publishing.message.clone()),
                Backlog::CatchUp(_) => 0,
            },
        };
        self.topics.dropped.add(self.id, topic, dropped);
        self.state.following = Following::Lagging;
        true
    }

    /// Whether more than `limit` bytes wait that the kernel does not take: many messages in one
    /// turn make no member slow.
    fn has_much(&mut self, limit: usize) -> bool {
        if self.state.write.waiting() > limit && !self.state.write.state.waits() {
            self.write_at_once(WRITE_BUDGET);
        }
        self.state.write.waiting() > limit
    }
}

/// By the number of the topic.
pub(super) type Backlogs = BTreeMap<u32, Backlog>;

/// Messages of one topic that a member was not sent.
pub(super) enum Backlog {
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

impl Backlog {
    /// Bytes of frames of what can still be sent.
    fn len(&self, ring: Option<&Ring>) -> usize {
        let wire = |message: &Prepared| wire_len(message.payload().len(), false);
        match self {
            Self::Latest(latest) => latest.kept.values().map(|(_, message)| wire(message)).sum(),
            Self::CatchUp(cursor) => ring.map_or(0, |ring| ring.from(cursor.next).map(wire).sum()),
        }
    }
}

impl Conn<'_> {
    /// Sends missed messages, of each topic up to its `limit`. With `room` the connection is about to move, and these
    /// messages cannot: of each topic all are queued, or none. `room`: bytes left for all connections.
    pub(in crate::reactor) fn catch_up<C: Consumer>(&mut self, consumer: &mut C, room: Option<&mut usize>) {
        if self.state.following != Following::Lagging {
            return;
        }
        let mut behind = self.topics.joined.get_mut(&self.id).and_then(|joined| joined.backlogs.take());
        if let Some(backlogs) = &mut behind {
            self.serve_backlogs(consumer, backlogs, room);
        }
        let behind = behind.filter(|backlogs| !backlogs.is_empty());
        self.state.following = if behind.is_some() { Following::Lagging } else { Following::Live };
        if let Some(joined) = self.topics.joined.get_mut(&self.id) {
            joined.backlogs = behind;
        }
    }

    fn serve_backlogs<C: Consumer>(
        &mut self,
        consumer: &mut C,
        backlogs: &mut Backlogs,
        mut room: Option<&mut usize>,
    ) {
        backlogs.retain(|&number, behind| {
            if let Some(publishing) = self.topics.publishing.as_mut().filter(|it| it.topic == number) {
                publishing.postponed.push(self.id);
                return true;
            }
            let Some(topic) = self.topics.topics.get_mut(&number) else { return false };
            let mut limit = topic.patience.limit;
            match &mut room {
                None if self.state.write.waiting() > limit / 2 => return true,
                None => {}
                Some(room) => match self.missed_to_queue(number, behind, limit).filter(|len| len <= room) {
                    None => return true,
                    Some(len) => (**room, limit) = (**room - len, usize::MAX),
                },
            }
            match behind {
                Backlog::Latest(latest) => self.serve_latest(consumer, latest, limit),
                Backlog::CatchUp(cursor) => self.serve_ring(consumer, number, cursor, limit),
            }
        });
    }

    /// Bytes that a connection that moves lacks of a topic. `None`: they are too many; or the history has lost others, and the
    /// consumer learns that too late to send something about it.
    fn missed_to_queue(&mut self, number: u32, behind: &Backlog, limit: usize) -> Option<usize> {
        self.topics.expire_one(number, self.timers.now());
        let ring = self.topics.ring(number).map(|ring| &*ring);
        let has_gap = matches!((behind, ring), (Backlog::CatchUp(it), Some(ring)) if it.next < ring.oldest());
        let len = behind.len(ring);
        let fits = self.state.write.waiting() + len <= limit.saturating_add(MOVED_BESIDES);
        (fits && !(has_gap && self.state.read.class == ReadClass::Frozen)).then_some(len)
    }

    /// Sends kept messages, up to the limit of waiting bytes. False: those were all.
    fn serve_latest<C: Consumer>(&mut self, consumer: &mut C, latest: &mut Latest, limit: usize) -> bool {
        while self.state.write.waiting() <= limit {
            let Some(mut message) = latest.pop() else { return false };
            self.send_after_all(consumer, &mut message);
        }
        latest.len() > 0
    }

    /// As `serve_latest`, with messages of the ring from the cursor on.
    fn serve_ring<C: Consumer>(
        &mut self,
        consumer: &mut C,
        number: u32,
        cursor: &mut Cursor,
        limit: usize,
    ) -> bool {
        let Cursor { next, again } = cursor;
        self.topics.expire_one(number, self.timers.now());
        while self.state.write.waiting() <= limit {
            let Some(ring) = self.topics.ring(number) else { return false };
            let (oldest, top) = (ring.oldest(), ring.top());
            if *next < oldest {
                self.report_gap(consumer, number, *next, oldest - 1);
                *next = oldest;
            }
            if *next > top {
                return false;
            }
            if *next <= *again || !self.is_excepted(number, *next) {
                self.send_kept(consumer, number, *next);
            }
            *next += 1;
        }
        true
    }

    fn is_excepted(&mut self, number: u32, offset: u64) -> bool {
        let ring = self.topics.ring(number);
        let except = ring.and_then(|ring| ring.get_mut(offset)?.except.as_ref());
        except.is_some_and(|except| is_among(except, self.id))
    }

    pub(super) fn send_kept<C: Consumer>(&mut self, consumer: &mut C, number: u32, offset: u64) {
        let Some(kept) = self.topics.ring(number).and_then(|ring| ring.get_mut(offset)) else { return };
        let mut message = kept.message.clone();
        let before = message.memory();
        self.send_after_all(consumer, &mut message);
        // Compressed with these parameters too: the next connection that has them gets the same
        // bytes.
        if message.memory() != before {
            self.topics.replace_kept(number, offset, message);
        }
    }

    /// The message was withheld, or published before the connection was a member.
    fn send_after_all<C: Consumer>(&mut self, consumer: &mut C, message: &mut Prepared) {
        // There can be many: what this turn has no time to compress waits, and is for this one
        // alone.
        let longest = self.writer.compressed_at_once();
        self.send_of_topic(consumer, message, COST_OF_CALL, longest);
    }
}
