//! The metrics of the reactors, as JavaScript sees them.

use std::sync::Arc;

use napi_derive::napi;

use crate::binding::crossing::Crossing;
use crate::bridge::tally::{BUCKETS, Histogram, MILLIONTHS, Meters, Pause, Tally};
use crate::reactor::Link;

/// All reactors together; the names are those of `types/running.d.ts`.
#[napi(object)]
pub struct ReactorMetrics {
    /// Sockets that were accepted.
    pub accepted: f64,
    /// Answers of 400 and 431 to bytes that are no request.
    pub bad_requests: f64,
    /// Answers of 426.
    pub plain_requests: f64,
    /// Upgrade requests that a native check has refused.
    pub refused: f64,
    /// Answers of 408.
    pub timeouts: f64,
    /// Bytes that sockets have given.
    pub bytes_received: f64,
    /// Bytes that sockets have taken.
    pub bytes_sent: f64,
    /// Messages that have come.
    pub messages_received: f64,
    /// Those of them that are text.
    pub texts_received: f64,
    /// Pings that have come.
    pub pings_received: f64,
    /// Pongs that have come.
    pub pongs_received: f64,
    /// Messages that were given to be sent.
    pub messages_sent: f64,
    /// Those of them that are text.
    pub texts_sent: f64,
    /// Messages of topics that slow members did not get.
    pub dropped: f64,
    /// Bytes that were compressed to be sent.
    pub compressed_from: f64,
    /// Bytes that became of them.
    pub compressed_to: f64,
    /// Connections that were ended because of `sendBudget`.
    pub over_budget: f64,
    /// Refused connections that were not given time to read why.
    pub cut_refusals: f64,
    /// How often something came that may have been ahead of bytes which had come before it.
    pub unsettled: f64,
    /// Batches that JavaScript has taken.
    pub batches: f64,
    /// Records that JavaScript has dealt with.
    pub records: f64,
    /// Bytes of batches that JavaScript has yet to deal with.
    pub undelivered: f64,
    /// From the report of the system until a batch is taken.
    pub delay: HistogramCounts,
    /// Times that a reactor works between two waits.
    pub turn: HistogramCounts,
    /// From accepting a socket until its upgrade is accepted.
    pub handshake: HistogramCounts,
    /// From a ping until its pong.
    pub round_trip: HistogramCounts,
    /// Time that connections were not read: the program's wish, their rates, too much undelivered.
    pub pauses: Vec<HistogramCounts>,
    /// Records of a batch.
    pub batch: HistogramCounts,
    /// Bytes of a compressed message by those before.
    pub ratio: HistogramCounts,
}

/// How often something took how long, or was how large.
#[napi(object)]
pub struct HistogramCounts {
    /// The first up to 1 us, a count of 1, or a ratio of 1 / 1024; each of the others up to twice
    /// as much, the last without end.
    pub buckets: Vec<f64>,
    /// Seconds, or as it is.
    pub sum: f64,
}

/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;

/// The metrics of the reactors behind `links`, and of the batches that were taken of them.
pub(in crate::binding) fn metrics(links: &[Arc<Link>], crossing: &Crossing) -> ReactorMetrics {
    let mut tally = Tally::default();
    links.iter().for_each(|link| link.totals.add_to(&mut tally));
    let of =
        |unit, pick: fn(&Meters) -> &Histogram| counts(links.iter().map(|link| pick(&link.meters)), unit);
    let batch = counts([&crossing.batches], 1);
    ReactorMetrics {
        accepted: tally.accepted as f64,
        bad_requests: tally.bad_requests as f64,
        plain_requests: tally.plain_requests as f64,
        refused: tally.refused as f64,
        timeouts: tally.timeouts as f64,
        bytes_received: tally.bytes_received as f64,
        bytes_sent: tally.bytes_sent as f64,
        messages_received: tally.messages_received as f64,
        pings_received: tally.pings_received as f64,
        pongs_received: tally.pongs_received as f64,
        messages_sent: tally.messages_sent as f64,
        over_budget: tally.over_budget as f64,
        cut_refusals: tally.cut_refusals as f64,
        texts_received: tally.texts_received as f64,
        texts_sent: tally.texts_sent as f64,
        dropped: tally.dropped as f64,
        compressed_from: tally.compressed_from as f64,
        compressed_to: tally.compressed_to as f64,
        unsettled: crossing.unsettled as f64,
        batches: batch.buckets.iter().sum(),
        records: links.iter().map(|link| link.inbox.delivered() as f64).sum(),
        undelivered: links.iter().map(|link| link.inbox.weight() as f64).sum(),
        delay: counts([&crossing.delays], NANOS),
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
    }
}

/// `unit`: as many of what the sums are in are 1.
fn counts<'a>(histograms: impl IntoIterator<Item = &'a Histogram>, unit: u64) -> HistogramCounts {
    let mut buckets = [0; BUCKETS];
    let sum: f64 = histograms.into_iter().map(|histogram| histogram.add_to(&mut buckets) as f64).sum();
    HistogramCounts { buckets: buckets.iter().map(|&count| count as f64).collect(), sum: sum / unit as f64 }
}
