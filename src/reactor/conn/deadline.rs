//! Acts on deadlines: ends a connection, or sends a ping if its peer is silent.

use crate::bridge::layout::Cause;
use crate::engine::handshake::bare;

use crate::reactor::config::{LAST_READ, TIMER_BUDGET};
use crate::reactor::conn::life::Life;
use crate::reactor::read::ReadClass;
use crate::reactor::transport::pipe::Pipe;
use crate::reactor::{Conn, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    /// Acts on deadlines that have passed, once everything that had arrived by then is read.
    pub(in crate::reactor) fn on_timers(&mut self) {
        if self.timers.expire() {
            // The waker is a source too.
            self.reader.begin_sweep(self.connections.len() + self.listeners.len() + 1);
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
            self.step(id, |conn, consumer| {
                if conn.timers.is_due(id, &mut conn.state.deadline) {
                    conn.on_deadline(consumer);
                }
            });
        }
    }

    /// Tries the sockets again for which the kernel had no memory.
    pub(in crate::reactor) fn retry(&mut self) {
        while let Some(id) = self.timers.pop_retry() {
            if let Some((mut conn, ..)) = self.conn_of(id) {
                conn.touch();
                conn.want_read();
            }
        }
    }
}

impl Conn<'_> {
    fn on_deadline<C: Consumer>(&mut self, consumer: &mut C) {
        if self.puts_off() {
            return;
        }
        if self.state.read.class == ReadClass::Handshaking {
            return self.on_slow_handshake(consumer);
        }
        if matches!(self.state.life, Life::Closing { .. })
            && self.state.transport.as_pipe().is_some_and(Pipe::destroy)
        {
            return;
        }
        match &self.state.life {
            Life::Opening(head) if head.has_begun() => {
                self.metrics.tally.timeouts += 1;
                self.respond(&bare(408));
            }
            Life::Open => self.on_silence(),
            // The unread bytes of a paused connection are read first: the peer's close frame can be
            // among them. What its limits hold back is dropped: it would come all at once.
            Life::Closing { .. } | Life::Draining { .. } if self.state.read.paused => {
                self.resume();
                self.arm(LAST_READ);
            }
            Life::Closing { .. } => self.cut(Cause::CloseTimeout),
            _ => self.cut(Cause::Handshake),
        }
    }

    pub(in crate::reactor) fn touch_silence(&mut self) {
        if matches!(self.state.life, Life::Open)
            && let Some(after) = self.state.silence()
        {
            self.arm(after);
        }
    }

    fn on_silence(&mut self) {
        let config = self.state.config.clone();
        // A peer that is not read is not silent, nor is one that waits for the 101.
        let waits = self.state.write.state.is_withheld();
        if waits || self.state.read.paused || self.state.read.is_unread() {
            return self.touch_silence();
        }
        let ping = !config.ping_interval.is_zero();
        // With both set, the shorter one fires first; a peer that is silent after a ping is lost either
        // way.
        let rest = config.idle_timeout.saturating_sub(config.ping_interval);
        let idles = !config.idle_timeout.is_zero() && config.idle_timeout <= config.ping_interval;
        if !ping || idles {
            return self.cut(Cause::IdleTimeout);
        }
        if self.state.pinged {
            let idle = !rest.is_zero() && rest < config.ping_interval;
            return self.cut(if idle { Cause::IdleTimeout } else { Cause::PingTimeout });
        }
        self.state.pinged = true;
        self.ping(&[]);
        let after = if rest.is_zero() { config.ping_interval } else { rest.min(config.ping_interval) };
        self.arm(after);
    }
}
