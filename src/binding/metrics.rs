use std::sync::Arc;

use napi_derive::napi;

use crate::bridge::tally::{BUCKETS, Histogram, MILLIONTHS, Meters, Pause, Tally};
use crate::engine::deflate::Budget;
use crate::reactor::Link;

use super::exchange::Exchange;

/// Sums of all reactors.
#[napi(object)]
pub struct ReactorMetrics {
    /// In the order of `TALLY` of layout.js.
    pub totals: Vec<f64>,
    /// Bytes of compression contexts of the process: outgoing, incoming, and the most there can be
    /// of each.
    pub contexts: Vec<f64>,
    /// Taken by JavaScript.
    pub batches: f64,
    /// Records that JavaScript has dealt with.
    pub records: f64,
    /// Bytes of batches that JavaScript has yet to deal with.
    pub undelivered: f64,
    pub delay: HistogramCounts,
    /// Between two waits.
    pub turn: HistogramCounts,
    pub handshake: HistogramCounts,
    pub round_trip: HistogramCounts,
    /// Connections that were not read: the program's wish, their rates, too much undelivered.
    pub pauses: Vec<HistogramCounts>,
    pub batch: HistogramCounts,
    pub ratio: HistogramCounts,
    /// If the event loop shares its reactor with a thread: 1 if that drives it now, how often it has
    /// begun to, nanoseconds of the loop and of the thread. Else empty.
    pub drive: Vec<f64>,
}

#[napi(object)]
pub struct HistogramCounts {
    /// As in [`Histogram`].
    pub buckets: Vec<f64>,
    /// In seconds, or as it is.
    pub sum: f64,
}

const NANOS: u64 = 1_000_000_000;

pub(super) fn metrics(links: &[Arc<Link>], exchange: &Exchange, drive: Option<[u64; 4]>) -> ReactorMetrics {
    let mut tally = Tally::default();
    links.iter().for_each(|link| link.totals.add_to(&mut tally));
    let of =
        |unit, pick: fn(&Meters) -> &Histogram| counts(links.iter().map(|link| pick(&link.meters)), unit);
    let batch = counts([&exchange.batches], 1);
    let budget = Budget::of_process();
    ReactorMetrics {
        totals: tally.numbers().into_iter().map(|number| number as f64).collect(),
        contexts: [budget.outgoing(), budget.incoming(), budget.limit()].map(|bytes| bytes as f64).to_vec(),
        batches: batch.buckets.iter().sum(),
        records: links.iter().map(|link| link.inbox.delivered() as f64).sum(),
        undelivered: links.iter().map(|link| link.inbox.weight() as f64).sum(),
        delay: counts([&exchange.delays], NANOS),
        turn: of(NANOS, |meters| &meters.turns),
        handshake: of(NANOS, |meters| &meters.handshakes),
        round_trip: of(NANOS, |meters| &meters.round_trips),
        pauses: vec![
            of(NANOS, |meters| meters.of(Pause::Program)),
            of(NANOS, |meters| meters.of(Pause::Rate)),
            of(NANOS, |meters| meters.of(Pause::Behind)),
        ],
        batch,
        ratio: of(MILLIONTHS, |meters| &meters.ratios),
        drive: drive.into_iter().flatten().map(|number| number as f64).collect(),
    }
}

/// `unit`: divisor from the sums to the reported unit, such as 10^9 for nanoseconds to seconds.
fn counts<'a>(histograms: impl IntoIterator<Item = &'a Histogram>, unit: u64) -> HistogramCounts {
    let mut buckets = [0; BUCKETS];
    let sum: f64 = histograms.into_iter().map(|histogram| histogram.add_to(&mut buckets) as f64).sum();
    HistogramCounts { buckets: buckets.iter().map(|&count| count as f64).collect(), sum: sum / unit as f64 }
}
