//! A reactor without a thread of its own: the loop of another program runs its turns.
//!
//! That loop watches [`Reactor::descriptor`] and calls `run_once(Some(Duration::ZERO))` when the
//! descriptor is readable, or at the time that [`Reactor::rest`] gave. Its commands go through
//! [`Reactor::serve`], which acts at once.

use std::time::{Duration, Instant};

use crate::bridge::large::Large;

use super::Reactor;
use super::command::handle::Command;
use super::command::records::Rest;
use super::consume::consumer::Consumer;

/// The time at which a reactor wants its next turn, if no socket brings one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As soon as the loop has served others.
    Now,
    /// At that time.
    At(Instant),
    /// Not at all.
    Never,
}

/// The time until then.
pub fn until(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}

impl<C: Consumer> Reactor<C> {
    /// The descriptor that is readable when a socket has something: the poll's own. `None` where
    /// the system has none.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Option<i32> {
        use std::os::fd::AsRawFd;
        Some(self.poll.as_raw_fd())
    }

    /// The descriptor that is readable when a socket has something: the poll's own. `None` where
    /// the system has none.
    #[cfg(not(unix))]
    pub fn descriptor(&self) -> Option<i32> {
        None
    }

    /// Applies a command and its consequences, without a look at the sockets.
    pub fn serve(&mut self, command: Command) {
        self.between_turns(|reactor| reactor.on_command(command));
    }

    /// Applies the records of a chunk with these bytes and large payloads. `last` is the payload of
    /// the last large record; the part that the kernel does not take at once is copied.
    pub fn serve_records(&mut self, bytes: &[u8], large: Vec<Large>, last: Option<&[u8]>) {
        self.between_turns(|reactor| {
            // All records are applied: this budget has no end.
            reactor.on_records(bytes, Rest::all(large), last);
        });
    }

    /// The consumer has dealt with some records: serves the sockets that waited for that.
    pub fn serve_credit(&mut self) {
        self.between_turns(|reactor| {
            reactor.reclaim();
            reactor.on_delivered();
        });
    }

    /// The time at which the next turn is due; to be called before the loop serves others.
    pub fn rest(&mut self) -> Due {
        self.wish_for_news();
        if self.is_behind() {
            return Due::Now;
        }
        self.deadline().map_or(Due::Never, Due::At)
    }

    /// Whether the loop should look again at once, instead of serving others and maybe sleeping.
    pub fn is_spinning(&mut self) -> bool {
        self.spinner.is_on() && self.spinner.spinning(Instant::now())
    }

    /// Makes one attempt to write the queued bytes, then closes every socket. The reactor is of no
    /// more use.
    pub fn close(&mut self) {
        self.close_all();
    }

    fn between_turns(&mut self, step: impl FnOnce(&mut Self)) {
        self.work.now = Instant::now();
        self.begin_reading();
        // The memory that was handed over is the caller's again when this returns.
        self.work.command_budget = usize::MAX;
        self.work.compression.begin_turn();
        step(self);
        self.on_deferred();
        self.end_turn();
    }
}
