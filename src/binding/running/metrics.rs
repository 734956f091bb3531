//! The metrics of the reactors, as JavaScript sees them.

use std::sync::Arc;
use std::time::Duration;

use napi_derive::napi;

use crate::bridge::tally::{BUCKETS, Histogram, Tally};
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
    /// Pings that have come.
    pub pings_received: f64,
    /// Pongs that have come.
    pub pongs_received: f64,
    /// Messages that were given to be sent.
    pub messages_sent: f64,
    /// Connections that were ended because of `sendBudget`.
    pub over_budget: f64,
    /// Refused connections that were not given time to read why.
    pub cut_refusals: f64,
    /// Batches that JavaScript has taken.
    pub batches: f64,
    /// Records that JavaScript has dealt with.
    pub records: f64,
    /// Bytes of batches that JavaScript has yet to deal with.
    pub undelivered: f64,
    /// Times that batches wait from when they are handed over until they are taken.
    pub delay: HistogramCounts,
    /// Times that a reactor works between two waits.
    pub turn: HistogramCounts,
}

/// Numbers of occurrences by their duration.
#[napi(object)]
pub struct HistogramCounts {
    /// The first up to 1 us, each of the others up to twice as much, the last without end.
    pub buckets: Vec<f64>,
    /// Sum of all durations, in seconds.
    pub sum: f64,
}

/// The metrics of the reactors behind `links`. `delays`: of batches until they were taken.
pub(in crate::binding) fn metrics(links: &[Arc<Link>], delays: &Histogram) -> ReactorMetrics {
    let mut tally = Tally::default();
    links.iter().for_each(|link| link.totals.add_to(&mut tally));
    let delay = counts([delays]);
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
        batches: delay.buckets.iter().sum(),
        records: links.iter().map(|link| link.inbox.delivered() as f64).sum(),
        undelivered: links.iter().map(|link| link.inbox.weight() as f64).sum(),
        delay,
        turn: counts(links.iter().map(|link| &link.totals.turns)),
    }
}

fn counts<'a>(histograms: impl IntoIterator<Item = &'a Histogram>) -> HistogramCounts {
    let mut buckets = [0; BUCKETS];
    let sum: Duration = histograms.into_iter().map(|histogram| histogram.add_to(&mut buckets)).sum();
    HistogramCounts { buckets: buckets.iter().map(|&count| count as f64).collect(), sum: sum.as_secs_f64() }
}
