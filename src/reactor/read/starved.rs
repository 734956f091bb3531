//! Connections that are not read because they, or all together, have left too much undrained:
//!
//! ```text
//! Lack::Credit   the consumer takes a batch: its credits name the connection
//! Lack::Room     credit, or a queue, served from its front while all together are below both marks
//! ```

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
    /// Connections that lack room, in the order in which they go on, and some that no longer do.
    /// Their mark is `listed`.
    pub(in crate::reactor) queue: Queue,
    /// Connections that got credit. Empty between turns.
    pub(in crate::reactor) credited: Vec<u32>,
    /// The consumer has been asked to wake the reactor when it takes a batch.
    pub(in crate::reactor) wishes: bool,
    /// The number of connections with undrained bytes.
    pub(in crate::reactor) holders: usize,
    /// Bytes that pings and pongs have taken of their reserve since there was no pressure.
    pub(in crate::reactor) reserve_used: usize,
}

impl Starved {
    /// Notes that the connection lacks something.
    pub(in crate::reactor) fn add(&mut self, id: ConnectionId, connection: &mut Connection, lack: Lack) {
        connection.read.starved = Some(lack);
        self.count += 1;
        if lack == Lack::Room {
            self.queue.push(id, &mut connection.read.listed);
        }
    }

    /// Whether connections that are gone are most of the queue.
    pub(in crate::reactor) fn is_untidy(&self, connections: &Connections) -> bool {
        self.queue.len() > 2 * connections.len() + SERVED_AT_ONCE
    }

    /// Notes that the connection may be read again, as far as is known.
    pub(in crate::reactor) fn take(&mut self, connection: &mut Connection) -> Option<Lack> {
        let lack = connection.read.starved.take();
        self.count -= usize::from(lack.is_some());
        lack
    }

    /// No connection waits, and nothing is charged.
    #[cfg(test)]
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        self.count == 0 && self.holders == 0 && self.reserve_used == 0
    }

    /// The connection is gone.
    pub(in crate::reactor) fn forget(&mut self, connection: &mut Connection) {
        self.take(connection);
        self.holders -= usize::from(connection.read.held > 0);
    }

    /// The connection that goes on next.
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
