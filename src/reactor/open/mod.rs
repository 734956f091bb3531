//! How connections begin: accepted from a listener, or adopted from a server that has read the
//! request.

mod accept;
mod adopt;
pub(super) mod bind;
mod door;
pub(super) mod head;
mod leave;
mod listen;
pub(super) mod opening;
mod reserve;
#[cfg(test)]
mod tests;
pub(super) mod upgrade;

use std::collections::HashMap;
use std::time::Instant;

use crate::reactor::Reactor;
use crate::reactor::command::handle::Command;
use crate::reactor::consume::consumer::Consumer;
use leave::Leaving;
use listen::Listener;

/// What connections come from.
#[derive(Default)]
pub(super) struct Openings {
    listeners: HashMap<u32, Listener>,
    leaving: Vec<Leaving>,
}

impl Openings {
    pub(super) fn len(&self) -> usize {
        self.listeners.len()
    }

    /// When a listener accepts or reports again, event or not.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.listeners.values().filter_map(Listener::due).min()
    }
}

impl<C: Consumer> Reactor<C> {
    /// Applies a command about listeners, or about a connection that begins.
    pub(super) fn on_opening(&mut self, command: Command) {
        match command {
            Command::Listen { id, listener, config } => self.on_listen(id, listener, config),
            Command::Join { id, config } => {
                self.openings.listeners.insert(id, Listener::elsewhere(config));
            }
            Command::Take { listener, stream } => self.on_take(listener, stream, None),
            Command::Accept(id) => {
                if let Some(listener) = self.openings.listeners.get_mut(&id) {
                    listener.accepting = true;
                    self.accept(id);
                }
            }
            Command::CloseListener(id) => self.on_close_listener(id),
            Command::Leave(id) => self.on_leave(id),
            Command::Share(id) => self.on_share(id),
            Command::Adopt(adoption) => self.on_adopt(*adoption),
            Command::Serve { id, config, deflate } => self.on_serve(id, config, deflate),
            Command::Chunk(_)
            | Command::Arena(_)
            | Command::Prepare(..)
            | Command::Forget(_)
            | Command::Fence
            | Command::Stop => {}
        }
    }

    /// Accepts and reports again where that is due.
    pub(super) fn retry_listeners(&mut self) {
        let now = self.timers.now();
        let is_due = |listener: &Listener| listener.due().is_some_and(|at| at <= now);
        let due = self.openings.listeners.iter().filter(|(_, listener)| is_due(listener));
        for id in due.map(|(&id, _)| id).collect::<Vec<_>>() {
            // One that another reactor accepts for, too.
            self.report_refused(id);
            self.accept(id);
        }
    }

    pub(super) fn close_listeners(&mut self) {
        for (id, _) in std::mem::take(&mut self.openings.listeners) {
            self.consumer.on_listener_closed(id);
        }
    }
}
