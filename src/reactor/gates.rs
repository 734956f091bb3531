//! What a peer can observe of a connection that the consumer must know of first.
//!
//! Where the consumer is on another thread, it hears of a connection later than the reactor does. A peer that has its 101 could
//! ask by another way in, or in the consumer's own process, and find nobody. So what tells a peer of a change leaves when the
//! consumer has dealt with the record of that change: the 101 behind OPEN, with what was sent meanwhile, and the end of the
//! socket behind CLOSED.
//!
//! ```text
//! a turn: 101 queued, OPEN recorded -> hand_over: this is in part n
//! a turn: delivered >= n -> on_delivered -> 101 written
//! ```
//!
//! The consumer sends no command for it: the count of batches that it has given back is enough. Gates open in the order in
//! which they were closed, all that may at once. Nothing else waits for them: a connection is read, and counted, meanwhile.

use std::collections::VecDeque;

use mio::net::TcpStream;

use super::Reactor;
use super::connection::Writable;
use super::connections::ConnectionId;
use super::consumer::Consumer;
use super::session::Session;

/// Something that a peer must wait for.
enum Gate {
    /// What is queued for a connection, the 101 first.
    Opening(ConnectionId),
    /// The end of a socket, which is that of this one's lifetime.
    End(TcpStream),
}

/// All of one reactor.
#[derive(Default)]
pub(super) struct Gates {
    /// Of this turn: which part of what the consumer is told their records are in is known at its end.
    fresh: Vec<Gate>,
    /// The others with that part, oldest first.
    closed: VecDeque<(u64, Gate)>,
}

impl Gates {
    /// Whether somebody waits for the consumer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.closed.is_empty()
    }
}

impl Session<'_> {
    /// The consumer is about to hear of the connection, and its peer has to wait for that.
    pub(super) fn withhold(&mut self) {
        self.connection.writable = Writable::AfterDelivery;
        self.work.gates.fresh.push(Gate::Opening(self.id));
    }

    /// The consumer knows of the connection: it has asked for something.
    pub(super) fn is_known(&mut self) {
        if self.connection.writable == Writable::AfterDelivery {
            self.connection.writable = Writable::Now;
        }
    }
}

impl<C: Consumer> Reactor<C> {
    /// The consumer hears of a connection's end, and its peer has to wait for that.
    pub(super) fn hold_end(&mut self, stream: TcpStream) {
        if self.consumer.progress().is_some() {
            self.work.gates.fresh.push(Gate::End(stream));
        }
    }

    /// Hands over what the consumer has been told, and notes which part it was.
    pub(super) fn hand_over(&mut self) {
        self.consumer.on_turn_end();
        self.close_gates();
    }

    fn close_gates(&mut self) {
        let Gates { fresh, closed } = &mut self.work.gates;
        if fresh.is_empty() {
            return;
        }
        let part = self.consumer.progress().map_or(0, |progress| progress.handed_over);
        closed.extend(fresh.drain(..).map(|gate| (part, gate)));
    }

    /// Lets go what the consumer knows of by now.
    pub(super) fn on_delivered(&mut self) {
        if !self.work.gates.is_waiting() {
            return;
        }
        let delivered = self.consumer.progress().map_or(u64::MAX, |progress| progress.delivered);
        while self.work.gates.closed.front().is_some_and(|(part, _)| *part <= delivered) {
            let Some((_, gate)) = self.work.gates.closed.pop_front() else { return };
            self.open_gate(gate);
        }
    }

    /// Descriptors have run out: sockets that are held for the sake of order are not worth those that come.
    pub(super) fn let_ends_go(&mut self) {
        self.work.gates.closed.retain(|(_, gate)| matches!(gate, Gate::Opening(_)));
    }

    /// Nobody will be told of anything any more.
    pub(super) fn open_all_gates(&mut self) {
        self.close_gates();
        for (_, gate) in std::mem::take(&mut self.work.gates.closed) {
            self.open_gate(gate);
        }
    }

    fn open_gate(&mut self, gate: Gate) {
        match gate {
            Gate::Opening(id) => {
                let Some(connection) = self.connections.get(id) else { return };
                let mut session = Session { id, connection, work: &mut self.work };
                session.is_known();
                session.touch();
            }
            Gate::End(stream) => drop(stream),
        }
    }
}
