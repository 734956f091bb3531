//! Several reactors that serve the same listeners, each in a thread of its own.
//!
//! A listener belongs to one reactor, which hands each accepted connection to the reactor with the
//! fewest, where it stays. With several sockets on one port, the kernel would decide the spread,
//! another program could take the port, and a socket that closes would lose its waiting
//! connections.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::bridge::gauges::MAX_SLOTS;

use super::connections::Share;
use super::read::Reader;
use crate::reactor::{Command, Connections, Consumer, Handle, Reactor, ReactorConfig, Transport};

/// One reactor per consumer. The lowest bits of a slot are its reactor's number. `config` is for
/// each reactor, see [`ReactorConfig::shared_by`].
pub fn reactors<C: Consumer>(consumers: Vec<C>, config: ReactorConfig) -> io::Result<Vec<Reactor<C>>> {
    let count = consumers.len();
    let group: Arc<[Member]> = (0..count).map(|_| Member::default()).collect();
    let mut reactors = Vec::with_capacity(count);
    let begun = Instant::now();
    for (number, (consumer, member)) in consumers.into_iter().zip(&*group).enumerate() {
        let mut reactor = Reactor::new(consumer, config)?;
        let _first_time = member.handle.set(reactor.handle());
        reactor.connections = Connections::new(MAX_SLOTS, Share::new(number as u32, count as u32));
        reactor.shard = Shard { group: group.clone(), number };
        reactor.reader = Reader::new(config.unfinished_budget, begun);
        reactors.push(reactor);
    }
    Ok(reactors)
}

#[derive(Default)]
struct Member {
    handle: OnceLock<Handle>,
    /// Connections, including those on their way to it.
    connections: AtomicUsize,
    unfinished: AtomicUsize,
    /// The time of the message that would be given up; `u64::MAX`: none.
    oldest: AtomicU64,
}

pub(super) struct Shard {
    group: Arc<[Member]>,
    number: usize,
}

impl Shard {
    pub(super) fn alone() -> Self {
        Self { group: Arc::from([Member::default()]), number: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.group.len().max(1)
    }

    /// Hands a connection to the reactor with the fewest. `Some`: that is this one.
    pub(super) fn place(&self, listener: u32, stream: Transport) -> Option<Transport> {
        let count = |number: &usize| {
            self.group.get(*number).map_or(0, |member| member.connections.load(Ordering::Relaxed))
        };
        // Among equals the next one is chosen, so this reactor, which accepts, comes last.
        let turn = (1..=self.group.len()).map(|step| (self.number + step) % self.group.len());
        let Some(chosen) = turn.min_by_key(count) else { return Some(stream) };
        let member = self.group.get(chosen)?;
        member.connections.fetch_add(1, Ordering::Relaxed);
        if chosen == self.number {
            return Some(stream);
        }
        // Fails only if that reactor's waker is broken, and then so is the reactor.
        let _broken_anyway = member.handle.get()?.submit(Command::Take { listener, stream });
        None
    }

    /// `oldest`: the time of the message that would be given up.
    pub(super) fn note_unfinished(&self, bytes: usize, oldest: u64) {
        let Some(own) = self.group.get(self.number) else { return };
        own.unfinished.store(bytes, Ordering::Relaxed);
        // Release: a thread that finds this time finds these bytes, or later ones.
        own.oldest.store(oldest, Ordering::Release);
    }

    /// Bytes of all reactors' unfinished messages, and whether this one has the message that would
    /// be given up. `new`: the second since which messages are equally new in this turn; the
    /// turns of other reactors can have later ones.
    pub(super) fn unfinished(&self, new: u64) -> (usize, bool) {
        let in_this_turn = |rank: u64| rank.min(new << 32 | rank & u64::from(u32::MAX));
        let oldest = |(number, member): (usize, &Member)| {
            (in_this_turn(member.oldest.load(Ordering::Acquire)), number)
        };
        // Times first: bytes of a message that was given up since are not counted.
        let first = self.group.iter().enumerate().map(oldest).min();
        let bytes = self.group.iter().map(|member| member.unfinished.load(Ordering::Relaxed)).sum();
        (bytes, first.is_some_and(|(_, number)| number == self.number))
    }

    pub(super) fn wake_others(&self) {
        for handle in self.others() {
            // As in `place`.
            let _broken_anyway = handle.wake();
        }
    }

    fn others(&self) -> impl Iterator<Item = &Handle> {
        let others = self.group.iter().enumerate().filter(|(number, _)| *number != self.number);
        others.filter_map(|(_, member)| member.handle.get())
    }

    pub(super) fn came(&self) {
        if let Some(own) = self.group.get(self.number) {
            own.connections.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn left(&self) {
        if let Some(own) = self.group.get(self.number) {
            own.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The reactor has ended, perhaps by a panic.
impl Drop for Shard {
    fn drop(&mut self) {
        self.note_unfinished(0, u64::MAX);
    }
}
