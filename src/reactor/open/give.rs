//! Connections for the consumer's HTTP server.
//!
//! The bytes that were read go with them, unchanged and all of them. So one parser decides alone
//! where requests begin and end: the reactor's for the first head, then the other server's.
//!
//! ```text
//! Opening, Asked -> give: the socket itself -> out of the reactor
//!                     '-> Relayed: on_data, on_end <-> OUT_WRITE, OUT_END
//! Relayed -> serve -> Asked -> accept -> Open, and `returning` until the consumer has handed back
//!                                        what it has read too much: take_back
//! ```

use crate::reactor::connection::life::Life;
use crate::reactor::read::half::{Pace, PeerSide};
use crate::reactor::{ConnectionId, Consumer, Opening, Reactor, Session};

impl<C: Consumer> Reactor<C> {
    /// `bytes`: all that was read.
    pub(in crate::reactor) fn give(&mut self, slot: u32, bytes: &[u8]) {
        let Some((mut session, consumer)) = self.session(slot) else { return };
        let takes_socket = session.leaves();
        let opening = Opening { rest: bytes, ..session.opening() };
        // From here on, the limits are the other server's.
        session.ends.set_ticket(slot, None);
        session.metrics.tally.given += 1;
        consumer.on_given(&mut session, &opening, takes_socket);
        if takes_socket {
            return self.let_go(slot);
        }
        session.connection.life = Life::Relayed;
        session.connection.deadline.clear();
        session.want_read();
    }

    /// The consumer gives a connection whose request it was asked about.
    pub(in crate::reactor) fn on_give(&mut self, id: ConnectionId) {
        let Some(session) = self.session_of(id) else { return };
        let Life::Asked(question) = &mut session.connection.life else { return };
        let bytes = std::mem::take(&mut question.read);
        self.give(id.slot, &bytes);
    }

    fn let_go(&mut self, slot: u32) {
        let Some((id, connection)) = self.part_with(slot) else { return };
        if let Some(socket) = connection.transport.into_descriptor() {
            self.consumer.on_socket(id, socket);
        }
        self.writer.forget(id, connection.write);
    }
}

impl Session<'_> {
    /// Whether the consumer gets the socket: it wants it, and nothing of ours waits for it.
    fn leaves(&mut self) -> bool {
        let wants = self.connection.config.http.is_some_and(|http| http.sockets);
        if !wants || !self.connection.transport.is_socket() {
            return false;
        }
        // The answer to a health check that came before.
        if self.queued() != 0 {
            self.write_at_once(usize::MAX);
        }
        self.queued() == 0
    }
}

/// A relayed connection is a WebSocket now. Bytes that were read for the consumer are on their way to
/// it, or were when it accepted: nothing is read before it has handed back all of them.
pub(super) fn reclaim<C: Consumer>(consumer: &mut C, session: &mut Session<'_>) {
    if consumer.on_reclaim(session.id) {
        session.connection.read.pace = Pace::Returning;
    }
    let read = &mut session.connection.read;
    // Its end is read again, after the bytes before it.
    if read.peer == PeerSide::Ended {
        read.peer = PeerSide::HungUp;
    }
    session.resume();
    session.read_again();
}

/// The consumer hands back bytes; none: that was all.
pub(super) fn take_back(session: &mut Session<'_>, bytes: &[u8]) {
    if !bytes.is_empty() {
        return session.reader.keep(session.id.slot, bytes);
    }
    session.connection.read.pace = Pace::Modest;
    session.read_again();
}
