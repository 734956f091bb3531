//! Counts of a reactor's work, which only grow: it writes them once a turn, and any thread reads
//! them.

// Not through `sync`: there is one writer, and no number depends on another.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Declares the numbers once, both as the reactor counts them and as others read them.
macro_rules! tally {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The numbers of one reactor.
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
        pub struct Tally {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        /// The published numbers of a reactor, and the times of its turns.
        #[derive(Debug, Default)]
        pub struct Totals {
            $($name: AtomicU64,)*
            /// Times that the reactor works between two waits.
            pub turns: Histogram,
        }

        impl Totals {
            /// Reactor: publishes its counts, and the time of the last turn.
            pub fn publish(&self, tally: &Tally, turn: Duration) {
                self.turns.record(turn);
                $(self.$name.store(tally.$name, Ordering::Relaxed);)*
            }

            /// Any thread: adds the numbers to those of other reactors.
            pub fn add_to(&self, sum: &mut Tally) {
                $(sum.$name += self.$name.load(Ordering::Relaxed);)*
            }
        }
    };
}

tally! {
    /// Sockets that were accepted.
    accepted,
    /// Requests that are not HTTP, or too long.
    bad_requests,
    /// Requests that ask for no upgrade.
    plain_requests,
    /// Upgrade requests that a native check has refused.
    refused,
    /// Requests that were not complete in time.
    timeouts,
    /// Bytes that sockets have given.
    bytes_received,
    /// Bytes that sockets have taken.
    bytes_sent,
    /// Messages that have come.
    messages_received,
    /// Pings that have come.
    pings_received,
    /// Pongs that have come.
    pongs_received,
    /// Messages, or fragments of them, that were given to be sent.
    messages_sent,
    /// Connections that were ended because too many bytes waited to be sent to all.
    over_budget,
    /// Refused connections that were given no time to read why.
    cut_refusals,
}

impl Tally {
    /// Messages, pings and pongs that have come.
    pub fn frames_received(&self) -> u64 {
        self.messages_received + self.pings_received + self.pongs_received
    }
}

/// Buckets of a [`Histogram`].
pub const BUCKETS: usize = 25;

/// Numbers of occurrences by their duration. One thread writes it.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The first up to 1 us, each of the others up to twice as much, the last without end.
    buckets: [AtomicU64; BUCKETS],
    nanos: AtomicU64,
}

impl Histogram {
    /// Counts one more occurrence that took this long.
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // In microseconds, rounded up; the next power of two is that of the bucket.
        let micros = nanos.div_ceil(1000).max(1);
        let bucket = micros.next_power_of_two().trailing_zeros() as usize;
        if let Some(bucket) = self.buckets.get(bucket.min(BUCKETS - 1)) {
            add(bucket, 1);
        }
        add(&self.nanos, nanos);
    }

    /// Any thread: adds the numbers to those of other histograms. Returns the sum of the times.
    pub fn add_to(&self, buckets: &mut [u64; BUCKETS]) -> Duration {
        for (sum, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *sum += bucket.load(Ordering::Relaxed);
        }
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// There is one writer: no exchange is needed.
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_reach_up_to_powers_of_two() {
        for (nanos, bucket) in [
            (0, 0),
            (1, 0),
            (1000, 0),
            (1001, 1),
            (2000, 1),
            (2001, 2),
            (4000, 2),
            (1_000_000, 10),
            (u64::MAX, 24),
        ] {
            let histogram = Histogram::default();
            histogram.record(Duration::from_nanos(nanos));
            let mut buckets = [0; BUCKETS];
            assert_eq!(histogram.add_to(&mut buckets), Duration::from_nanos(nanos));
            assert_eq!(buckets.iter().position(|&count| count == 1), Some(bucket), "{nanos}");
        }
    }

    #[test]
    fn totals_of_several_reactors_add_up() {
        let turn = Duration::ZERO;
        let (one, other) = (Totals::default(), Totals::default());
        one.publish(&Tally { accepted: 1, ..Tally::default() }, turn);
        one.publish(&Tally { accepted: 2, bytes_sent: 5, ..Tally::default() }, turn);
        other.publish(&Tally { accepted: 3, ..Tally::default() }, turn);
        let mut sum = Tally::default();
        one.add_to(&mut sum);
        other.add_to(&mut sum);
        assert_eq!(sum, Tally { accepted: 5, bytes_sent: 5, ..Tally::default() });
    }
}
