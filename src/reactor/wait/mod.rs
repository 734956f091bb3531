//! The beginning of a turn: how long to sleep, and the looks before that.

pub(super) mod balance;
pub(super) mod spin;

use std::io;
use std::time::{Duration, Instant};

use crate::reactor::{Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // Not the time of the last turn: that turn, and the caller's work since, have taken a while.
        let now = Instant::now();
        let looks = self.is_behind() || (self.spinner.is_on() && self.spinner.spinning(now));
        let rest = if looks {
            Some(Duration::ZERO)
        } else {
            self.deadline().map(|at| at.saturating_duration_since(now))
        };
        let timeout = [timeout, rest].into_iter().flatten().min();
        // Announced before any look: a thread that queues a command after the look sees the
        // announcement.
        let sleeping = timeout != Some(Duration::ZERO);
        if sleeping {
            self.handle.outbox().sleep.prepare();
            self.request_wake();
        }
        let stays = self.handle.outbox().is_empty() && !self.is_behind();
        let timeout = if stays { timeout } else { Some(Duration::ZERO) };
        let polled = self.poll.as_mut().map_or(Ok(()), |poll| poll.poll(&mut self.events, timeout));
        self.timers.begin_turn();
        self.consumer.on_turn_begin(self.timers.now());
        if sleeping {
            self.handle.outbox().sleep.awake();
        }
        match polled {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            // Nothing is known of the sockets.
            Err(_) => self.events.clear(),
            Ok(()) => self.reader.polled(self.events.iter().count()),
        }
        let idle = self.events.is_empty() && self.handle.outbox().is_empty();
        self.last_wait = (idle && stays, self.timers.now().saturating_duration_since(now));
        if !idle {
            self.idling.disturb(self.timers.now());
        }
        if !idle && self.spinner.is_on() {
            self.spinner.worked(self.timers.now(), self.events.iter().count());
        } else if idle && self.spinner.yields() {
            std::thread::yield_now();
        }
        self.reclaim();
        Ok(())
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.reader.is_idle()
            || !self.commands.is_empty()
            || self.writer.is_behind()
            || self.timers.is_behind()
            || self.topics.is_waiting(self.timers.now())
            || self.reader.has_excess(self.timers.now(), |new| self.shard.unfinished(new))
    }

    /// When work is due, sockets or not.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let times = [
            self.timers.next(),
            self.listeners.deadline(),
            self.topics.deadline(),
            self.writer.deadline(),
            self.idling.deadline(),
            self.reader.deadline(),
        ];
        times.into_iter().flatten().min()
    }
}
