//! Sends that wait while a long message is compressed.

use crate::reactor::command::apply::{apply_pending, mark};
use crate::reactor::write::is_data;
use crate::reactor::{ConnectionId, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    /// Goes on with the sends that wait, one slice for each connection, as far as the turn's budget
    /// goes.
    pub(in crate::reactor) fn on_deferred(&mut self) {
        while let Some(id) = self.writer.next_deferred() {
            self.guarded(id.slot, |reactor| reactor.resume_sends(id));
        }
    }

    fn resume_sends(&mut self, id: ConnectionId) {
        let Some(mut session) = self.session_of(id) else { return };
        let Some(mut deferred) = session.connection.write.deferred.take() else { return };
        while let Some(pending) = deferred.sends.pop_front() {
            deferred.bytes -= pending.payload.len();
            if !is_data(pending.head.kind) {
                apply_pending(&mut session, &pending);
            } else if session.advance(&mut deferred, &pending) {
                mark(&mut session, pending.head.kind, pending.head.flags);
            } else {
                deferred.bytes += pending.payload.len();
                deferred.sends.push_front(pending);
                break;
            }
        }
        if !deferred.sends.is_empty() && !session.connection.life.is_gone() {
            session.connection.write.deferred = Some(deferred);
            session.writer.defer_again(id);
        }
    }
}
