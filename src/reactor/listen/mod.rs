//! Listeners, and the connections that they accept.

mod accept;
pub(super) mod bind;
pub(super) mod door;
mod listener;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::reactor::{Consumer, ListenerConfig, Reactor};
use listener::Listener;

#[derive(Default)]
pub(super) struct Listeners {
    by_id: HashMap<u32, Listener>,
}

impl Listeners {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn join(&mut self, id: u32, config: Arc<ListenerConfig>) {
        self.by_id.insert(id, Listener::elsewhere(config));
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.by_id).into_keys()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.by_id.values().filter_map(Listener::due).min()
    }
}

impl<C: Consumer> Reactor<C> {
    pub(super) fn on_accept(&mut self, id: u32) {
        if let Some(listener) = self.listeners.by_id.get_mut(&id) {
            listener.accepting = true;
            self.accept(id);
        }
    }

    pub(super) fn retry_listeners(&mut self) {
        let now = self.timers.now();
        let is_due = |listener: &Listener| listener.due().is_some_and(|at| at <= now);
        let due = self.listeners.by_id.iter().filter(|(_, listener)| is_due(listener));
        for id in due.map(|(&id, _)| id).collect::<Vec<_>>() {
            // Also for one that another reactor accepts for.
            self.report_refused(id);
            self.accept(id);
        }
    }
}
