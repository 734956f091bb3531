//! Whether to poll a little longer without blocking before the thread sleeps.
//!
//! With few connections, going to sleep and waking up costs more than the work. A short spin after
//! traffic avoids that, but it must not burn a core on an idle server, nor take the only core from
//! the JavaScript thread. With little to do, the spinning thread yields between two looks: a thread
//! that its own writes have woken can need this very core.

#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::time::{Duration, Instant};

/// How long a reply is worth waiting for: a handler's turn, a loopback round trip.
const WINDOW: Duration = Duration::from_micros(50);
/// After this many vain spins, the thread spins only on every `SKIP`th occasion.
const PATIENCE: u32 = 8;
const SKIP: u32 = 64;
/// Up to this many events are little work: their answers are waited for. With more, yielding costs
/// more than it brings.
const LITTLE: usize = 4;

/// CPUs that the process can use, affinity and cgroup quota included.
pub(in crate::reactor) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// How long to poll without blocking before the thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// Only if the process can use two CPUs or more, after recent traffic, and only while polling
    /// pays.
    Automatic,
    Never,
    /// As `Automatic`, with this bound in microseconds.
    Micros(u32),
}

/// Each thread that spins has its own.
pub struct Spinner {
    window: Duration,
    until: Option<Instant>,
    /// Spins in a row that ended in sleep.
    vain: u32,
    skipped: u32,
    /// The last turn had little to do.
    little: bool,
}

impl Spinner {
    /// Never spins on one CPU.
    pub fn new(spin: Spin) -> Self {
        let one_cpu = processors() < 2;
        let window = match spin {
            Spin::Never => Duration::ZERO,
            _ if one_cpu => Duration::ZERO,
            Spin::Automatic => WINDOW,
            Spin::Micros(micros) => Duration::from_micros(micros.into()),
        };
        Self { window, until: None, vain: 0, skipped: 0, little: false }
    }

    pub(super) fn worked(&mut self, now: Instant, things: usize) {
        self.little = things <= LITTLE;
        if self.window.is_zero() {
            return;
        }
        if self.until.is_some() {
            self.vain = 0;
        }
        if self.vain >= PATIENCE && self.skipped < SKIP {
            self.skipped += 1;
            self.until = None;
            return;
        }
        self.skipped = 0;
        self.until = Some(now + self.window);
    }

    pub(in crate::reactor) fn spinning(&mut self, now: Instant) -> bool {
        match self.until {
            Some(until) if now < until => true,
            Some(_) => {
                self.until = None;
                self.vain = self.vain.saturating_add(1);
                false
            }
            None => false,
        }
    }

    /// A consumer's turn had `things` events: looks for more, while that can pay. `begin` is
    /// called before the first look; if it returns false, there is none. Returns how long it has looked.
    pub fn look_for(
        &mut self,
        things: usize,
        begin: impl Fn() -> bool,
        found: impl Fn() -> bool,
    ) -> Duration {
        let now = Instant::now();
        self.worked(now, things);
        if !self.spinning(now) || !begin() {
            return Duration::ZERO;
        }
        while !found() && self.spinning(Instant::now()) {
            // The peer can need this CPU, or the reactor.
            std::thread::yield_now();
        }
        now.elapsed()
    }

    pub(super) fn yields(&self) -> bool {
        self.little && self.until.is_some()
    }

    /// Whether the clock must be asked at all.
    pub(in crate::reactor) fn is_on(&self) -> bool {
        !self.window.is_zero()
    }
}
