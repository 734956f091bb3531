//! The bytes that wait to be sent to all connections together, where there is a limit.
//!
//! A peer that does not read costs memory for as long as the program sends to it. Above the budget
//! the connection to which most waits is ended: those that read have next to nothing waiting.

use std::collections::HashMap;

use crate::reactor::connection::id::ConnectionId;

/// The bytes that wait, by slots; empty where there is no limit.
pub(in crate::reactor) struct Waiting {
    budget: usize,
    total: usize,
    bytes: HashMap<u32, (ConnectionId, usize)>,
}

impl Waiting {
    /// `budget`: `usize::MAX` for none.
    pub(in crate::reactor) fn new(budget: usize) -> Self {
        Self { budget, total: 0, bytes: HashMap::new() }
    }

    /// This many bytes wait for a connection by now.
    pub(in crate::reactor) fn set(&mut self, id: ConnectionId, bytes: usize) {
        if self.budget == usize::MAX || (bytes == 0 && self.bytes.is_empty()) {
            return;
        }
        let before = match bytes {
            0 => self.bytes.remove(&id.slot),
            bytes => self.bytes.insert(id.slot, (id, bytes)),
        };
        self.total = self.total + bytes - before.map_or(0, |(_, before)| before);
    }

    /// The connection for which most bytes wait, if all together are above the budget.
    pub(in crate::reactor) fn worst(&self) -> Option<ConnectionId> {
        if self.total <= self.budget {
            return None;
        }
        self.bytes.values().max_by_key(|(_, bytes)| *bytes).map(|(id, _)| *id)
    }
}
