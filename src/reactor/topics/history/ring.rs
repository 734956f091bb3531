//! The last messages of a topic.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use crate::bridge::layout::{SINCE_OFFSET, SINCE_OLDEST};
use crate::engine::Prepared;

use crate::reactor::connection::id::ConnectionId;

/// Bytes that a message in a ring takes beside its frames: its place, and the bookkeeping of its
/// memory.
const OVERHEAD: usize = size_of::<Kept>() + 64;

/// A message.
pub(in crate::reactor) struct Kept {
    pub(in crate::reactor) message: Prepared,
    at: Instant,
    /// Connections that do not get it. Boxed: most messages are for all.
    pub(in crate::reactor) except: Option<Box<[ConnectionId]>>,
    /// Bytes of memory that were counted for it.
    counted: usize,
}

impl Kept {
    pub(in crate::reactor) fn new(
        message: Prepared,
        at: Instant,
        except: Option<Box<[ConnectionId]>>,
    ) -> Self {
        let mut kept = Self { message, at, except, counted: 0 };
        kept.counted = kept.memory();
        kept
    }

    fn memory(&self) -> usize {
        self.message.memory() + self.except.as_deref().map_or(0, size_of_val) + OVERHEAD
    }
}

/// The beginning of the wanted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reactor) enum Since {
    Now,
    Offset(u64),
    Oldest,
}

impl Since {
    /// One of `SINCE_`, and the offset for `SINCE_OFFSET`.
    pub(in crate::reactor) fn new(since: u32, offset: u64) -> Self {
        match since {
            SINCE_OFFSET => Self::Offset(offset),
            SINCE_OLDEST => Self::Oldest,
            _ => Self::Now,
        }
    }
}

/// The messages of a topic with their offsets, which have no holes: the oldest ones go first.
pub(in crate::reactor) struct Ring {
    kept: VecDeque<Kept>,
    /// Offsets of messages with compressed forms.
    compressed: BTreeSet<u64>,
    /// The offset of the last message, in the ring or not. The first one has 1.
    top: u64,
    most: usize,
    ttl: Option<Duration>,
    max_bytes: usize,
    /// Bytes of payload.
    bytes: usize,
    /// Bytes of memory.
    memory: usize,
    /// Its rank in the order of rings by their last message.
    pub(in crate::reactor) rank: u64,
    /// The time at which it is to be checked because its oldest message expires.
    pub(in crate::reactor) watched: Option<Instant>,
}

impl Ring {
    /// `ttl` in milliseconds; 0 is no bound, as for `max_bytes` of payload.
    pub(in crate::reactor) fn new(most: u32, ttl: u32, max_bytes: u32) -> Self {
        Self {
            kept: VecDeque::new(),
            compressed: BTreeSet::new(),
            top: 0,
            most: most as usize,
            ttl: (ttl > 0).then(|| Duration::from_millis(ttl.into())),
            max_bytes: if max_bytes == 0 { usize::MAX } else { max_bytes as usize },
            bytes: 0,
            memory: 0,
            rank: 0,
            watched: None,
        }
    }

    /// The offset of the last message.
    pub(in crate::reactor) fn top(&self) -> u64 {
        self.top
    }

    /// The offset of the oldest message in the ring, or of the next one if it is empty.
    pub(in crate::reactor) fn oldest(&self) -> u64 {
        self.top + 1 - self.kept.len() as u64
    }

    /// Bytes of memory.
    pub(in crate::reactor) fn memory(&self) -> usize {
        self.memory
    }

    /// Appends a message, for which the oldest ones make room.
    pub(in crate::reactor) fn push(&mut self, kept: Kept) {
        self.top += 1;
        self.bytes += kept.message.payload().len();
        self.memory += kept.counted;
        if kept.message.has_compressed() {
            self.compressed.insert(self.top);
        }
        self.kept.push_back(kept);
        while self.kept.len() > self.most || self.bytes > self.max_bytes {
            self.pop();
        }
    }

    /// Drops the oldest message. Returns whether there was one.
    pub(in crate::reactor) fn pop(&mut self) -> bool {
        self.compressed.remove(&self.oldest());
        let Some(kept) = self.kept.pop_front() else { return false };
        self.bytes -= kept.message.payload().len();
        self.memory -= kept.counted;
        if self.kept.is_empty() {
            self.kept = VecDeque::new();
        }
        true
    }

    /// Drops the compressed forms of the oldest message that has some. Returns whether there was
    /// one.
    pub(in crate::reactor) fn pop_compressed(&mut self) -> bool {
        let Some(offset) = self.compressed.pop_first() else { return false };
        if let Some(kept) = self.get_mut(offset) {
            kept.message.forget_compressed();
            self.recount(offset);
        }
        true
    }

    /// Drops the messages that have expired by `now`.
    pub(in crate::reactor) fn expire(&mut self, now: Instant) {
        while self.expires_at().is_some_and(|at| at <= now) {
            self.pop();
        }
    }

    /// The time at which the oldest message expires.
    pub(in crate::reactor) fn expires_at(&self) -> Option<Instant> {
        self.kept.front()?.at.checked_add(self.ttl?)
    }

    /// The message with this offset.
    pub(in crate::reactor) fn get_mut(&mut self, offset: u64) -> Option<&mut Kept> {
        let place = offset.checked_sub(self.oldest())?;
        self.kept.get_mut(usize::try_from(place).ok()?)
    }

    /// Puts the same message, compressed in more ways, in the place of one.
    pub(in crate::reactor) fn replace(&mut self, offset: u64, message: Prepared) {
        let Some(kept) = self.get_mut(offset) else { return };
        kept.message = message;
        self.compressed.insert(offset);
        self.recount(offset);
    }

    /// The memory of a message has changed.
    fn recount(&mut self, offset: u64) {
        let Some(kept) = self.get_mut(offset) else { return };
        let now = kept.memory();
        let before = std::mem::replace(&mut kept.counted, now);
        self.memory = self.memory - before + now;
    }

    /// The offset of the first wanted message. `None`: some of the wanted ones are gone, or have
    /// never existed, or none are wanted.
    pub(in crate::reactor) fn first_since(&self, since: Since) -> Option<u64> {
        match since {
            Since::Now => None,
            Since::Oldest => Some(self.oldest()),
            Since::Offset(offset) => {
                let next = offset.checked_add(1)?;
                (self.oldest()..=self.top + 1).contains(&next).then_some(next)
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
mod tests {
    use super::*;
    use crate::engine::MessageKind;

    fn kept(len: usize, at: Instant) -> Kept {
        Kept::new(Prepared::new(MessageKind::Binary, &vec![0; len], false), at, None)
    }

    #[test]
    fn offsets_have_no_holes_and_outlive_the_messages() {
        let now = Instant::now();
        let mut ring = Ring::new(3, 1000, 100);
        assert_eq!((ring.oldest(), ring.top()), (1, 0));
        assert_eq!(ring.first_since(Since::Offset(0)), Some(1), "nothing is missing");
        assert_eq!(ring.first_since(Since::Offset(1)), None, "it has never been");
        for (len, oldest) in [(10, 1), (10, 1), (10, 1), (10, 2), (80, 3), (101, 7)] {
            ring.push(kept(len, now));
            assert_eq!(ring.oldest(), oldest);
        }
        assert_eq!((ring.top(), ring.memory()), (6, 0));
        assert_eq!(ring.first_since(Since::Offset(6)), Some(7), "nothing is missing");
        assert_eq!(ring.first_since(Since::Offset(5)), None);
        assert_eq!(ring.first_since(Since::Offset(u64::MAX)), None);
        ring.push(kept(1, now));
        ring.push(kept(1, now + Duration::from_millis(500)));
        ring.expire(now + Duration::from_millis(999));
        assert_eq!(ring.first_since(Since::Offset(6)), Some(7));
        assert_eq!(ring.expires_at(), Some(now + Duration::from_secs(1)));
        ring.expire(now + Duration::from_secs(1));
        assert_eq!((ring.first_since(Since::Oldest), ring.first_since(Since::Offset(6))), (Some(8), None));
        assert!(ring.get_mut(7).is_none() && ring.get_mut(8).is_some() && ring.get_mut(9).is_none());
        ring.expire(now + Duration::from_secs(2));
        assert_eq!((ring.top(), ring.memory(), ring.expires_at()), (8, 0, None));
    }
}
