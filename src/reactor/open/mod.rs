//! How connections begin: accepted, or adopted from a server that has read the request.

mod accept;
mod adopt;
pub(super) mod bind;
pub(super) mod door;
mod give;
pub(super) mod head;
mod listen;
pub(super) mod secure;
#[cfg(test)]
mod tests;
pub(super) mod upgrade;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::layout::Cause;
use crate::engine::handshake::{Refusal, Request};
use crate::reactor::conn::life::Life;
use crate::reactor::{Consumer, ListenerConfig, Reactor};
use listen::Listener;

pub type Verdict = Result<(), Refusal>;

pub struct Opening<'a> {
    /// The listener it came through, or the number given with `adopt`.
    pub listener: u32,
    /// Our end; `None` when the socket is already dead or not an IP socket.
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// `None` for an adopted socket, whose request was read elsewhere.
    pub request: Option<&'a Request<'a>>,
    pub protocol: Option<&'a [u8]>,
    /// The value of `Sec-WebSocket-Extensions` in the answer.
    pub extensions: Option<&'a str>,
    /// Bytes read after the request. Only in `on_request`.
    pub rest: &'a [u8],
}

#[derive(Default)]
pub(super) struct Openings {
    listeners: HashMap<u32, Listener>,
}

impl Openings {
    pub(super) fn len(&self) -> usize {
        self.listeners.len()
    }

    pub(super) fn join(&mut self, id: u32, config: Arc<ListenerConfig>) {
        self.listeners.insert(id, Listener::elsewhere(config));
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.listeners).into_keys()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.listeners.values().filter_map(Listener::due).min()
    }
}

impl<C: Consumer> Reactor<C> {
    pub(super) fn on_accept(&mut self, id: u32) {
        if let Some(listener) = self.openings.listeners.get_mut(&id) {
            listener.accepting = true;
            self.accept(id);
        }
    }

    pub(super) fn retry_listeners(&mut self) {
        let now = self.timers.now();
        let is_due = |listener: &Listener| listener.due().is_some_and(|at| at <= now);
        let due = self.openings.listeners.iter().filter(|(_, listener)| is_due(listener));
        for id in due.map(|(&id, _)| id).collect::<Vec<_>>() {
            // Also for one that another reactor accepts for.
            self.report_refused(id);
            self.accept(id);
        }
    }

    /// Closes the oldest refused connections if there are too many.
    pub(super) fn end_lingering(&mut self) {
        while let Some(id) = self.ends.pop_lingering() {
            self.step(id, |conn, _| {
                if matches!(conn.state.life, Life::Draining { .. }) {
                    conn.metrics.tally.cut_refusals += 1;
                    conn.cut(Cause::Handshake);
                }
            });
        }
    }
}
