//! Messages that a member has not been sent because it was slow.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::Prepared;

/// The messages of each topic, by its number.
pub(in crate::reactor) type Behinds = BTreeMap<u32, Behind>;

/// Messages that a member of one topic has not been sent.
pub(in crate::reactor) enum Behind {
    /// The last message of each key.
    Latest(Latest),
    /// All messages of the topic's history from an offset on.
    CatchUp(Cursor),
}

/// The place of a member in the history of a topic.
#[derive(Clone, Copy)]
pub(in crate::reactor) struct Cursor {
    /// Offset of the next message to be sent.
    pub(in crate::reactor) next: u64,
    /// Offset of the last message that it has asked to have again: up to there it gets all, even
    /// those that it was excepted from when they were published.
    pub(in crate::reactor) again: u64,
}

/// The last message of each key, in the order in which they were published.
#[derive(Default)]
pub(in crate::reactor) struct Latest {
    next: u64,
    /// Keys come from the program, and maybe from its peers: their table is of a kind that chosen
    /// keys cannot make slow.
    places: HashMap<Arc<[u8]>, u64>,
    kept: BTreeMap<u64, (Arc<[u8]>, Prepared)>,
}

impl Latest {
    /// Keeps a message. True: it replaces an earlier one, which is never sent.
    pub(in crate::reactor) fn keep(&mut self, key: &Arc<[u8]>, message: Prepared) -> bool {
        let place = self.next;
        self.next += 1;
        let before = self.places.insert(key.clone(), place);
        let replaced = before.is_some_and(|before| self.kept.remove(&before).is_some());
        self.kept.insert(place, (key.clone(), message));
        replaced
    }

    /// The oldest kept message.
    pub(in crate::reactor) fn pop(&mut self) -> Option<Prepared> {
        let (_, (key, message)) = self.kept.pop_first()?;
        self.places.remove(&key);
        Some(message)
    }

    pub(in crate::reactor) fn len(&self) -> usize {
        self.kept.len()
    }
}
