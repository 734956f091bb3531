//! The topics that one connection is a member of.

use crate::reactor::topics::behind::Behinds;
use crate::reactor::topics::hash::ByNumber;

/// With this many topics or more a connection finds them by a table; searching a shorter list is
/// faster.
const INDEXED: usize = 32;

/// A topic in the list of a connection.
#[derive(Debug, Clone, Copy)]
pub(in crate::reactor) struct Entry {
    pub(in crate::reactor) topic: u32,
    /// Index of the connection among the members of the topic.
    pub(in crate::reactor) member: u32,
}

/// All topics of one connection.
#[derive(Default)]
pub(in crate::reactor) struct Joined {
    entries: Vec<Entry>,
    /// Index of each topic in `entries`, for a connection that has or had many.
    index: Option<Box<ByNumber<u32, u32>>>,
    /// Topics whose last messages the connection has not been sent. Boxed: few have any.
    pub(in crate::reactor) behind: Option<Box<Behinds>>,
}

impl Joined {
    /// Index of the topic.
    pub(in crate::reactor) fn position(&self, topic: u32) -> Option<u32> {
        match &self.index {
            Some(index) => index.get(&topic).copied(),
            None => self.entries.iter().position(|entry| entry.topic == topic).map(|place| place as u32),
        }
    }

    /// Index of the next topic.
    pub(in crate::reactor) fn next(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(in crate::reactor) fn get_mut(&mut self, place: u32) -> Option<&mut Entry> {
        self.entries.get_mut(place as usize)
    }

    /// Appends a topic that is not there.
    pub(in crate::reactor) fn push(&mut self, entry: Entry) {
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
    pub(in crate::reactor) fn remove(&mut self, place: u32) -> Option<Entry> {
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
    pub(in crate::reactor) fn pop(&mut self) -> Option<Entry> {
        self.index = None;
        self.entries.pop()
    }

    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[cfg(test)]
    pub(in crate::reactor) fn clone_entries(&self) -> Vec<Entry> {
        self.entries.clone()
    }
}
