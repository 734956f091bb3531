//! Whether to poll a little longer without blocking before the thread sleeps.
//!
//! With few connections the way into sleep and back costs more than the work. A short spin after traffic spares it, but
//! it must not burn a core on an idle server, nor take the core from the JS thread when both share one.

use std::num::NonZero;
use std::time::{Duration, Instant};

use super::config::Spin;

/// How long a reply that is worth waiting for takes to come: a handler's turn, a loopback round trip.
const WINDOW: Duration = Duration::from_micros(50);
/// After so many spins in vain, spin only on every `SKIP`th occasion.
const PATIENCE: u32 = 8;
const SKIP: u32 = 64;

/// CPUs that the process may use, affinity and cgroup quota included.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

pub(super) struct Spinner {
    window: Duration,
    until: Option<Instant>,
    /// Spins in a row that ended in sleep all the same.
    vain: u32,
    /// Occasions let pass since the last spin.
    skipped: u32,
}

impl Spinner {
    pub(super) fn new(spin: Spin) -> Self {
        let one_cpu = processors() < 2;
        let window = match spin {
            Spin::Never => Duration::ZERO,
            _ if one_cpu => Duration::ZERO,
            Spin::Automatic => WINDOW,
            Spin::Micros(micros) => Duration::from_micros(micros.into()),
        };
        Self { window, until: None, vain: 0, skipped: 0 }
    }

    /// A turn had work.
    pub(super) fn worked(&mut self, now: Instant) {
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

    /// Whether the next poll should not block.
    pub(super) fn spinning(&mut self, now: Instant) -> bool {
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

    /// Whether the clock must be asked at all.
    pub(super) fn is_on(&self) -> bool {
        !self.window.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spinner() -> Spinner {
        Spinner { window: Duration::from_micros(50), until: None, vain: 0, skipped: 0 }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn spins_after_work_and_stops_in_time() {
        let t0 = Instant::now();
        let mut spinner = spinner();
        assert!(!spinner.spinning(t0));
        spinner.worked(t0);
        assert!(spinner.spinning(t0 + Duration::from_micros(49)));
        assert!(!spinner.spinning(t0 + Duration::from_micros(50)));
        assert!(!spinner.spinning(t0 + Duration::from_micros(51)));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
    fn spins_in_vain_become_rare() {
        let mut now = Instant::now();
        let mut spinner = spinner();
        let mut spins = 0;
        for _ in 0..1000 {
            spinner.worked(now);
            spins += u32::from(spinner.spinning(now));
            now += Duration::from_millis(1);
            spinner.spinning(now);
        }
        assert!(spins < 8 + 1000 / 64 + 2, "{spins}");
    }
}
