//! Connections with something to read that wait for their share of a turn.
//!
//! A connection that used little of its last share is modest and comes first: its ping does not
//! wait until a hundred floods have had a share each. While greedy connections wait, half of every
//! turn is theirs, however many modest ones there are.

#[cfg(test)]
mod tests;

use crate::bridge::tally::Pause;

use std::time::Instant;

use super::{PeerSide, ReadClass, ReadHalf};
use crate::reactor::config::{HANDSHAKE_BUDGET, READ_BUDGET, TURN_BUDGET};
use crate::reactor::queue::{Mark, Queue};
use crate::reactor::{Conn, ConnectionId, Connections, Consumer, EVENTS, Reactor};

/// In the order in which connections are read. A connection is in one queue at most.
#[derive(Default)]
pub(super) struct Ready {
    modest: Queue,
    greedy: Queue,
    /// Connections that have had a share of this turn and want more: they come last in the next
    /// one.
    served: Queue,
    served_greedy: Queue,
    /// Connections with a handshake that can continue.
    handshake: Queue,
}

/// A moment: the connections that waited then are the first so many of each queue.
#[derive(Clone, Copy)]
pub(super) struct Waited {
    modest: u64,
    greedy: u64,
}

impl Ready {
    pub(super) fn push(&mut self, id: ConnectionId, ReadHalf { queued, class, .. }: &mut ReadHalf) {
        let queue = match class {
            ReadClass::Greedy => &mut self.greedy,
            ReadClass::Handshaking => &mut self.handshake,
            _ => &mut self.modest,
        };
        queue.push(id, queued);
    }

    pub(super) fn push_served(&mut self, id: ConnectionId, ReadHalf { queued, class, .. }: &mut ReadHalf) {
        let queue = match class {
            ReadClass::Greedy => &mut self.served_greedy,
            ReadClass::Handshaking => &mut self.handshake,
            _ => &mut self.served,
        };
        queue.push(id, queued);
    }

    pub(super) fn is_empty(&self) -> bool {
        let queues = [&self.modest, &self.greedy, &self.served, &self.served_greedy, &self.handshake];
        queues.iter().all(|queue| queue.is_empty())
    }

    /// The connections that wait now, without those that have had a share of this turn.
    fn waited(&self) -> Waited {
        Waited { modest: self.modest.ever(), greedy: self.greedy.ever() }
    }

    fn has_served(&self, waited: Waited) -> bool {
        self.modest.left() >= waited.modest && self.greedy.left() >= waited.greedy
    }

    /// Every connection can have a share again. Returns the bytes reserved for greedy ones.
    fn begin_turn(&mut self) -> usize {
        self.modest.append(&mut self.served);
        self.greedy.append(&mut self.served_greedy);
        if self.greedy.is_empty() { 0 } else { READ_BUDGET }
    }
}

fn mark(connections: &mut Connections, id: ConnectionId) -> Option<&mut Mark> {
    connections.get(id).map(|connection| &mut connection.read.queued)
}

/// Bytes to read before deadlines are judged: everything that had arrived when they were found to be
/// over.
///
/// After a stop of the process, or while JavaScript is busy, deadlines are over and sockets full.
/// The peers were not silent, so their bytes come first.
///
/// ```text
/// a turn: deadlines are over -> Polling -- every socket has been reported that was ready --> Reading
/// later turns: those that waited have had a share each -> deadlines that were not moved are judged
/// ```
pub(super) enum Sweep {
    /// At most this many ready sockets were not reported yet. The kernel reports first what has
    /// been ready longest, so each comes once before another comes again.
    Polling(usize),
    /// All were reported, and read unless they wait for their share of a turn.
    Reading(Waited),
}

impl Sweep {
    pub(super) fn polled(&mut self, events: usize) {
        if let Self::Polling(rest) = self {
            *rest = if events < EVENTS { 0 } else { rest.saturating_sub(events) };
        }
    }

    pub(super) fn is_over(&mut self, ready: &Ready) -> bool {
        if let Self::Polling(0) = self {
            *self = Self::Reading(ready.waited());
        }
        matches!(self, Self::Reading(waited) if ready.has_served(*waited))
    }
}

impl<C: Consumer> Reactor<C> {
    /// From here on connections can be read. During one turn of another program's loop the reactor
    /// might have several, with chunks of streams between them; all of these share one budget.
    pub(in crate::reactor) fn begin_reading(&mut self) {
        if self.loop_turn.is_none() || self.loop_turn != self.read_in {
            self.read_in = self.loop_turn;
            self.reader.turn_budget = TURN_BUDGET;
        }
        self.reader.reserved = self.reader.ready.begin_turn();
    }

    pub(in crate::reactor) fn on_modest(&mut self) {
        while !self.reader.is_turn_over()
            && let Some(id) = self.reader.ready.modest.pop(&mut self.connections, mark)
        {
            self.step(id, |conn, consumer| conn.on_share(consumer));
        }
    }

    /// Reads the waiting greedy connections, with all that is left of the turn.
    pub(in crate::reactor) fn on_greedy(&mut self) {
        self.reader.reserved = 0;
        while !self.reader.is_turn_over()
            && let Some(id) = self.reader.ready.greedy.pop(&mut self.connections, mark)
        {
            self.step(id, |conn, consumer| conn.on_share(consumer));
        }
    }

    /// Goes on with handshakes of transports, at least with one. Others come first: it costs as much
    /// as reading 100 KiB. False: none waited.
    pub(in crate::reactor) fn on_handshakes(&mut self) -> bool {
        if self.reader.ready.handshake.is_empty() {
            return false;
        }
        let began = Instant::now();
        while let Some(id) = self.reader.ready.handshake.pop(&mut self.connections, mark) {
            self.step(id, |conn, consumer| conn.handshake(consumer));
            if began.elapsed() >= HANDSHAKE_BUDGET {
                break;
            }
        }
        true
    }
}

impl Conn<'_> {
    /// There is something to read, or an end. Connections in a queue are read in their turn; all but
    /// modest ones go into a queue.
    pub(in crate::reactor) fn on_peer<C: Consumer>(&mut self, consumer: &mut C, seen: PeerSide) {
        let read = &mut self.state.read;
        read.unread = true;
        read.peer = read.peer.max(seen);
        // A connection that is about to move is read where it goes on.
        if read.queued.is_set() || read.class.is_moving() {
            return;
        }
        if read.class != ReadClass::Modest {
            return self.want_read();
        }
        let to_end = seen > PeerSide::Open || read.peer == PeerSide::Urgent;
        self.read(consumer, to_end);
        self.report_end(consumer);
    }

    /// The connection has waited for its share of a turn.
    fn on_share<C: Consumer>(&mut self, consumer: &mut C) {
        if self.state.read.class == ReadClass::Handshaking {
            return self.want_read();
        }
        self.state.read.unread = true;
        if self.state.read.class.is_moving() {
            return;
        }
        // The event of an end that came meanwhile is over; a later end has an event of its own.
        let to_end = self.state.read.peer > PeerSide::Open;
        self.read(consumer, to_end);
        self.report_end(consumer);
    }

    /// Stops reading the socket, so TCP holds the peer back. Bytes that were read already are still
    /// reported.
    pub fn pause(&mut self) {
        self.state.read.paused = true;
        self.metrics.stopped(self.id.slot, Pause::Program, self.timers.now());
    }

    pub fn resume(&mut self) {
        self.state.read.paused = false;
        self.metrics.resumed(self.id.slot, self.timers.now());
        self.want_read();
    }

    /// Queues the connection to be read: there can be something that no event reports.
    pub(in crate::reactor) fn read_again(&mut self) {
        self.state.read.unread = true;
        self.want_read();
    }

    /// Queues the connection to be read, if there can be something.
    pub(in crate::reactor) fn want_read(&mut self) {
        if self.state.read.is_unread() {
            self.reader.ready.push(self.id, &mut self.state.read);
        }
    }
}
