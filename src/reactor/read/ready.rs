//! Connections that have something to read and wait for their share of a turn.
//!
//! Who wanted little the last time is modest, and comes first: a ping does not wait until a hundred that flood have had a
//! share each. The greedy ones have half of every turn while they wait, however many are modest.

use std::collections::VecDeque;

use crate::reactor::Reactor;
use crate::reactor::config::{READ_BUDGET, TURN_BUDGET};
use crate::reactor::consume::consumer::Consumer;

/// Their lists, each in the order in which they are read.
#[derive(Default)]
pub(in crate::reactor) struct Ready {
    modest: VecDeque<u32>,
    greedy: VecDeque<u32>,
    /// Those who have had a share of this turn and want more, and whether they are greedy: they are the last of the next.
    served: Vec<(u32, bool)>,
}

impl Ready {
    /// Puts a connection at the end of its list.
    pub(in crate::reactor) fn push(&mut self, slot: u32, greedy: bool) {
        if greedy { self.greedy.push_back(slot) } else { self.modest.push_back(slot) }
    }

    /// Puts a connection that has had its share of this turn at the end of those who have not.
    pub(in crate::reactor) fn push_served(&mut self, slot: u32, greedy: bool) {
        self.served.push((slot, greedy));
    }

    /// Whether nobody waits.
    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.modest.is_empty() && self.greedy.is_empty() && self.served.is_empty()
    }

    /// Everybody may have a share again. Returns the bytes of the turn that are kept for the greedy ones.
    fn begin_turn(&mut self) -> usize {
        let Self { modest, greedy, served } = self;
        for (slot, is_greedy) in served.drain(..) {
            if is_greedy { &mut *greedy } else { &mut *modest }.push_back(slot);
        }
        if greedy.is_empty() { 0 } else { READ_BUDGET }
    }
}

impl<C: Consumer> Reactor<C> {
    /// From here on sockets may be read.
    pub(in crate::reactor) fn begin_reading(&mut self) {
        self.turn_budget = TURN_BUDGET;
        self.reserved = self.work.ready.begin_turn();
    }

    /// Whether nobody may be read any more who is modest; or nobody at all, once it is the turn of the greedy.
    pub(in crate::reactor) fn is_turn_over(&self) -> bool {
        self.turn_budget <= self.reserved
    }

    /// Goes on with the modest ones who wait.
    pub(in crate::reactor) fn on_modest(&mut self) {
        while !self.is_turn_over()
            && let Some(slot) = self.work.ready.modest.pop_front()
        {
            self.read_waiting(slot);
        }
    }

    /// Goes on with the greedy ones, with all that is left of the turn.
    pub(in crate::reactor) fn on_greedy(&mut self) {
        self.reserved = 0;
        while !self.is_turn_over()
            && let Some(slot) = self.work.ready.greedy.pop_front()
        {
            self.read_waiting(slot);
        }
    }

    fn read_waiting(&mut self, slot: u32) {
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.queued = false;
            // An end that came while it waited has had its event; one that comes from now on will have its own.
            let to_end = connection.hung_up || connection.urgent;
            self.guarded(slot, |reactor| reactor.read_and_tell(slot, to_end));
        }
    }
}
