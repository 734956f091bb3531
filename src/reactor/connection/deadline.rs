//! Acts on deadlines: with the end of a connection, or with a ping if its peer is silent.

use std::time::Duration;

use crate::bridge::layout::Cause;
use crate::engine::handshake::write_request_timeout;

use crate::reactor::Reactor;
use crate::reactor::config::{LAST_READ, TIMER_BUDGET};
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::life::Life;
use crate::reactor::connection::session::Session;
use crate::reactor::connection::sweep::Sweep;
use crate::reactor::connection::timers::Fired;
use crate::reactor::consume::consumer::Consumer;

impl<C: Consumer> Reactor<C> {
    /// Acts on the deadlines that have passed, once all that had arrived by then is read.
    pub(in crate::reactor) fn on_timers(&mut self) {
        if self.work.expired.is_empty() {
            self.work.timers.expire(self.work.now, &mut self.work.expired);
            // The waker is a source too.
            self.work.sweep = Sweep::Polling(self.connections.len() + self.listeners.len() + 1);
            return;
        }
        if !self.work.sweep.is_over(&self.work.ready) {
            return;
        }
        for _ in 0..TIMER_BUDGET {
            let Some(id) = self.work.expired.pop_front() else { return };
            let Some(connection) = self.connections.get(id) else { continue };
            if let Fired::Due = self.work.timers.fire(id, &mut connection.deadline) {
                self.guarded(id.slot, |reactor| reactor.on_deadline(id));
            }
        }
    }

    /// Reads and writes the sockets again for which the kernel had no memory.
    pub(in crate::reactor) fn retry(&mut self) {
        for id in self.work.retries.take_due(self.work.now) {
            if let Some(connection) = self.connections.get(id) {
                let mut session = Session { id, connection, work: &mut self.work };
                session.touch();
                session.want_read();
            }
        }
    }

    fn on_deadline(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        let mut session = Session { id, connection, work: &mut self.work };
        match &session.connection.life {
            Life::Opening(head) if !head.bytes.is_empty() => {
                session.work.tally.timeouts += 1;
                let mut response = Vec::new();
                write_request_timeout(&mut response);
                session.respond(&response);
            }
            Life::Open => on_silence(&mut session),
            // The unread bytes of a paused connection are read first: the peer's close frame may be
            // behind them. What its limits hold back is dropped: it would come all at once.
            Life::Closing { .. } | Life::Draining { .. } if session.connection.read.paused => {
                session.resume();
                let Session { id, connection, work } = session;
                work.timers.arm(id, &mut connection.deadline, work.now, LAST_READ);
            }
            Life::Closing { .. } => session.cut(Cause::CloseTimeout),
            _ => session.cut(Cause::Handshake),
        }
    }
}

/// The peer has sent something: silence begins anew.
pub(in crate::reactor) fn touch_silence(session: &mut Session<'_>) {
    if matches!(session.connection.life, Life::Open)
        && let Some(after) = session.connection.silence()
    {
        session.work.timers.arm(session.id, &mut session.connection.deadline, session.work.now, after);
    }
}

/// The peer has been silent for as long as it may.
pub(in crate::reactor) fn on_silence(session: &mut Session<'_>) {
    let config = session.connection.config.clone();
    // A peer that is not read is not silent, nor is one that waits for the 101.
    let waits = session.connection.write.state.is_withheld();
    if waits || session.connection.read.paused || session.connection.read.state.is_unread() {
        return touch_silence(session);
    }
    let ping = !config.ping_interval.is_zero();
    // With both set, the shorter one fires first; a peer that stayed silent after a ping is gone
    // either way.
    let rest = config.idle_timeout.saturating_sub(config.ping_interval);
    if !ping || is_shorter(config.idle_timeout, config.ping_interval) {
        return session.cut(Cause::IdleTimeout);
    }
    if session.connection.pinged {
        let idle = !rest.is_zero() && rest < config.ping_interval;
        return session.cut(if idle { Cause::IdleTimeout } else { Cause::PingTimeout });
    }
    session.connection.pinged = true;
    session.ping(&[]);
    let after = if rest.is_zero() { config.ping_interval } else { rest.min(config.ping_interval) };
    let Session { id, connection, work } = session;
    work.timers.arm(*id, &mut connection.deadline, work.now, after);
}

fn is_shorter(idle: Duration, ping: Duration) -> bool {
    !idle.is_zero() && idle <= ping
}
