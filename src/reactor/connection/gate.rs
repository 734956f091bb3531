//! Bytes and ends that peers wait for until the consumer knows of them, see `gates.rs`.

use std::collections::VecDeque;

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::transport::Transport;

/// Something that a peer must wait for.
pub(in crate::reactor) enum Gate {
    /// The bytes queued for a connection, the 101 first.
    Opening(ConnectionId),
    /// The end of a socket, which is held until then.
    End(Transport),
}

/// All gates of one reactor.
#[derive(Default)]
pub(in crate::reactor) struct Gates {
    /// The gates, each with the number of its record, oldest first.
    pub(in crate::reactor) closed: VecDeque<(u64, Gate)>,
    /// Sockets that close when the records of this turn have been handed over.
    pub(in crate::reactor) known: Vec<Transport>,
}

impl Gates {
    /// Closes the sockets that are held for the sake of order: descriptors have run out, and new
    /// sockets come before those. `false`: there are none.
    pub(in crate::reactor) fn let_ends_go(&mut self) -> bool {
        let before = self.closed.len();
        self.closed.retain(|(_, gate)| matches!(gate, Gate::Opening(_)));
        self.closed.len() != before
    }

    /// Whether a peer waits for the consumer.
    pub(in crate::reactor) fn is_waiting(&self) -> bool {
        !self.closed.is_empty()
    }
}
