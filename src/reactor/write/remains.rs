//! The queues of connections that are gone.
//!
//! Freeing 1 MiB takes 20 us, so freeing 1 GiB at once, queued for peers that died together, would
//! stop all other connections for 20 ms. It is freed in portions, one per turn.

use std::collections::VecDeque;

use crate::reactor::config::FREE_BUDGET;
use crate::reactor::write::outgoing::Outgoing;

#[derive(Default)]
pub(super) struct Remains(VecDeque<Outgoing>);

impl Remains {
    /// Takes over a queue that will not be written any more.
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if !outgoing.is_empty() {
            self.0.push_back(outgoing);
        }
    }

    pub(super) fn free(&mut self) {
        let mut budget = FREE_BUDGET;
        while budget > 0
            && let Some(first) = self.0.front_mut()
        {
            budget = budget.saturating_sub(first.discard(budget));
            if first.is_empty() {
                self.0.pop_front();
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
