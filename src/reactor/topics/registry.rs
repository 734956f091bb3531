//! All topics of one reactor, and the members of each.
//!
//! A topic has a list of its connections, a connection one of its topics, and each entry knows its
//! place in the other list: joining and leaving take the same time however long the lists are. The
//! last entry takes the place of a removed one.

use std::collections::VecDeque;
use std::collections::hash_map::Entry as Place;

use crate::bridge::layout::TOPIC_WORDS;

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::topics::behind::Behind;
use crate::reactor::topics::hash::ByNumber;
use crate::reactor::topics::history::Histories;
use crate::reactor::topics::joined::{Entry, Joined};
use crate::reactor::topics::publishing::{Publishing, Target};
use crate::reactor::topics::receipt::Receipt;
use crate::reactor::topics::report::Dropped;
use crate::reactor::topics::topic::{Member, Topic};

/// Memberships of connections that have left all topics that are taken back in a turn: about 0.3 ms, beside up to 4.4 ms
/// in which 512 sockets close.
const LEAVE_BUDGET: usize = 1024;
/// A list keeps room for this many times its length.
const SPARE: usize = 4;

/// Topics and memberships of one reactor.
pub(in crate::reactor) struct Topics {
    pub(in crate::reactor::topics) topics: ByNumber<u32, Topic>,
    /// Topics of each connection, including those that are gone or have left, until their
    /// memberships are taken back.
    joined: ByNumber<ConnectionId, Joined>,
    /// Connections that are gone, or have left all topics.
    leaving: VecDeque<ConnectionId>,
    /// The message that not all members have had yet. Records behind it wait.
    pub(in crate::reactor) publishing: Option<Box<Publishing>>,
    /// The last record's words about the next message.
    pub(in crate::reactor) target: Option<Box<Target>>,
    /// Messages of which some members have not been written to yet.
    pub(in crate::reactor) receipts: VecDeque<Box<Receipt>>,
    pub(in crate::reactor) dropped: Dropped,
    pub(in crate::reactor) histories: Histories,
}

impl Topics {
    /// No topics, with this many bytes of memory for their histories.
    pub(in crate::reactor) fn new(history_budget: usize) -> Self {
        Self {
            topics: ByNumber::default(),
            joined: ByNumber::default(),
            leaving: VecDeque::new(),
            publishing: None,
            target: None,
            receipts: VecDeque::new(),
            dropped: Dropped::default(),
            histories: Histories::new(history_budget),
        }
    }

    pub(in crate::reactor) fn create(&mut self, number: u32, words: &[u32; TOPIC_WORDS]) {
        self.topics.entry(number).or_insert_with(|| Topic::new(words));
    }

    pub(in crate::reactor) fn get_mut(&mut self, number: u32) -> Option<&mut Topic> {
        self.topics.get_mut(&number)
    }

    /// Forgets a topic. Returns its members.
    pub(in crate::reactor) fn end(&mut self, number: u32) -> Vec<Member> {
        let Some(topic) = self.topics.remove(&number) else { return Vec::new() };
        if let Some(ring) = &topic.ring {
            self.histories.forget(ring.rank);
            self.histories.has_compressed(number, false);
            self.histories.changed(ring.memory(), 0);
            if let Some(at) = ring.watched {
                self.histories.unwatch(number, at);
            }
        }
        for member in &topic.members {
            self.forget_entry(member.id(), number);
        }
        topic.members
    }

    /// Makes a connection a member. False: there is no such topic.
    pub(in crate::reactor) fn join(&mut self, number: u32, id: ConnectionId) -> bool {
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
    pub(in crate::reactor) fn leave(&mut self, number: u32, id: ConnectionId) -> Option<Behind> {
        let joined = self.joined.get_mut(&id)?;
        let place = joined.position(number)?;
        let member = joined.get_mut(place)?.member;
        let behind = self.forget_entry(id, number);
        self.remove_member(number, member);
        behind
    }

    /// The messages that a connection has missed of its topics, if any.
    pub(in crate::reactor) fn joined_mut(&mut self, id: ConnectionId) -> Option<&mut Joined> {
        self.joined.get_mut(&id)
    }

    /// A connection is gone, or has left all topics.
    pub(in crate::reactor) fn on_gone(&mut self, id: ConnectionId) {
        if self.joined.contains_key(&id) {
            self.leaving.push_back(id);
        }
    }

    /// Takes back memberships of connections that are gone, as many as a turn allows.
    pub(in crate::reactor) fn take_back(&mut self) {
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

    /// Whether memberships are to be taken back.
    pub(in crate::reactor) fn is_leaving(&self) -> bool {
        !self.leaving.is_empty()
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

    /// Counts of present topics, connections that are members, those that leave, receipts and
    /// reports that are due, bytes of histories, whether a check of one is planned.
    #[cfg(test)]
    pub(in crate::reactor) fn footprint(&self) -> [usize; 7] {
        let Self { topics, joined, leaving, receipts, dropped, histories, .. } = self;
        let due = [receipts.len(), usize::from(!dropped.is_empty())];
        let watched = usize::from(histories.deadline().is_some());
        [topics.len(), joined.len(), leaving.len(), due[0], due[1], histories.used, watched]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::bridge::layout::TOPIC_WORDS;
    use crate::engine::{MessageKind, Prepared};
    use crate::reactor::topics::topic::{Patience, Slow};

    fn id(slot: u32) -> ConnectionId {
        ConnectionId { slot, generation: 1 }
    }

    /// A message of which the first `next` members have had it.
    fn publishing(topic: u32, next: usize) -> Box<Publishing> {
        Box::new(Publishing {
            topic,
            patience: Patience { slow: Slow::Queue, limit: 0 },
            message: Prepared::new(MessageKind::Text, b"", false),
            prepared: None,
            offset: None,
            next,
            except: Box::default(),
            key: Arc::from([]),
            receipt: None,
            postponed: Vec::new(),
        })
    }

    fn members(topics: &Topics, number: u32) -> Vec<u32> {
        topics.topics.get(&number).map_or(vec![], |topic| topic.members.iter().map(|it| it.slot).collect())
    }

    /// Each entry knows its place in the other list.
    fn check(topics: &Topics) {
        for (&number, topic) in &topics.topics {
            for (place, member) in topic.members.iter().enumerate() {
                let joined = &topics.joined[&member.id()];
                assert_eq!(joined.position(number), Some(member.entry));
                let mut joined = joined.clone_entries();
                assert_eq!(joined.swap_remove(member.entry as usize).member as usize, place);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..<_>::default() })]

        /// Members go while a message is under way: no other member gets it twice, and none misses
        /// it.
        #[test]
        fn members_that_go_change_nothing_for_the_others(
            steps in prop::collection::vec((0..5_u8, 0..40_u32, 1..45_u32), 1..400),
        ) {
            let mut topics = Topics::new(0);
            let mut model = HashSet::new();
            let (mut had, mut gone) = (HashSet::new(), 0);
            (1..45).for_each(|number| topics.create(number, &[0; TOPIC_WORDS]));
            for (what, slot, number) in steps {
                let slot = if what == 4 { slot } else { slot + 100 * gone };
                match what {
                    0 | 1 => {
                        topics.join(number, id(slot));
                        model.insert((number, slot));
                    }
                    2 => {
                        topics.leave(number, id(slot));
                        model.remove(&(number, slot));
                    }
                    3 => {
                        topics.on_gone(id(slot));
                        topics.take_back();
                        model.retain(|&(_, other)| other != slot);
                    }
                    _ => {
                        let all = members(&topics, number);
                        let next = all.len() / 2;
                        had = all[..next].iter().copied().collect();
                        topics.publishing = Some(publishing(number, next));
                        gone += u32::from(slot == 0);
                    }
                }
                check(&topics);
                if let Some(publishing) = &topics.publishing {
                    let all = members(&topics, publishing.topic);
                    let visited: HashSet<_> = all[..publishing.next].iter().copied().collect();
                    let there: HashSet<_> = all.iter().copied().collect();
                    let expected: HashSet<_> = had.intersection(&there).copied().collect();
                    // A member that has left and joined again is a new one, which does not get it.
                    let again = |slot| all[publishing.next..].contains(slot);
                    prop_assert!(visited.is_subset(&expected) && expected.difference(&visited).all(again));
                    had = visited;
                }
            }
            for number in 1..45 {
                let mut found = members(&topics, number);
                found.sort_unstable();
                let mut expected: Vec<_> = model.iter().filter(|it| it.0 == number).map(|it| it.1).collect();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
            (1..45).for_each(|number| drop(topics.end(number)));
            prop_assert!(topics.joined.is_empty());
        }
    }
}
