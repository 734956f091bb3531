//! Counts, and times from one event of a connection to another. A connection without such events
//! takes no memory here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::tally::{Meters, Pause, Tally};

/// Entries for which an empty table keeps its memory.
const KEPT: usize = 1024;

pub(super) struct Metrics {
    pub(super) tally: Tally,
    pub(super) meters: Arc<Meters>,
    /// Failed handshakes of TLS that the consumer was told of in this turn.
    pub(super) failures: u32,
    pings: HashMap<u32, Instant>,
    pauses: HashMap<u32, (Pause, Instant)>,
    /// Connections with bytes that the kernel does not take, as in the meters.
    full: HashMap<u32, ()>,
}

impl Metrics {
    pub(super) fn new(meters: Arc<Meters>) -> Self {
        Self {
            tally: Tally::default(),
            meters,
            failures: 0,
            pings: HashMap::new(),
            pauses: HashMap::new(),
            full: HashMap::new(),
        }
    }

    /// If an earlier ping has no answer, its time is measured.
    pub(super) fn pinged(&mut self, slot: u32) {
        self.pings.entry(slot).or_insert_with(Instant::now);
    }

    pub(super) fn ponged(&mut self, slot: u32) {
        if let Some(since) = take(&mut self.pings, slot) {
            self.meters.round_trips.record(since.elapsed());
        }
    }

    /// The first reason counts.
    pub(super) fn stopped(&mut self, slot: u32, why: Pause, now: Instant) {
        self.pauses.entry(slot).or_insert((why, now));
    }

    #[inline]
    pub(super) fn unpaused(&mut self, slot: u32, now: Instant) {
        if let Some((why, since)) = take(&mut self.pauses, slot) {
            self.meters.of(why).record(now.saturating_duration_since(since));
        }
    }

    pub(super) fn resumed(&mut self, slot: u32, now: Instant) {
        if matches!(self.pauses.get(&slot), Some((Pause::Program, _))) {
            self.unpaused(slot, now);
        }
    }

    /// `waiting`: bytes left after a write.
    #[inline]
    pub(super) fn written(&mut self, slot: u32, waiting: usize, now: Instant) {
        if waiting == 0 {
            self.took_all(slot);
        } else if self.full.insert(slot, ()).is_none() {
            self.meters.set_full(slot, Some(now));
        }
    }

    fn took_all(&mut self, slot: u32) {
        if take(&mut self.full, slot).is_some() {
            self.meters.set_full(slot, None);
        }
    }

    pub(super) fn forget(&mut self, slot: u32) {
        self.took_all(slot);
        take(&mut self.pings, slot);
        take(&mut self.pauses, slot);
    }
}

#[inline]
fn take<T>(table: &mut HashMap<u32, T>, slot: u32) -> Option<T> {
    if table.is_empty() {
        return None;
    }
    let taken = table.remove(&slot);
    if table.is_empty() {
        table.shrink_to(KEPT);
    }
    taken
}
