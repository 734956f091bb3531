//! All topics of one reactor, and the members of each.
//!
//! A topic has a list of its connections, a connection one of its topics, and each entry knows its
//! place in the other list: joining and leaving take the same time however long the lists are. The
//! last entry takes the place of a removed one.

#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::bridge::layout::TOPIC_WORDS;

use super::Topics;
use super::slow::{Behind, Behinds};
use super::topic::{Member, Topic};
use crate::reactor::ConnectionId;

/// Memberships taken back in a turn, of connections that have left all topics: about 0.3 ms, beside
/// up to 4.4 ms in which 512 sockets close.
const LEAVE_BUDGET: usize = 1024;
/// A list keeps room for this many times its length.
const SPARE: usize = 4;

impl Topics {
    pub(super) fn create(&mut self, number: u32, words: &[u32; TOPIC_WORDS]) {
        self.topics.entry(number).or_insert_with(|| Topic::new(words));
    }

    pub(super) fn end(&mut self, number: u32) -> Vec<Member> {
        let Some(topic) = self.topics.remove(&number) else { return Vec::new() };
        if let Some(ring) = &topic.ring {
            self.histories.forget(number, ring);
        }
        for member in &topic.members {
            self.forget_entry(member.id(), number);
        }
        topic.members
    }

    /// Makes a connection a member. False: there is no such topic.
    pub(super) fn join(&mut self, number: u32, id: ConnectionId) -> bool {
        let Some(topic) = self.topics.get_mut(&number) else { return false };
        let joined = self.joined.entry(id).or_default();
        if joined.position(number).is_none() {
            let ConnectionId { slot, generation } = id;
            let member = topic.members.len() as u32;
            topic.members.push(Member { slot, generation, entry: joined.next() });
            joined.push(Entry { topic: number, member });
        }
        true
    }

    /// Takes a membership back, if there is one. Returns the messages that the connection had not
    /// been sent.
    pub(super) fn leave(&mut self, number: u32, id: ConnectionId) -> Option<Behind> {
        let joined = self.joined.get_mut(&id)?;
        let place = joined.position(number)?;
        let member = joined.get_mut(place)?.member;
        let behind = self.forget_entry(id, number);
        self.remove_member(number, member);
        behind
    }

    /// Takes back memberships of connections that are gone, as many as a turn allows.
    pub(super) fn take_back(&mut self) {
        let mut budget = LEAVE_BUDGET;
        while let Some(&id) = self.leaving.front() {
            while let Some(entry) = self.joined.get_mut(&id).and_then(Joined::pop) {
                self.remove_member(entry.topic, entry.member);
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

    /// Removes a topic from the list of a connection.
    fn forget_entry(&mut self, id: ConnectionId, number: u32) -> Option<Behind> {
        let Place::Occupied(mut joined) = self.joined.entry(id) else { return None };
        let place = joined.get().position(number)?;
        let behind = joined.get_mut().behind.as_mut().and_then(|behind| behind.remove(&number));
        let moved = joined.get_mut().remove(place);
        if joined.get().is_empty() {
            joined.remove();
        }
        if let Some(moved) = moved
            && let Some(topic) = self.topics.get_mut(&moved.topic)
            && let Some(member) = topic.members.get_mut(moved.member as usize)
        {
            member.entry = place;
        }
        behind
    }

    /// Removes a member from the list of a topic. No member gets the message under way twice
    /// because of that, or misses it.
    fn remove_member(&mut self, number: u32, member: u32) {
        let Self { topics, joined, publishing, .. } = self;
        let Some(topic) = topics.get_mut(&number) else { return };
        let members = &mut topic.members;
        let mut moved_to = |members: &[Member], place: usize| {
            if let Some(member) = members.get(place)
                && let Some(entry) =
                    joined.get_mut(&member.id()).and_then(|joined| joined.get_mut(member.entry))
            {
                entry.member = place as u32;
            }
        };
        let mut hole = member as usize;
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

/// With this many topics or more a connection finds them by a table; searching a shorter list is
/// faster.
const INDEXED: usize = 32;

/// A topic in the list of a connection.
#[derive(Debug, Clone, Copy)]
struct Entry {
    topic: u32,
    /// Index of the connection among the members of the topic.
    member: u32,
}

#[derive(Default)]
pub(super) struct Joined {
    entries: Vec<Entry>,
    /// Index of each topic in `entries`, for a connection that has or had many.
    index: Option<Box<ByNumber<u32, u32>>>,
    /// Topics whose last messages the connection has not been sent. Boxed: few have any.
    pub(super) behind: Option<Box<Behinds>>,
}

impl Joined {
    fn position(&self, topic: u32) -> Option<u32> {
        match &self.index {
            Some(index) => index.get(&topic).copied(),
            None => self.entries.iter().position(|entry| entry.topic == topic).map(|place| place as u32),
        }
    }

    fn next(&self) -> u32 {
        self.entries.len() as u32
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Entry> {
        self.entries.get_mut(place as usize)
    }

    /// Appends a topic that is not there.
    fn push(&mut self, entry: Entry) {
        let place = self.next();
        self.entries.push(entry);
        if self.index.is_none() && self.entries.len() > INDEXED {
            let numbered = self.entries.iter().zip(0..).map(|(entry, place)| (entry.topic, place));
            self.index = Some(Box::new(numbered.collect()));
        } else if let Some(index) = &mut self.index {
            index.insert(entry.topic, place);
        }
    }

    /// Removes a topic; the last one takes its place, and is returned.
    fn remove(&mut self, place: u32) -> Option<Entry> {
        if place as usize >= self.entries.len() {
            return None;
        }
        let gone = self.entries.swap_remove(place as usize);
        let moved = self.entries.get(place as usize).copied();
        if let Some(index) = &mut self.index {
            index.remove(&gone.topic);
            if let Some(moved) = moved {
                index.insert(moved.topic, place);
            }
        }
        moved
    }

    /// Removes the last topic from the list of a connection that is gone.
    fn pop(&mut self) -> Option<Entry> {
        let gone = self.entries.pop()?;
        if let Some(index) = &mut self.index {
            index.remove(&gone.topic);
        }
        Some(gone)
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A table by the number of a topic, or by a connection: both are counted up here and in
/// JavaScript, so that no peer can make them collide.
pub(super) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Spreads numbers that follow each other.
#[derive(Default)]
pub(super) struct Spread(u64);

/// 2^64 divided by the golden ratio: consecutive multiples of it are far from each other.
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
