//! Messages that this process never had: other processes have published them, and no member can have
//! them again.

use crate::bridge::layout::{IN_GAP, RESTART_WORDS};

use super::records::{encode, halves, whole};
use super::slow::Backlog;
use crate::reactor::topics::Following;
use crate::reactor::{Conn, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    /// The history, if there is one, goes on after `top`. Each member is told about its gap.
    pub(super) fn on_restart(&mut self, number: u32, [low, high, is_same]: [u32; RESTART_WORDS]) {
        let top = whole(low, high);
        let next = self.topics.ring(number).map_or(0, |ring| ring.top() + 1);
        // Members do not change meanwhile.
        let members = self.topics.members_mut(number).map(std::mem::take).unwrap_or_default();
        for &id in &members {
            let Some((mut conn, consumer, _)) = self.conn_of(id) else { continue };
            let first = conn.forget_cursor(number).unwrap_or(next);
            let from = if is_same == 0 { 0 } else { first };
            if from <= top {
                conn.report_gap(consumer, number, from, top);
            }
        }
        self.writer.spend(size_of_val(members.as_slice()));
        if let Some(place) = self.topics.members_mut(number) {
            *place = members;
        }
        self.topics.restart(number, top);
    }
}

impl Conn<'_> {
    /// The offset of the message with which the member would have gone on, if it was behind.
    fn forget_cursor(&mut self, number: u32) -> Option<u64> {
        let behind = &mut self.topics.joined.get_mut(&self.id)?.backlogs;
        let backlogs = behind.as_mut()?;
        let Some(&Backlog::CatchUp(cursor)) = backlogs.get(&number) else { return None };
        backlogs.remove(&number);
        if backlogs.is_empty() {
            *behind = None;
            if self.state.following == Following::Lagging {
                self.state.following = Following::Live;
            }
        }
        Some(cursor.next)
    }

    pub(super) fn report_gap<C: Consumer>(&mut self, consumer: &mut C, topic: u32, from: u64, to: u64) {
        let ([from, from_high], [to, to_high]) = (halves(from), halves(to));
        consumer.on_topic(self.id.slot, IN_GAP, encode(&[topic, from, from_high, to, to_high]));
    }
}
