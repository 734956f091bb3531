//! The beginning of a turn: the time to sleep, and the looks before that.

pub(in crate::reactor) mod giving_way;
pub(in crate::reactor) mod idling;
pub(in crate::reactor) mod spin;

use std::io;
use std::time::{Duration, Instant};

use crate::reactor::Reactor;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::open::listen::Listener;
use crate::reactor::read::limits::Excess;

impl<C: Consumer> Reactor<C> {
    /// Waits for something to do, at most `timeout` (`None` = as long as it takes).
    pub(in crate::reactor) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = self.patience(timeout);
        // Announced before anything is looked at: a thread that queues a command after the look
        // sees the announcement.
        let sleeping = timeout != Some(Duration::ZERO);
        if sleeping {
            self.shared.outbox.sleep.prepare();
            self.wish_for_news();
        }
        let stays = self.shared.outbox.commands.is_empty() && !self.is_behind();
        let timeout = if stays { timeout } else { Some(Duration::ZERO) };
        let polled = self.poll.poll(&mut self.events, timeout);
        if !self.events.is_empty() {
            self.consumer.on_turn_begin();
        }
        if sleeping {
            self.shared.outbox.sleep.awake();
        }
        self.work.now = Instant::now();
        self.consumer.on_time(self.work.now);
        match polled {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            // Nothing is known of the sockets.
            Err(_) => self.events.clear(),
            Ok(()) => self.work.sweep.polled(self.events.iter().count()),
        }
        let idle = self.events.is_empty() && self.shared.outbox.commands.is_empty();
        if !idle {
            self.work.idling.disturb(self.work.now);
        }
        if !idle && self.spinner.is_on() {
            self.spinner.worked(self.work.now, self.events.iter().count());
        } else if idle && self.spinner.gives_way() {
            std::thread::yield_now();
        }
        self.reclaim();
        self.on_delivered();
        Ok(())
    }

    /// The longest time to sleep.
    fn patience(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        if self.is_behind() {
            return Some(Duration::ZERO);
        }
        // Not the time of the last turn: that turn, and the caller's work since, have taken
        // some.
        let now = Instant::now();
        if self.spinner.is_on() && self.spinner.spinning(now) {
            return Some(Duration::ZERO);
        }
        let deadline = self.deadline().map(|at| at.saturating_duration_since(now));
        [timeout, deadline].into_iter().flatten().min()
    }

    /// Whether the last turn has left something over.
    pub(in crate::reactor) fn is_behind(&self) -> bool {
        let work = &self.work;
        !work.ready.is_empty()
            || !self.asked.is_empty()
            || !work.unwritten.is_empty()
            || !work.remains.is_empty()
            || !work.expired.is_empty()
            || work.compression.is_waiting()
            || self.topics.is_waiting(work.now)
            || self.excess() == Excess::Own
    }

    /// The time at which work is due, sockets or not.
    pub(in crate::reactor) fn deadline(&self) -> Option<Instant> {
        let timers = self.work.timers.next();
        let listeners = self.listeners.values().filter_map(Listener::due).min();
        let work = &self.work;
        let others = [
            work.compression.release_at,
            work.idling.deadline(),
            work.paced.deadline(),
            work.retries.deadline(),
        ];
        [timers, listeners, self.topics.deadline()].into_iter().chain(others).flatten().min()
    }
}
