//! Records about topics.

use std::time::Instant;

use crate::bridge::chunk::OutRecord;
use crate::bridge::layout::{
    HISTORY_WORDS, IN_ENDED, IN_HISTORY, IN_SUBSCRIBED, OUT_HISTORY, OUT_HISTORY_BUDGET, OUT_PUBLISH,
    OUT_RESTART, OUT_TARGET, OUT_TOPIC, OUT_TOPIC_END, PUBLISH_TEXT, SUBSCRIBE_WORDS, Slow, TOPIC_SLOT,
    TOPIC_WORDS,
};
use crate::engine::MessageKind;

use super::publish::Target;
use super::ring::Ring;
use super::slow::{Backlog, Cursor};
use super::{Following, Topics};
use crate::reactor::command::records::{Outbound, message};
use crate::reactor::{Conn, Consumer, Reactor};

/// An answer about a history ends at this many bytes, and the consumer asks for the rest: copying
/// all would make a turn too long.
const LONGEST_ANSWER: usize = 4 << 20;

/// The first words of a payload, in the byte order of the machine.
fn words<const N: usize>(payload: &[u8]) -> Option<[u32; N]> {
    let words: &[[u8; 4]; N] = payload.as_chunks().0.first_chunk()?;
    Some(words.map(u32::from_ne_bytes))
}

pub(super) fn encode(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Lower, upper.
pub(super) fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

pub(super) fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl<C: Consumer> Reactor<C> {
    /// Applies a record for a slot without a connection. `number`: the message that is its payload,
    /// if the reactor keeps it.
    #[inline(never)]
    pub(in crate::reactor) fn on_unknown(
        &mut self,
        record: &OutRecord,
        payload: Outbound<'_>,
        number: Option<u32>,
    ) {
        if record.slot != TOPIC_SLOT {
            return;
        }
        let topic = record.generation;
        match record.kind {
            OUT_TOPIC => {
                if let Some(words) = words::<TOPIC_WORDS>(&payload) {
                    self.topics.create(topic, &words);
                }
            }
            OUT_TOPIC_END => {
                let members = self.topics.end(topic);
                self.writer.spend(size_of_val(members.as_slice()));
                if let Some([request]) = words(&payload) {
                    self.consumer.on_topic(TOPIC_SLOT, IN_ENDED, encode(&[request]));
                }
            }
            OUT_TARGET => self.topics.target = Target::decode(&payload).map(Box::new),
            OUT_PUBLISH => {
                let message = match number {
                    Some(number) => self.messages.get_mut(number).map(|message| message.clone()),
                    None => message(record).map(|(kind, compress)| payload.prepare(kind, compress)),
                };
                if let Some(message) = message {
                    self.topics.begin_publishing(topic, message, number);
                }
            }
            OUT_RESTART => {
                if let Some(words) = words(&payload) {
                    self.on_restart(topic, words);
                }
            }
            OUT_HISTORY => {
                if let Some(words) = words(&payload) {
                    let answer = self.topics.history_of(topic, words, self.timers.now());
                    self.writer.spend(answer.len());
                    self.consumer.on_topic(TOPIC_SLOT, IN_HISTORY, answer);
                }
            }
            OUT_HISTORY_BUDGET => {
                if let Some([low, high]) = words(&payload) {
                    let bytes = usize::try_from(whole(low, high)).unwrap_or(usize::MAX);
                    self.topics.set_history_budget(bytes / self.shard.count());
                }
            }
            _ => {}
        }
    }
}

impl Topics {
    /// Messages of a topic from a position on, as [`IN_HISTORY`] has them.
    fn history_of(&mut self, topic: u32, words: [u32; SUBSCRIBE_WORDS], now: Instant) -> Vec<u8> {
        let [request, since, low, high, most] = words;
        self.expire_one(topic, now);
        let mut ring = self.ring(topic);
        let first = ring.as_ref().and_then(|ring| ring.first_since(since, whole(low, high)));
        let [low, high] = halves(ring.as_ref().map_or(0, |ring| ring.top()));
        let mut answer = encode(&[request, u32::from(first.is_some()), 0, low, high]);
        debug_assert_eq!(answer.len(), 4 * HISTORY_WORDS);
        let mut count = 0_u32;
        let mut offset = first.unwrap_or(u64::MAX);
        while count < most
            && answer.len() < LONGEST_ANSWER
            && append(&mut answer, ring.as_deref_mut(), offset, now).is_some()
        {
            count += 1;
            offset += 1;
        }
        if let Some(word) = answer.as_chunks_mut().0.get_mut(crate::bridge::layout::HISTORY_COUNT) {
            *word = count.to_le_bytes();
        }
        answer
    }
}

fn append(answer: &mut Vec<u8>, ring: Option<&mut Ring>, offset: u64, now: Instant) -> Option<()> {
    let kept = ring?.get_mut(offset)?;
    let message = &kept.message;
    let age = u32::try_from(now.saturating_duration_since(kept.at).as_millis()).unwrap_or(u32::MAX);
    let flags = if message.kind == MessageKind::Text { u32::from(PUBLISH_TEXT) } else { 0 };
    let payload = message.payload();
    let [low, high] = halves(offset);
    answer.extend_from_slice(&encode(&[low, high, flags, u32::try_from(payload.len()).ok()?, age]));
    answer.extend_from_slice(payload);
    answer.resize(answer.len().next_multiple_of(4), 0);
    Some(())
}

impl Conn<'_> {
    /// Makes the connection a member of a topic. The messages that it asks to have again are queued
    /// in the same step, so it neither misses a message published meanwhile nor gets one twice.
    pub(in crate::reactor) fn on_subscribe<C: Consumer>(&mut self, consumer: &mut C, payload: &[u8]) {
        let Some(words) = words::<SUBSCRIBE_WORDS>(payload) else { return };
        let [number, request, since, low, high] = words;
        if self.state.life.is_gone() || self.state.following == Following::Left {
            return;
        }
        let is_there = self.topics.join(number, self.id);
        let (replayed, top) =
            if is_there { self.replay(consumer, number, (since, whole(low, high))) } else { (None, 0) };
        if request != 0 {
            let [low, high] = halves(top);
            let answer = encode(&[request, u32::from(replayed.is_some()), replayed.unwrap_or(0), low, high]);
            consumer.on_topic(self.id.slot, IN_SUBSCRIBED, answer);
        }
    }

    /// Returns how many messages are sent again (`None`: some are missing), and the offset of the
    /// topic's last one.
    fn replay<C: Consumer>(
        &mut self,
        consumer: &mut C,
        number: u32,
        (since, offset): (u32, u64),
    ) -> (Option<u32>, u64) {
        self.topics.expire_one(number, self.timers.now());
        let Some(topic) = self.topics.topics.get_mut(&number) else { return (None, 0) };
        let (slow, Some(ring)) = (topic.patience.slow, topic.ring.as_deref_mut()) else { return (None, 0) };
        let (first, top) = (ring.first_since(since, offset), ring.top());
        let Some(first) = first else { return (None, top) };
        if slow == Slow::CatchUp {
            // The connection is behind, like a slow member.
            if let Some(joined) = self.topics.joined.get_mut(&self.id) {
                let cursor = Backlog::CatchUp(Cursor { next: first, again: top });
                joined.backlogs.get_or_insert_default().insert(number, cursor);
            }
            self.state.following = Following::Lagging;
            self.catch_up(consumer, None);
        } else {
            (first..=top).for_each(|offset| self.send_kept(consumer, number, offset));
        }
        (Some(u32::try_from(top + 1 - first).unwrap_or(u32::MAX)), top)
    }

    /// Ends a membership, or with number 0 all of them. The connection never gets the messages that
    /// it missed while it was slow.
    pub(in crate::reactor) fn on_unsubscribe<C: Consumer>(&mut self, consumer: &mut C, payload: &[u8]) {
        let Some([number]) = words(payload) else { return };
        if number == 0 {
            // The memberships are taken back some at a time.
            self.report_dropped(consumer);
            self.state.following = Following::Left;
            return self.topics.on_gone(self.id);
        }
        let missed = match self.topics.leave(number, self.id) {
            None => 0,
            Some(Backlog::Latest(latest)) => latest.len(),
            Some(Backlog::CatchUp(Cursor { next, .. })) => {
                let ring = self.topics.ring(number);
                ring.map_or(0, |ring| (ring.top() + 1).saturating_sub(next)) as usize
            }
        };
        self.topics.dropped.add(self.id, number, u32::try_from(missed).unwrap_or(u32::MAX));
        // At once: JavaScript forgets a topic without members once everything before is reported.
        if let Some(count) = self.topics.dropped.take_one(self.id, number) {
            self.on_dropped(consumer, number, count);
        }
    }
}
