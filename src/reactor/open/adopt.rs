//! Upgrades that the consumer answers, and sockets whose upgrade was answered elsewhere.

use std::sync::Arc;

use crate::bridge::layout::Cause;
use crate::engine::deflate::Params;

use crate::reactor::connection::life::Life;
use crate::reactor::open::upgrade;
use crate::reactor::{Adoption, ConnectionId, Consumer, ListenerConfig, Reactor};

impl<C: Consumer> Reactor<C> {
    pub(in crate::reactor) fn on_adopt(&mut self, adoption: Adoption) {
        let Adoption { stream, id: chosen, response, prefix, listener, config, deflate } = adoption;
        let id = match chosen {
            Some(id) => self.connections.reserve(id),
            None => self.connections.next_id(),
        };
        self.seat.came();
        match id.and_then(|id| self.admit(id, stream, listener, config, Life::Open)) {
            Some(slot) => {
                let report = chosen.is_none();
                self.guarded(slot, |reactor| {
                    reactor.open_adopted(slot, deflate, report, &response, &prefix);
                });
            }
            None => {
                self.seat.left();
                if let Some(id) = chosen {
                    self.consumer.on_closed(id, Cause::Exhausted);
                }
            }
        }
    }

    pub(in crate::reactor) fn on_serve(
        &mut self,
        id: ConnectionId,
        config: Arc<ListenerConfig>,
        deflate: Option<Params>,
    ) {
        let Some(mut session) = self.session_of(id) else { return };
        upgrade::serve(&mut session, config, deflate);
    }

    pub(in crate::reactor) fn on_accept_upgrade(&mut self, id: ConnectionId, response: &[u8]) {
        let Some((mut session, consumer)) = self.session(id.slot).filter(|(session, _)| session.id == id)
        else {
            return;
        };
        let behind = upgrade::accept(consumer, &mut session, response);
        self.feed(id.slot, &behind);
    }

    fn open_adopted(
        &mut self,
        slot: u32,
        deflate: Option<Params>,
        report: bool,
        response: &[u8],
        prefix: &[u8],
    ) {
        let Some((mut session, consumer)) = self.session(slot) else { return };
        upgrade::open(&mut session, deflate);
        if !response.is_empty() {
            session.write(response);
        }
        if report {
            let opening = session.opening();
            consumer.on_open(&mut session, &opening);
        }
        session.connection.read.received += prefix.len() as u64;
        consumer.on_received(session.id, session.connection.read.received);
        self.feed(slot, prefix);
    }
}
