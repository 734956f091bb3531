//! What connections that are gone had yet to write.
//!
//! To free a megabyte takes 20 us, so a gigabyte that was on its way to peers which died together would hold everybody up. It
//! is freed in portions, one each turn.

use std::collections::VecDeque;

use super::config::FREE_BUDGET;
use super::outgoing::Outgoing;

/// The oldest first.
#[derive(Default)]
pub(super) struct Remains(VecDeque<Outgoing>);

impl Remains {
    /// Takes what is not to be written any more.
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if !outgoing.is_empty() {
            self.0.push_back(outgoing);
        }
    }

    /// Frees a turn's portion.
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

    /// Whether all of it is freed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
