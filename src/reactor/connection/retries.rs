//! Sockets for which the kernel had no memory. That is over soon, and no event says so: the call is
//! made again a little later, as libuv does.

use std::time::{Duration, Instant};

use crate::reactor::connection::id::ConnectionId;

const PAUSE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(in crate::reactor) struct Retries {
    ids: Vec<ConnectionId>,
    at: Option<Instant>,
}

impl Retries {
    pub(in crate::reactor) fn push(&mut self, id: ConnectionId, now: Instant) {
        self.ids.push(id);
        self.at.get_or_insert(now + PAUSE);
    }

    /// Those whose time has come.
    pub(in crate::reactor) fn take_due(&mut self, now: Instant) -> Vec<ConnectionId> {
        match self.at.take_if(|at| *at <= now) {
            Some(_) => std::mem::take(&mut self.ids),
            None => Vec::new(),
        }
    }

    /// When they are tried again.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        self.at
    }
}
