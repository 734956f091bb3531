//! Sends that wait while a long message is compressed.

use crate::reactor::Reactor;
use crate::reactor::command::apply::{apply_pending, mark};
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::session::Session;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::write::compress::is_data;

impl<C: Consumer> Reactor<C> {
    /// Goes on with the sends that wait, one slice for each connection, as far as the turn's budget
    /// goes.
    pub(in crate::reactor) fn on_deferred(&mut self) {
        while self.work.compression.budget > 0
            && let Some(id) = self.work.compression.deferred.pop_front()
        {
            self.guarded(id.slot, |reactor| reactor.resume_sends(id));
        }
    }

    fn resume_sends(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        let mut session = Session { id, connection, work: &mut self.work };
        let Some(mut deferred) = session.connection.write.deferred.take() else { return };
        while let Some(pending) = deferred.sends.pop_front() {
            deferred.bytes -= pending.payload.len();
            if !is_data(pending.kind) {
                apply_pending(&mut session, &pending);
            } else if session.advance(&mut deferred, &pending) {
                mark(&mut session, pending.kind, pending.flags);
            } else {
                deferred.bytes += pending.payload.len();
                deferred.sends.push_front(pending);
                break;
            }
        }
        if !deferred.sends.is_empty() && !session.connection.life.is_gone() {
            session.connection.write.deferred = Some(deferred);
            self.work.compression.deferred.push_back(id);
        }
    }
}
