//! Numbers of a reactor's work, written once a turn and read by any thread. Names that end in
//! `_bytes` or `_budget` are current values; the others only grow.

// Not through `sync`: there is one writer, and no number depends on another.
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

macro_rules! tally {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
        pub struct Tally {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub struct Totals {
            $($name: AtomicU64,)*
        }

        impl Tally {
            #[cfg(all(test, not(loom)))]
            pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

            pub fn numbers(&self) -> Vec<u64> {
                vec![$(self.$name),*]
            }
        }

        impl Totals {
            pub fn publish(&self, tally: &Tally) {
                $(self.$name.store(tally.$name, Ordering::Relaxed);)*
            }

            pub fn add_to(&self, sum: &mut Tally) {
                $(sum.$name += self.$name.load(Ordering::Relaxed);)*
            }
        }
    };
}

tally! {
    accepted,
    /// Requests that are not HTTP, or too long.
    bad_requests,
    plain_requests,
    /// Connections that the program's HTTP server got.
    handed_off,
    /// Upgrade requests that a native check refused.
    refused,
    /// Responses to requests.
    timeouts,
    bytes_received,
    bytes_sent,
    messages_received,
    texts_received,
    pings_received,
    pongs_received,
    /// Messages, or fragments of them, given to be sent.
    messages_sent,
    texts_sent,
    /// Messages of topics that slow members did not get.
    dropped,
    compressed_from,
    compressed_to,
    /// Connections ended by `sendBudget`.
    over_budget,
    /// Refused connections that got no time to read why.
    cut_refusals,
    /// TLS handshakes that succeeded, and how many of them resumed an earlier session.
    tls_handshakes,
    tls_reused,
    /// Handshakes that failed: no version, suite, group, signature or protocol in common.
    tls_unshared,
    /// The client's certificate is not good, or was not sent.
    tls_bad_certificates,
    /// The client sent an alert.
    tls_alerts,
    /// It speaks HTTP without TLS.
    tls_plain_http,
    tls_timeouts,
    /// It has left.
    tls_gone,
    /// The program refused it.
    tls_refused,
    /// The peer sent no TLS, or broke its rules.
    tls_malformed,
    /// How many of these the program listened for and was not told about: there were too many.
    tls_unreported,
    unfinished_bytes,
    history_bytes,
    history_budget,
}

impl Tally {
    pub fn frames_received(&self) -> u64 {
        self.messages_received + self.pings_received + self.pongs_received
    }
}

/// Entries for which an empty table keeps its memory.
const KEPT: usize = 1024;

/// Written when something happens, read by any thread.
#[derive(Debug, Default)]
pub struct Meters {
    /// Work between two waits.
    pub turns: Histogram,
    /// From accepting a socket until its upgrade is accepted.
    pub handshakes: Histogram,
    /// From a ping until its pong.
    pub round_trips: Histogram,
    /// Connections that were not read, by [`Pause`].
    pub pauses: [Histogram; 3],
    /// Bytes of a compressed message by its bytes before.
    pub ratios: Histogram,
    /// By slot: since when bytes wait that the kernel does not take.
    full: Mutex<HashMap<u32, Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// The consumer wants nothing.
    Program,
    /// The peer has used up its rate for now.
    Rate,
    /// The consumer has not taken what came.
    Behind,
}

impl Meters {
    /// Reactor; `None` when no bytes wait any more.
    pub fn set_full(&self, slot: u32, since: Option<Instant>) {
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        match since {
            Some(since) => full.insert(slot, since),
            None => full.remove(&slot),
        };
        if full.is_empty() {
            full.shrink_to(KEPT);
        }
    }

    pub fn full_for(&self, slot: u32) -> Duration {
        let full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        full.get(&slot).map_or(Duration::ZERO, Instant::elapsed)
    }

    pub fn of(&self, pause: Pause) -> &Histogram {
        let [program, rate, behind] = &self.pauses;
        match pause {
            Pause::Program => program,
            Pause::Rate => rate,
            Pause::Behind => behind,
        }
    }
}

pub const BUCKETS: usize = 25;

/// Parts of the whole in the first bucket of a ratio.
const PARTS: u64 = 1024;
pub const MILLIONTHS: u64 = 1_000_000;

/// Durations or sizes by magnitude. One thread writes it.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The first bucket ends at 1 us, a count of 1, or a ratio of 1 / 1024; each other one at twice
    /// as much, the last nowhere.
    buckets: [AtomicU64; BUCKETS],
    /// In nanoseconds, as it is, or in millionths.
    sum: AtomicU64,
}

impl Histogram {
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.add(nanos.div_ceil(1000), nanos);
    }

    pub fn record_count(&self, count: u64) {
        self.add(count, count);
    }

    pub fn record_ratio(&self, part: u64, whole: u64) {
        let of = |unit: u64| part.saturating_mul(unit).div_ceil(whole.max(1));
        self.add(of(PARTS), of(MILLIONTHS));
    }

    /// `size` in units of the first bucket's bound.
    fn add(&self, size: u64, amount: u64) {
        // The next power of two bounds the bucket.
        let bucket =
            size.checked_next_power_of_two().map_or(BUCKETS, |bound| bound.trailing_zeros() as usize);
        if let Some(bucket) = self.buckets.get(bucket.min(BUCKETS - 1)) {
            add(bucket, 1);
        }
        add(&self.sum, amount);
    }

    /// Any thread. Returns the sum.
    pub fn add_to(&self, buckets: &mut [u64; BUCKETS]) -> u64 {
        for (sum, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *sum += bucket.load(Ordering::Relaxed);
        }
        self.sum.load(Ordering::Relaxed)
    }
}

/// One writer, so no exchange is needed.
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
