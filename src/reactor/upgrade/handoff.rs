//! Connections for the consumer's HTTP server.
//!
//! The bytes that were read go with them, unchanged and all of them. So one parser decides alone
//! where requests begin and end: the reactor's for the first head, then the other server's.
//!
//! ```text
//! Opening -> hand_off: the socket itself -> out of the reactor
//!            '-> Relayed: on_data, on_end <-> OUT_WRITE, OUT_END
//! Relayed -> serve -> AwaitingDecision -> accept -> Open, and `AwaitingHandback` until the consumer has handed back
//!    bytes that it has read too much: hand_back
//! ```

use crate::reactor::conn::life::Life;
use crate::reactor::read::{PeerSide, ReadClass};
use crate::reactor::{Conn, Consumer, HandshakeInfo};

impl Conn<'_> {
    /// `bytes`: all that was read.
    pub(in crate::reactor) fn hand_off<C: Consumer>(&mut self, consumer: &mut C, bytes: &[u8]) {
        let takes_socket = self.leaves();
        let info = HandshakeInfo { rest: bytes, ..self.handshake_info() };
        // From here on, the limits are the other server's.
        self.teardown.set_ticket(self.id.slot, None);
        self.metrics.tally.handed_off += 1;
        consumer.on_handoff(self, &info, takes_socket);
        if takes_socket {
            return self.teardown.schedule_leave(self.id, self.state);
        }
        self.state.life = Life::Relayed;
        self.state.deadline.clear();
        self.want_read();
    }

    /// Whether the consumer gets the socket: it wants it, and nothing of ours waits for it.
    fn leaves(&mut self) -> bool {
        let wants = self.state.config.http.as_ref().is_some_and(|http| http.sockets);
        if !wants || !self.state.transport.is_socket() {
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
pub(super) fn await_handback<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>) {
    if consumer.on_handback(conn.id) {
        conn.state.read.class = ReadClass::AwaitingHandback;
    }
    let read = &mut conn.state.read;
    // Its end is read again, after the bytes before it.
    if read.peer == PeerSide::Ended {
        read.peer = PeerSide::HungUp;
    }
    conn.resume();
    conn.read_again();
}

/// The consumer hands back bytes; none: that was all.
pub(super) fn hand_back(conn: &mut Conn<'_>, bytes: &[u8]) {
    if !bytes.is_empty() {
        return conn.reader.keep(conn.id.slot, bytes);
    }
    conn.state.read.class = conn.handovers.class_of(conn.id.slot);
    conn.read_again();
}
