//! The end of a connection: work due at the end of a step, and the fate of the socket.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bridge::admission::Ticket;
use crate::bridge::layout::{Cause, PIPE_SLOTS};

use super::life::{Gone, Life};
use crate::reactor::barrier::Ending;
use crate::reactor::config::MOST_DRAINING;
use crate::reactor::read::{PeerSide, ReadClass};
use crate::reactor::{Connection, ConnectionId, Consumer, Reactor};

#[derive(Default)]
pub(in crate::reactor) struct Teardown {
    /// To be destroyed at the end of this step, or to leave the reactor; each is [`Life::Gone`].
    due: Vec<(ConnectionId, bool)>,
    /// Refused connections, oldest first; some have ended.
    draining: VecDeque<ConnectionId>,
    /// By slot: the share of a connection in its server's limits until it ends.
    tickets: HashMap<u32, Ticket>,
}

impl Teardown {
    pub(super) fn schedule_close(&mut self, id: ConnectionId, connection: &mut Connection, cause: Cause) {
        if !connection.life.is_gone() {
            if cause == Cause::Fin {
                connection.transport.stream_mut().leave_when_dropped(connection.write.state.is_ended());
            }
            let cause = connection.cause_of_end(cause);
            connection.life = Life::Gone(Gone::new(connection.life.is_reported(), cause));
            self.due.push((id, false));
        }
    }

    /// The connection is the consumer's, which gets the socket after this step.
    pub(in crate::reactor) fn schedule_leave(&mut self, id: ConnectionId, connection: &mut Connection) {
        connection.life = Life::Gone(Gone::new(true, Cause::Reset));
        self.due.push((id, true));
    }

    pub(in crate::reactor) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub(super) fn drain(&mut self, id: ConnectionId) {
        self.draining.push_back(id);
    }

    pub(in crate::reactor) fn set_ticket(&mut self, slot: u32, ticket: Option<Ticket>) {
        // The slot of its settings can belong to another server by the time it ends.
        match ticket {
            Some(ticket) => drop(self.tickets.insert(slot, ticket)),
            None if self.tickets.is_empty() => {}
            None => drop(self.tickets.remove(&slot)),
        }
    }
}

impl<C: Consumer> Reactor<C> {
    /// Destroys the connections with a due end; sockets that leave are the consumer's.
    pub(in crate::reactor) fn end_due(&mut self) {
        while let Some((id, leaves)) = self.teardown.due.pop() {
            if !leaves {
                self.destroy(id.slot, Cause::Reset);
            } else if let Some((id, connection)) = self.detach(id.slot) {
                if let Some(socket) = connection.transport.into_descriptor() {
                    self.consumer.on_socket(id, socket);
                }
                self.writer.forget(id, connection.write);
            }
        }
    }

    /// Closes the socket and reports the end, with this cause unless an earlier one is known.
    pub(in crate::reactor) fn destroy(&mut self, slot: u32, cause: Cause) {
        let Some((mut conn, consumer, _)) = self.conn_at(slot) else { return };
        if conn.state.read.class == ReadClass::Moved {
            let id = conn.id;
            return self.on_moved(&[id]);
        }
        conn.report_dropped(consumer);
        let Some((id, mut connection)) = self.detach(slot) else { return };
        if connection.read.class == ReadClass::Packed {
            // Before it goes on there.
            connection.transport.end_everywhere();
        }
        if connection.life.is_reported() {
            // A panic must not go beyond the connection, which has ended already.
            let _panicked = catch_unwind(AssertUnwindSafe(|| {
                // Bytes that the kernel has taken count as sent, even if the connection ends here.
                self.consumer.on_settled(id, connection.write.settled());
                match connection.write.take_sent() {
                    sent if sent > 0 && !connection.transport.stream_mut().note_sent(sent) => {
                        self.consumer.on_sent(id, sent)
                    }
                    _ => {}
                }
                self.consumer.on_closed(id, connection.cause_of_end(cause));
            }));
            let is_known = connection.close_complete() || connection.read.peer == PeerSide::Dead;
            let ending = Ending(connection.transport);
            // The slot's next connection and the peer must wait for the last record.
            if let Some(progress) = self.consumer.progress().filter(|_| slot < PIPE_SLOTS) {
                self.connections.retain(slot, progress.recorded);
                self.barrier.defer_close(progress.recorded, ending, is_known);
            }
        } else {
            drop(Ending(connection.transport));
        }
        self.writer.forget(id, connection.write);
    }

    /// Takes a connection out of everything but the writer.
    pub(in crate::reactor) fn detach(&mut self, slot: u32) -> Option<(ConnectionId, Box<Connection>)> {
        let (id, mut connection) = self.connections.remove(slot)?;
        self.shard.left();
        self.teardown.set_ticket(slot, None);
        self.metrics.forget(slot);
        self.idling.freed(connection.heap_bytes());
        self.reader.forget(slot, &mut connection);
        self.topics.on_gone(id);
        self.handovers.forget(slot);
        if let Ok(registry) = self.registry() {
            connection.transport.deregister(registry);
        }
        Some((id, connection))
    }

    /// Closes the oldest refused connections if there are too many.
    pub(in crate::reactor) fn end_draining(&mut self) {
        while self.teardown.draining.len() > MOST_DRAINING
            && let Some(id) = self.teardown.draining.pop_front()
        {
            self.step(id, |conn, _| {
                if matches!(conn.state.life, Life::Draining { .. }) {
                    conn.metrics.tally.cut_refusals += 1;
                    conn.cut(Cause::Handshake);
                }
            });
        }
    }
}
