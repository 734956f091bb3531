//! A message for all members of a topic, one after the other.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::layout::{Slow, TARGET_AGE, TARGET_EXCEPT, TARGET_KEY, TARGET_WORDS};
use crate::engine::frame::wire_len;
use crate::engine::{MessageKind, Prepared};

use super::Topics;
use super::ring::Kept;
use super::topic::Patience;
use crate::reactor::command::apply::send_prepared;
use crate::reactor::config::{COMPRESS_BUDGET, COST_OF_CALL, COST_OF_MEMBER};
use crate::reactor::topics::Following;
use crate::reactor::{Conn, ConnectionId, Consumer, Reactor};

impl Topics {
    /// `copied`: the number of the message that this is a copy of.
    pub(super) fn begin_publishing(&mut self, number: u32, message: Prepared, copied: Option<u32>) {
        let target = *self.target.take().unwrap_or_default();
        let Some(topic) = self.topics.get_mut(&number) else { return };
        self.publishing = Some(Box::new(Publishing {
            topic: number,
            patience: topic.patience,
            message,
            copied,
            offset: topic.ring.as_ref().map(|ring| ring.top() + 1),
            next: 0,
            except: target.except,
            key: target.key,
            age: target.age,
            postponed: Vec::new(),
        }));
    }
}

impl<C: Consumer> Reactor<C> {
    /// Goes on with the message under way, within the budget. True: all members have had it.
    /// `more`: records wait after it.
    ///
    /// A single message is written as it is queued, while its connections are in the cache. One
    /// with others after it is charged less, so that they leave in one write.
    pub(in crate::reactor) fn go_on_publishing(&mut self, more: bool) -> bool {
        let Some(mut publishing) = self.topics.publishing.take() else { return true };
        let others_wait = more || !self.commands.is_empty() || !self.handle.outbox().is_empty();
        let cost = if others_wait { COST_OF_MEMBER } else { COST_OF_CALL };
        // Members do not change while messages are queued: memberships of connections that end
        // meanwhile are taken back at the end of the turn.
        let members = self.topics.members_mut(publishing.topic).map(std::mem::take).unwrap_or_default();
        while self.writer.may_apply()
            && let Some(&id) = members.get(publishing.next)
        {
            publishing.next += 1;
            self.step(id, |conn, consumer| conn.publish(consumer, &mut publishing, cost));
        }
        let is_done = publishing.next >= members.len();
        if let Some(place) = self.topics.members_mut(publishing.topic) {
            *place = members;
        }
        if is_done {
            self.end_publishing(*publishing);
        } else {
            self.topics.publishing = Some(publishing);
        }
        is_done
    }

    fn end_publishing(&mut self, publishing: Publishing) {
        let Publishing { topic, patience, message, copied, offset, except, age, postponed, .. } = publishing;
        // The message might have been compressed with more parameters.
        if let Some(known) = copied.and_then(|number| self.messages.get_mut(number)) {
            *known = message.clone();
        }
        if offset.is_some() {
            // Only a member that catches up is sent it without asking for it.
            let except = (patience.slow == Slow::CatchUp && !except.is_empty()).then_some(except);
            let now = self.timers.now();
            self.topics.remember(topic, Kept::new(message, now.checked_sub(age).unwrap_or(now), except));
        }
        for id in postponed {
            self.step(id, |conn, consumer| conn.catch_up(consumer, None));
        }
    }
}

impl Conn<'_> {
    fn publish<C: Consumer>(&mut self, consumer: &mut C, publishing: &mut Publishing, cost: usize) {
        let connection = &*self.state;
        if is_among(&publishing.except, self.id)
            || connection.following == Following::Left
            || !connection.takes_frames()
        {
            return;
        }
        let is_slow = publishing.patience.slow != Slow::Queue
            && (connection.following == Following::Lagging
                || connection.write.waiting() > publishing.patience.limit);
        if !is_slow || !self.on_slow(consumer, publishing) {
            self.send_of_topic(consumer, &mut publishing.message, cost, COMPRESS_BUDGET);
        }
    }

    /// Sends a topic's message, for which `cost` is charged beside its bytes. Up to `longest` bytes
    /// are compressed at once, for all connections with the same parameters; a longer message for
    /// this one, a slice at a time.
    pub(super) fn send_of_topic<C: Consumer>(
        &mut self,
        consumer: &mut C,
        message: &mut Prepared,
        cost: usize,
        longest: usize,
    ) {
        let bytes = wire_len(message.payload().len(), false);
        consumer.on_published(self.id, bytes as u64);
        send_prepared(self, message, 0, false, longest);
        self.metrics.tally.messages_sent += 1;
        self.metrics.tally.texts_sent += u64::from(message.kind == MessageKind::Text);
        self.writer.charge(bytes + cost);
    }
}

#[derive(Default)]
pub(super) struct Target {
    /// Connections that do not get it, sorted.
    except: Box<[ConnectionId]>,
    /// The message's key, if only the latest message of each key is kept.
    key: Arc<[u8]>,
    /// Since it was published in the process before.
    age: Duration,
}

impl Target {
    /// `None`: the record is cut off.
    pub(super) fn decode(payload: &[u8]) -> Option<Self> {
        let (words, rest) = payload.split_first_chunk::<{ 4 * TARGET_WORDS }>()?;
        let words: Vec<u32> = words.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        let word = |index: usize| words.get(index).map_or(0, |&word| word as usize);
        let (names, rest) = rest.split_at_checked(word(TARGET_EXCEPT).checked_mul(8)?)?;
        let key = rest.get(..word(TARGET_KEY))?;
        let mut except: Box<[ConnectionId]> = names.as_chunks().0.iter().map(connection).collect();
        except.sort_unstable_by_key(|id| (id.slot, id.generation));
        let age = Duration::from_millis(words.get(TARGET_AGE).copied().unwrap_or_default().into());
        Some(Self { except, key: Arc::from(key), age })
    }
}

fn connection(name: &[u8; 8]) -> ConnectionId {
    let [a, b, c, d, e, f, g, h] = *name;
    ConnectionId { slot: u32::from_ne_bytes([a, b, c, d]), generation: u32::from_ne_bytes([e, f, g, h]) }
}

pub(super) struct Publishing {
    pub(super) topic: u32,
    pub(super) patience: Patience,
    pub(super) message: Prepared,
    pub(super) copied: Option<u32>,
    /// The message's offset, where there is a history.
    pub(super) offset: Option<u64>,
    /// Members before this one have had it.
    pub(super) next: usize,
    pub(super) except: Box<[ConnectionId]>,
    pub(super) key: Arc<[u8]>,
    pub(super) age: Duration,
    /// Members for which a write made room meanwhile: their missed messages are known when this is done.
    pub(super) postponed: Vec<ConnectionId>,
}

pub(super) fn is_among(sorted: &[ConnectionId], id: ConnectionId) -> bool {
    sorted.binary_search_by_key(&(id.slot, id.generation), |id| (id.slot, id.generation)).is_ok()
}
