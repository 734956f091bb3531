//! Changes of a connection that its peer must not observe before the consumer has their record.
//!
//! A consumer on another thread learns of a connection later than the reactor does. A peer that has
//! its 101 could ask for the connection in another way before the consumer knows of it. So the
//! bytes that show a change leave when the consumer has dealt with its record: the 101 after OPEN,
//! with frames sent meanwhile, and the end of the socket after CLOSED.
//!
//! An end that both sides know of, by their close frames or a reset, waits only until CLOSED is
//! handed over, or the peer would learn of it after what its next connections get.
//!
//! ```text
//! a turn: 101 queued, OPEN recorded as the nth record -> withhold
//! a turn: delivered >= n -> on_delivered -> 101 written
//! ```
//!
//! The consumer sends no command for it: the count of records that it has dealt with is enough.
//! Changes become visible in the order of their records. Meanwhile the connection is read.

use std::collections::VecDeque;

use crate::reactor::write::HoldReason;
use crate::reactor::{Conn, ConnectionId, Consumer, Reactor, Transport};

enum Waiting {
    /// The bytes queued for a connection, the 101 first.
    Handshake(ConnectionId),
    /// A socket, which closes then.
    Close(Ending),
}

/// A socket that closes.
pub(super) struct Ending(pub(super) Transport);

impl Drop for Ending {
    fn drop(&mut self) {
        if matches!(&self.0, Transport::Tcp(_, marks) if marks.shared) {
            self.0.end_everywhere();
        }
    }
}

#[derive(Default)]
pub(super) struct DeliveryBarrier {
    /// With the numbers of their records, oldest first.
    waiting: VecDeque<(u64, Waiting)>,
    /// Sockets that close when this turn's records have been handed over.
    known: Vec<Ending>,
}

impl DeliveryBarrier {
    /// Closes the sockets that are held for the sake of order: descriptors have run out, and new
    /// sockets come first. `false`: there are none.
    pub(super) fn close_now(&mut self) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(_, waiting)| matches!(waiting, Waiting::Handshake(_)));
        self.waiting.len() != before
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The turn's records have been handed over: the known ends go.
    pub(super) fn close_known(&mut self) {
        self.known.clear();
    }

    /// `record` reports a connection's end. `is_known`: both close frames were sent, or a reset.
    pub(super) fn defer_close(&mut self, record: u64, ending: Ending, is_known: bool) {
        if is_known {
            self.known.push(ending);
        } else {
            self.waiting.push_back((record, Waiting::Close(ending)));
        }
    }
}

impl Conn<'_> {
    /// Makes the peer wait until the consumer has dealt with `record`, which reports the
    /// connection.
    pub(super) fn withhold(&mut self, record: u64) {
        self.state.write.state.withhold();
        self.barrier.waiting.push_back((record, Waiting::Handshake(self.id)));
    }

    /// Returns whether a decision was awaited. Unless the connection stays, the bytes queued for
    /// its peer never leave.
    pub(super) fn decide(&mut self, stays: bool) -> bool {
        let waited = self.go_on(HoldReason::Decision);
        if waited && !stays {
            self.state.write.discard();
        }
        waited
    }

    /// `from`, for which the queued bytes might have waited, has happened. Returns whether they have.
    pub(super) fn go_on(&mut self, from: HoldReason) -> bool {
        let waited = self.state.write.state.go_on(from);
        if waited {
            self.touch();
        }
        waited
    }
}

impl<C: Consumer> Reactor<C> {
    pub(super) fn open_barrier(&mut self, delivered: u64) {
        while self.barrier.waiting.front().is_some_and(|(record, _)| *record <= delivered) {
            match self.barrier.waiting.pop_front() {
                Some((_, Waiting::Handshake(id))) => {
                    if let Some((mut conn, ..)) = self.conn_of(id) {
                        conn.go_on(HoldReason::Delivery);
                    }
                }
                Some((_, Waiting::Close(ending))) => drop(ending),
                None => {}
            }
        }
    }
}
