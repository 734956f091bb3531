//! How connections begin: accepted from a listener, or adopted from a server that has read the
//! request.

mod accept;
mod adopt;
pub(super) mod bind;
mod door;
pub(super) mod head;
mod leave;
mod listen;
#[cfg(test)]
mod tests;
pub(super) mod upgrade;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::handshake::{Refusal, Request};
use crate::reactor::{Consumer, ListenerConfig, Reactor};
use leave::Leaving;
use listen::Listener;

/// The result of the native checks of an upgrade request.
pub type Verdict = Result<(), Refusal>;

/// A connection that has asked for an upgrade.
pub struct Opening<'a> {
    /// The listener it came through, or the number given with `adopt`.
    pub listener: u32,
    /// Our end; `None` when the socket is already dead or not an IP socket.
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// The upgrade request; `None` for an adopted socket, whose request was read elsewhere.
    pub request: Option<&'a Request<'a>>,
    pub protocol: Option<&'a [u8]>,
    /// The value of `Sec-WebSocket-Extensions` in the answer.
    pub extensions: Option<&'a str>,
    /// The bytes that were read behind the request. Only in `on_request`.
    pub rest: &'a [u8],
}

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
    pub(super) fn on_join(&mut self, id: u32, config: Arc<ListenerConfig>) {
        self.openings.listeners.insert(id, Listener::elsewhere(config));
    }

    pub(super) fn on_accept(&mut self, id: u32) {
        if let Some(listener) = self.openings.listeners.get_mut(&id) {
            listener.accepting = true;
            self.accept(id);
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
