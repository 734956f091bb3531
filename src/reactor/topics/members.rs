//! All topics of one reactor, and the members of each.
//!
//! A topic lists its connections, and a connection knows its place in the list of each of its
//! topics, so leaving needs no search. The last member takes the place of one that leaves.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::bridge::layout::TOPIC_WORDS;

use super::Topics;
use super::slow::{Backlog, Backlogs};
use super::topic::Topic;
use crate::reactor::ConnectionId;

/// Memberships taken back in a turn, of connections that have left: about 0.3 ms, beside up to 4.4
/// ms in which 512 sockets close.
const LEAVE_BUDGET: usize = 1024;
/// A list keeps room for this many times its length.
const SPARE: usize = 4;

impl Topics {
    pub(super) fn create(&mut self, number: u32, words: &[u32; TOPIC_WORDS]) {
        self.topics.entry(number).or_insert_with(|| Topic::new(words));
    }

    pub(super) fn end(&mut self, number: u32) -> Vec<ConnectionId> {
        let Some(topic) = self.topics.remove(&number) else { return Vec::new() };
        if let Some(ring) = &topic.ring {
            self.histories.forget(number, ring);
        }
        for &id in &topic.members {
            self.forget_place(id, number);
        }
        topic.members
    }

    /// False: there is no such topic.
    pub(super) fn join(&mut self, number: u32, id: ConnectionId) -> bool {
        let Some(topic) = self.topics.get_mut(&number) else { return false };
        let joined = self.joined.entry(id).or_default();
        if let Entry::Vacant(place) = joined.places.entry(number) {
            place.insert(topic.members.len() as u32);
            topic.members.push(id);
        }
        true
    }

    /// Takes a membership back. Returns the messages that the connection was not sent.
    pub(super) fn leave(&mut self, number: u32, id: ConnectionId) -> Option<Backlog> {
        let (place, behind) = self.forget_place(id, number)?;
        self.remove_member(number, place);
        behind
    }

    /// Takes back memberships of connections that have left, within the budget of a turn.
    pub(super) fn take_back(&mut self) {
        let mut budget = LEAVE_BUDGET;
        while let Some(&id) = self.leaving.front() {
            while let Some((number, place)) = self.joined.get_mut(&id).and_then(|it| it.places.pop_last()) {
                self.remove_member(number, place);
                budget -= 1;
                if budget == 0 {
                    return;
                }
            }
            self.joined.remove(&id);
            self.leaving.pop_front();
        }
        self.leaving = VecDeque::new();
    }

    fn forget_place(&mut self, id: ConnectionId, number: u32) -> Option<(u32, Option<Backlog>)> {
        let joined = self.joined.get_mut(&id)?;
        let place = joined.places.remove(&number)?;
        let behind = joined.backlogs.as_mut().and_then(|behind| behind.remove(&number));
        if joined.places.is_empty() {
            self.joined.remove(&id);
        }
        Some((place, behind))
    }

    /// Keeps count of the message under way, so that no member misses it or gets it twice.
    fn remove_member(&mut self, number: u32, place: u32) {
        let Self { topics, joined, publishing, .. } = self;
        let Some(topic) = topics.get_mut(&number) else { return };
        let members = &mut topic.members;
        let mut moved_to = |members: &[ConnectionId], place: usize| {
            let joined = members.get(place).and_then(|id| joined.get_mut(id));
            if let Some(known) = joined.and_then(|joined| joined.places.get_mut(&number)) {
                *known = place as u32;
            }
        };
        let mut hole = place as usize;
        if hole >= members.len() {
            return;
        }
        if let Some(publishing) = publishing
            && publishing.topic == number
            && hole < publishing.next
        {
            publishing.next -= 1;
            let last = publishing.next;
            if hole != last {
                members.swap(hole, last);
                moved_to(members, hole);
                hole = last;
            }
        }
        members.swap_remove(hole);
        moved_to(members, hole);
        if members.capacity() > SPARE * members.len().max(SPARE) {
            members.shrink_to(2 * members.len());
        }
    }
}

#[derive(Default)]
pub(super) struct Joined {
    /// Index of the connection among the members of each topic.
    places: BTreeMap<u32, u32>,
    /// Topics with last messages that the connection did not get. Boxed: few have any.
    pub(super) backlogs: Option<Box<Backlogs>>,
}

/// A table by the number of a topic, or by a connection: both are counted up here and in
/// JavaScript, so no peer can make them collide.
pub(super) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Spreads numbers that follow each other.
#[derive(Default)]
pub(super) struct Spread(u64);

/// 2^64 divided by the golden ratio: consecutive multiples are far from each other.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(GOLDEN);
    }
}
