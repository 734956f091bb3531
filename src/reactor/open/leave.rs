//! Listeners whose place another process takes: no connection that has arrived is turned away.

use crate::bridge::layout::Cause;

use super::head::{Head, ListenerState};
use crate::reactor::connection::life::Life;
use crate::reactor::{Command, Consumer, Reactor};

/// A listener whose socket is closed while some of its connections are still in their handshake.
pub(super) struct Leaving {
    id: u32,
    /// Slots of the connections that were in their handshake when it left; some have finished it.
    pub(super) waits_for: Vec<u32>,
}

impl<C: Consumer> Reactor<C> {
    /// Only the reactor with the socket is asked; its request reaches the others after the
    /// connections that it has accepted for them.
    pub(in crate::reactor) fn on_leave(&mut self, id: u32) {
        let Some(listener) = self.openings.listeners.get_mut(&id).filter(|listener| !listener.leaves) else {
            return;
        };
        listener.leaves = true;
        match (&listener.socket, listener.accepting) {
            (Some(_), true) => self.accept(id),
            (Some(_), false) => self.leave(id),
            (None, _) => self.await_openings(id),
        }
    }

    pub(in crate::reactor) fn on_share(&mut self, id: u32) {
        if let Some(door) = self.openings.listeners.get_mut(&id).and_then(|listener| listener.socket.as_mut())
        {
            door.keep_file(true);
        }
    }

    pub(super) fn leave_if_empty(&mut self, id: u32) {
        // Without a free descriptor a connection may wait, and is accepted later.
        if self
            .openings
            .listeners
            .get(&id)
            .is_some_and(|listener| listener.leaves && listener.retry_at.is_none())
        {
            self.leave(id);
        }
    }

    fn leave(&mut self, id: u32) {
        let Some(mut door) = self.openings.listeners.get_mut(&id).and_then(|listener| listener.socket.take())
        else {
            return;
        };
        // A duplicate in another process would keep the socket in the poll.
        let _closed_next = self.registry().and_then(|registry| registry.deregister(door.source()));
        door.keep_file(true);
        self.await_openings(id);
        self.seat.ask_others(|| Command::Leave(id));
    }

    /// Looks through all connections once, not in each turn.
    fn await_openings(&mut self, id: u32) {
        let mut waits_for = self.connections.slots();
        waits_for.retain(|&slot| {
            let head = self.opening(slot, id);
            head.map(|head| head.listener = ListenerState::Left).is_some()
        });
        self.openings.leaving.push(Leaving { id, waits_for });
    }

    /// Closes listeners once none of their connections is in its handshake.
    pub(in crate::reactor) fn end_leaving(&mut self) {
        if self.openings.leaving.is_empty() {
            return;
        }
        for mut one in std::mem::take(&mut self.openings.leaving) {
            while one.waits_for.pop_if(|slot| self.opening(*slot, one.id).is_none()).is_some() {}
            if !one.waits_for.is_empty() {
                self.openings.leaving.push(one);
            } else if self.openings.listeners.remove(&one.id).is_some() {
                self.consumer.on_listener_closed(one.id);
            }
        }
    }

    fn opening(&mut self, slot: u32, listener: u32) -> Option<&mut Head> {
        let connection = self.connections.get_mut(slot).filter(|it| it.listener == listener)?;
        if let Life::Opening(head) = &mut connection.life { Some(head) } else { None }
    }

    /// Closes the oldest refused connections if there are too many.
    pub(in crate::reactor) fn end_lingering(&mut self) {
        while let Some(id) = self.ends.pop_lingering() {
            let Some(connection) = self.connections.get(id) else { continue };
            if !matches!(connection.life, Life::Draining { .. }) {
                continue;
            }
            self.metrics.tally.cut_refusals += 1;
            self.guarded(id.slot, |reactor| {
                if let Some((mut session, _)) = reactor.session(id.slot) {
                    session.cut(Cause::Handshake);
                }
            });
        }
    }
}
