//! The last messages of a topic.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use crate::bridge::layout::{SINCE_OFFSET, SINCE_OLDEST};
use crate::engine::Prepared;
use crate::reactor::ConnectionId;

/// Bytes of a message in a ring beside its frames: its place, and the bookkeeping of its memory.
const OVERHEAD: usize = size_of::<Kept>() + 64;

pub(super) struct Kept {
    pub(super) message: Prepared,
    pub(super) at: Instant,
    /// Connections that do not get it. Boxed: most messages are for all.
    pub(super) except: Option<Box<[ConnectionId]>>,
    /// Bytes counted for it.
    counted: usize,
}

impl Kept {
    pub(super) fn new(message: Prepared, at: Instant, except: Option<Box<[ConnectionId]>>) -> Self {
        let mut kept = Self { message, at, except, counted: 0 };
        kept.counted = kept.memory();
        kept
    }

    fn memory(&self) -> usize {
        self.message.memory() + self.except.as_deref().map_or(0, size_of_val) + OVERHEAD
    }
}

/// A topic's messages with their offsets, which have no gaps: the oldest ones go first.
pub(super) struct Ring {
    kept: VecDeque<Kept>,
    /// Offsets of messages with compressed forms.
    compressed: BTreeSet<u64>,
    /// The offset of the last message, in the ring or not. The first one has 1.
    top: u64,
    most: usize,
    ttl: Option<Duration>,
    max_bytes: usize,
    bytes: usize,
    memory: usize,
    /// Its place in the order of rings by their last message.
    pub(super) rank: u64,
    /// When it is to be checked because its oldest message expires.
    pub(super) watched: Option<Instant>,
}

impl Ring {
    /// `ttl` in milliseconds, `max_bytes` of payload; 0 is no bound.
    pub(super) fn new(most: u32, ttl: u32, max_bytes: u32) -> Self {
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

    pub(super) fn top(&self) -> u64 {
        self.top
    }

    /// The offset of the oldest message in the ring, or of the next one if it is empty.
    pub(super) fn oldest(&self) -> u64 {
        self.top + 1 - self.kept.len() as u64
    }

    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The oldest messages make room for it.
    pub(super) fn push(&mut self, kept: Kept) {
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

    /// Returns whether there was one.
    pub(super) fn pop(&mut self) -> bool {
        self.compressed.remove(&self.oldest());
        let Some(kept) = self.kept.pop_front() else { return false };
        self.bytes -= kept.message.payload().len();
        self.memory -= kept.counted;
        if self.kept.is_empty() {
            self.kept = VecDeque::new();
        }
        true
    }

    /// Drops all messages; the next one follows `top`.
    pub(super) fn restart(&mut self, top: u64) {
        while self.pop() {}
        self.top = top;
    }

    /// Drops the compressed forms of the oldest message that has some. Returns whether there was
    /// one.
    pub(super) fn pop_compressed(&mut self) -> bool {
        let Some(offset) = self.compressed.pop_first() else { return false };
        if let Some(kept) = self.get_mut(offset) {
            kept.message.forget_compressed();
            self.recount(offset);
        }
        true
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while self.expires_at().is_some_and(|at| at <= now) {
            self.pop();
        }
    }

    pub(super) fn expires_at(&self) -> Option<Instant> {
        self.kept.front()?.at.checked_add(self.ttl?)
    }

    pub(super) fn get_mut(&mut self, offset: u64) -> Option<&mut Kept> {
        let place = offset.checked_sub(self.oldest())?;
        self.kept.get_mut(usize::try_from(place).ok()?)
    }

    /// The messages from an offset on.
    pub(super) fn from(&self, offset: u64) -> impl Iterator<Item = &Prepared> {
        let place = usize::try_from(offset.saturating_sub(self.oldest())).unwrap_or(usize::MAX);
        self.kept.iter().skip(place).map(|kept| &kept.message)
    }

    /// The same message, compressed in more ways.
    pub(super) fn replace(&mut self, offset: u64, message: Prepared) {
        let Some(kept) = self.get_mut(offset) else { return };
        kept.message = message;
        self.compressed.insert(offset);
        self.recount(offset);
    }

    fn recount(&mut self, offset: u64) {
        let Some(kept) = self.get_mut(offset) else { return };
        let now = kept.memory();
        let before = std::mem::replace(&mut kept.counted, now);
        self.memory = self.memory - before + now;
    }

    /// The offset of the first wanted message: `since` is one of `SINCE_`, `offset` for
    /// `SINCE_OFFSET`. `None`: none are wanted, or some are lost or never existed.
    pub(super) fn first_since(&self, since: u32, offset: u64) -> Option<u64> {
        match since {
            SINCE_OLDEST => Some(self.oldest()),
            SINCE_OFFSET => {
                let next = offset.checked_add(1)?;
                (self.oldest()..=self.top + 1).contains(&next).then_some(next)
            }
            _ => None,
        }
    }
}
