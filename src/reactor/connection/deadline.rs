//! Acts on deadlines: ends a connection, or sends a ping if its peer is silent.

use crate::bridge::layout::Cause;
use crate::engine::handshake::bare;

use crate::reactor::config::{LAST_READ, TIMER_BUDGET};
use crate::reactor::connection::life::Life;
use crate::reactor::read::half::Pace;
use crate::reactor::{ConnectionId, Consumer, Reactor, Session};

impl<C: Consumer> Reactor<C> {
    /// Acts on deadlines that have passed, once everything that had arrived by then is read.
    pub(in crate::reactor) fn on_timers(&mut self) {
        if self.timers.expire() {
            // The waker is a source too.
            self.reader.begin_sweep(self.connections.len() + self.openings.len() + 1);
            self.swept_in = self.loop_turn;
            return;
        }
        // Bytes for streams are with their program, which reads them once in a turn of its loop.
        if self.loop_turn.is_some() && self.loop_turn == self.swept_in {
            return;
        }
        if !self.reader.has_swept() {
            return;
        }
        for _ in 0..TIMER_BUDGET {
            let Some(id) = self.timers.pop() else { return };
            let Some(connection) = self.connections.get(id) else { continue };
            if self.timers.has_come(id, &mut connection.deadline) {
                self.guarded(id.slot, |reactor| reactor.on_deadline(id));
            }
        }
    }

    /// Tries the sockets again for which the kernel had no memory.
    pub(in crate::reactor) fn retry(&mut self) {
        while let Some(id) = self.timers.pop_retry() {
            if let Some(mut session) = self.session_of(id) {
                session.touch();
                session.want_read();
            }
        }
    }

    fn on_deadline(&mut self, id: ConnectionId) {
        let Some(mut session) = self.session_of(id) else { return };
        if session.connection.read.pace == Pace::Shaking {
            return self.on_slow_handshake(id);
        }
        match &session.connection.life {
            Life::Opening(head) if head.has_begun() => {
                session.metrics.tally.timeouts += 1;
                session.respond(&bare(408));
            }
            Life::Open => on_silence(&mut session),
            // The unread bytes of a paused connection are read first: the peer's close frame may be
            // among them. What its limits hold back is dropped: it would come all at once.
            Life::Closing { .. } | Life::Draining { .. } if session.connection.read.paused => {
                session.resume();
                session.arm(LAST_READ);
            }
            Life::Closing { .. } => session.cut(Cause::CloseTimeout),
            _ => session.cut(Cause::Handshake),
        }
    }
}

pub(in crate::reactor) fn touch_silence(session: &mut Session<'_>) {
    if matches!(session.connection.life, Life::Open)
        && let Some(after) = session.connection.silence()
    {
        session.arm(after);
    }
}

fn on_silence(session: &mut Session<'_>) {
    let config = session.connection.config.clone();
    // A peer that is not read is not silent, nor is one that waits for the 101.
    let waits = session.connection.write.state.is_withheld();
    if waits || session.connection.read.paused || session.connection.read.is_unread() {
        return touch_silence(session);
    }
    let ping = !config.ping_interval.is_zero();
    // With both set, the shorter one fires first; a peer that is silent after a ping is lost either
    // way.
    let rest = config.idle_timeout.saturating_sub(config.ping_interval);
    let idles = !config.idle_timeout.is_zero() && config.idle_timeout <= config.ping_interval;
    if !ping || idles {
        return session.cut(Cause::IdleTimeout);
    }
    if session.connection.pinged {
        let idle = !rest.is_zero() && rest < config.ping_interval;
        return session.cut(if idle { Cause::IdleTimeout } else { Cause::PingTimeout });
    }
    session.connection.pinged = true;
    session.ping(&[]);
    let after = if rest.is_zero() { config.ping_interval } else { rest.min(config.ping_interval) };
    session.arm(after);
}
