//! Ends connections whose peers do not read, when too many bytes wait for all of them, or when too
//! many were refused.

use crate::bridge::layout::Cause;
use crate::engine::ErrorKind;
use crate::reactor::Reactor;
use crate::reactor::config::MOST_LINGERING;
use crate::reactor::connection::life::Life;
use crate::reactor::consume::consumer::Consumer;

impl<C: Consumer> Reactor<C> {
    /// Ends connections until the bytes that wait are within the budget.
    pub(in crate::reactor) fn end_slow(&mut self) {
        while let Some(id) = self.work.waiting.worst() {
            self.work.waiting.set(id, 0);
            // The reports about the connection belong to no read under way.
            self.consumer.on_turn_end();
            self.guarded(id.slot, |reactor| {
                let Some((mut session, consumer)) = reactor.session(id.slot) else { return };
                session.work.tally.over_budget += 1;
                let engine = &session.connection.engine;
                if session.is_open() && !engine.failed() && !engine.close_received() {
                    let error = session.connection.engine.refuse(ErrorKind::SendBudget);
                    session.work.unfinished.forget(id.slot);
                    consumer.on_error(&mut session, error);
                }
                session.cut(Cause::SendBudget);
            });
        }
    }

    /// Closes the connections that were refused first, when there are too many of them.
    pub(in crate::reactor) fn end_lingering(&mut self) {
        while self.work.lingering.len() > MOST_LINGERING
            && let Some(id) = self.work.lingering.pop_front()
        {
            let Some(connection) = self.connections.get(id) else { continue };
            if !matches!(connection.life, Life::Draining { .. }) {
                continue;
            }
            self.work.tally.cut_refusals += 1;
            self.guarded(id.slot, |reactor| {
                if let Some((mut session, _)) = reactor.session(id.slot) {
                    session.cut(Cause::Handshake);
                }
            });
        }
    }
}
