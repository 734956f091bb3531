//! Connections that are not read because they lack something, see `starved.rs`.

use crate::reactor::config::SERVED_AT_ONCE;
use crate::reactor::connection::Connection;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::queue::Queue;
use crate::reactor::connection::table::Connections;
use crate::reactor::read::half::Lack;

/// The connections that wait for the consumer.
#[derive(Default)]
pub(in crate::reactor) struct Starved {
    /// Connections that lack credit or room.
    pub(in crate::reactor) count: usize,
    /// Those that lack room, in the order in which they go on; and some that do not any more. Their
    /// mark is `listed`.
    pub(in crate::reactor) queue: Queue,
    /// Those that got credit. Empty between turns.
    pub(in crate::reactor) credited: Vec<u32>,
    /// The consumer has been asked to report when it takes something.
    pub(in crate::reactor) wishes: bool,
    /// Connections that have something undrained.
    pub(in crate::reactor) holders: usize,
    /// What pings and pongs have taken of their reserve since there was no pressure.
    pub(in crate::reactor) reserve_used: usize,
}

impl Starved {
    /// The connection lacks something.
    pub(in crate::reactor) fn add(&mut self, id: ConnectionId, connection: &mut Connection, lack: Lack) {
        connection.read.starved = Some(lack);
        self.count += usize::from(lack != Lack::Turn);
        if lack == Lack::Room {
            self.queue.push(id, &mut connection.read.listed);
        }
    }

    /// Whether connections that are gone are most of the queue.
    pub(in crate::reactor) fn is_untidy(&self, connections: &Connections) -> bool {
        self.queue.len() > 2 * connections.len() + SERVED_AT_ONCE
    }

    /// The connection may be read again, as far as is known.
    pub(in crate::reactor) fn take(&mut self, connection: &mut Connection) -> Option<Lack> {
        let lack = connection.read.starved.take();
        self.count -= usize::from(lack.is_some_and(|lack| lack != Lack::Turn));
        lack
    }

    /// No connection waits, and nothing is charged.
    #[cfg(test)]
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        self.count == 0 && self.holders == 0 && self.reserve_used == 0
    }

    /// It is gone.
    pub(in crate::reactor) fn forget(&mut self, connection: &mut Connection) {
        self.take(connection);
        self.holders -= usize::from(connection.read.held > 0);
    }

    /// What goes on next.
    pub(in crate::reactor) fn next(&mut self, connections: &mut Connections) -> Option<u32> {
        loop {
            let id = self.queue.pop(connections, |all, id| Some(&mut all.get(id)?.read.listed))?;
            let connection = connections.get(id).filter(|c| c.read.starved == Some(Lack::Room));
            if let Some(connection) = connection {
                self.take(connection);
                return Some(id.slot);
            }
        }
    }
}
