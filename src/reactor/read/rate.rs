//! Acts when a peer sends more in a second than its server allows, see `paced.rs`.

use crate::bridge::layout::Cause;
use crate::bridge::rates::Counted;
use crate::engine::{CloseCode, ErrorKind};

use crate::reactor::Reactor;
use crate::reactor::connection::session::Session;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::read::frames::{finish_if_complete, report_error};
use crate::reactor::read::half::PeerSide;
use crate::reactor::read::paced::SECOND;

/// Counts the input of an open connection: `len` bytes, and `messages` in them.
pub(in crate::reactor) fn charge<C: Consumer>(
    consumer: &mut C,
    session: &mut Session<'_>,
    messages: u64,
    len: usize,
) {
    let now = session.work.now;
    let Some(counted) = session.work.paced.take(session.id.slot, messages, len as u64, now) else { return };
    let config = session.connection.config.clone();
    let Some(rates) = config.rates.as_ref().filter(|rates| rates.closes) else { return };
    let engine = &session.connection.engine;
    if session.connection.life.is_gone() || engine.failed() || engine.close_received() {
        return;
    }
    rates.exceed(counted);
    session.work.paced.forget(session.id.slot);
    let kind = match counted {
        Counted::Messages => ErrorKind::TooManyMessages,
        Counted::Bytes => ErrorKind::TooManyBytes,
    };
    let error = session.connection.engine.refuse(kind);
    // Reported at once and not when the consumer has time: it may be busy with the messages of this
    // peer.
    session.close(Some(CloseCode::POLICY_VIOLATION), kind.row().sentence.as_bytes());
    report_error(consumer, session, error);
    finish_if_complete(session);
}

/// The peer may have gone. Bytes sent before are read at its rate, but not for ever.
pub(in crate::reactor) fn bound(session: &mut Session<'_>) {
    let until = session.work.now.checked_add(session.connection.config.close_timeout);
    session.work.paced.hung_up(session.id, until);
}

impl<C: Consumer> Reactor<C> {
    /// An event reports that the peer may have gone.
    pub(in crate::reactor) fn on_hang_up(&mut self, slot: u32) {
        if let Some((mut session, _)) = self.session(slot)
            && session.connection.read.peer == PeerSide::Open
        {
            bound(&mut session);
        }
    }

    /// Ends the connections whose peers have been gone for as long as that may be.
    fn end_gone(&mut self) {
        while let Some(id) = self.work.paced.pop_gone(self.work.now) {
            let Some(connection) = self.connections.get(id) else { continue };
            if connection.read.paused || !self.work.paced.waits(id.slot) {
                // The connection is not held back by its limit.
                self.work.paced.hung_up(id, self.work.now.checked_add(SECOND));
                continue;
            }
            self.guarded(id.slot, |reactor| {
                if let Some((mut session, _)) = reactor.session(id.slot) {
                    session.cut(Cause::Fin);
                }
            });
        }
    }

    /// Schedules the connections that have waited for as long as their limits demand.
    pub(in crate::reactor) fn resume_paced(&mut self) {
        self.end_gone();
        while let Some(id) = self.work.paced.pop(self.work.now) {
            if self.connections.get(id).is_some() {
                self.read_later(id.slot);
            }
        }
    }
}
