//! The connections that are read in a turn, and the bytes of all of them.

use crate::reactor::Reactor;
use crate::reactor::config::TURN_BUDGET;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::table::Connections;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::read::half::PeerSide;
use crate::reactor::read::ready::ReadState;

fn state(connections: &mut Connections, id: ConnectionId) -> Option<&mut ReadState> {
    connections.get(id).map(|connection| &mut connection.read.state)
}

impl<C: Consumer> Reactor<C> {
    /// From here on sockets may be read.
    pub(in crate::reactor) fn begin_reading(&mut self) {
        self.turn_budget = TURN_BUDGET;
        self.reserved = self.work.ready.begin_turn();
    }

    /// Whether no modest connection may be read any more; from `on_greedy` on, whether no
    /// connection may.
    pub(in crate::reactor) fn is_turn_over(&self) -> bool {
        self.turn_budget <= self.reserved
    }

    /// Reads the modest connections that wait.
    pub(in crate::reactor) fn on_modest(&mut self) {
        while !self.is_turn_over()
            && let Some(id) = self.work.ready.pop_modest(&mut self.connections, state)
        {
            self.read_waiting(id);
        }
    }

    /// Reads the greedy connections that wait, with all that is left of the turn.
    pub(in crate::reactor) fn on_greedy(&mut self) {
        self.reserved = 0;
        while !self.is_turn_over()
            && let Some(id) = self.work.ready.pop_greedy(&mut self.connections, state)
        {
            self.read_waiting(id);
        }
    }

    fn read_waiting(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        // The event of an end that came while it waited is over; a later end has an event of its
        // own.
        let to_end = connection.read.peer > PeerSide::Open || connection.read.urgent;
        self.guarded(id.slot, |reactor| reactor.on_readable(id.slot, to_end));
    }
}
