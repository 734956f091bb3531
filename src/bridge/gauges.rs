//! How many bytes of each connection the kernel took: written by the reactor, read by JavaScript for `bufferedAmount`.
//!
//! Nothing here is freed or moved before the end, so a reader needs no lock; what it reads may be a moment old.

use std::iter;
// Not through `sync`: one writer and a value that only grows leave nothing for a model to explore but `read`, which
// argues for itself, and loom has no `OnceLock`.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const SEGMENT_SLOTS: u32 = 1024;
const SEGMENTS: u32 = 4096;

/// Slots that have a gauge. A reactor must not use a higher slot.
pub const MAX_SLOTS: u32 = SEGMENT_SLOTS * SEGMENTS;

/// One gauge per slot, in segments that are allocated when the first of their slots opens: 16 KiB for 1024 slots.
pub struct Gauges {
    segments: Box<[OnceLock<Box<[Gauge]>>]>,
}

#[derive(Default)]
struct Gauge {
    /// 1 + generation of the connection that the slot belongs to, 0 for nobody.
    owner: AtomicU64,
    taken: AtomicU64,
}

impl Gauges {
    /// No slot is open; takes 64 KiB.
    pub fn new() -> Self {
        Self { segments: iter::repeat_with(OnceLock::new).take(SEGMENTS as usize).collect() }
    }

    /// Reactor: the slot belongs to a new connection, which begins at zero bytes. Does nothing from [`MAX_SLOTS`] on.
    pub fn open(&self, slot: u32, generation: u32) {
        let Some(segment) = self.segments.get((slot / SEGMENT_SLOTS) as usize) else { return };
        let segment =
            segment.get_or_init(|| iter::repeat_with(Gauge::default).take(SEGMENT_SLOTS as usize).collect());
        let Some(gauge) = segment.get((slot % SEGMENT_SLOTS) as usize) else { return };
        gauge.owner.store(0, Ordering::Relaxed);
        // Release: who reads this number, or a later one, finds that the old owner has gone.
        gauge.taken.store(0, Ordering::Release);
        // Release: who reads this owner does not find the old number.
        gauge.owner.store(u64::from(generation) + 1, Ordering::Release);
    }

    /// Reactor: the kernel took `n` more bytes of the connection in this slot.
    pub fn add(&self, slot: u32, n: u64) {
        if let Some(gauge) = self.gauge(slot) {
            // One writer: no exchange is needed.
            let taken = gauge.taken.load(Ordering::Relaxed).wrapping_add(n);
            gauge.taken.store(taken, Ordering::Release);
        }
    }

    /// Reactor: the kernel took `n` bytes of the connection in this slot since it opened.
    pub fn set(&self, slot: u32, n: u64) {
        if let Some(gauge) = self.gauge(slot) {
            gauge.taken.store(n, Ordering::Release);
        }
    }

    /// Any thread: bytes that the kernel took of this connection, or `None` if the slot is not (or no longer) its own.
    pub fn read(&self, slot: u32, generation: u32) -> Option<u64> {
        let gauge = self.gauge(slot)?;
        let owner = u64::from(generation) + 1;
        if gauge.owner.load(Ordering::Acquire) != owner {
            return None;
        }
        let taken = gauge.taken.load(Ordering::Acquire);
        // Had `taken` been written for a successor, acquiring it would show that the owner changed.
        (gauge.owner.load(Ordering::Relaxed) == owner).then_some(taken)
    }

    fn gauge(&self, slot: u32) -> Option<&Gauge> {
        self.segments.get((slot / SEGMENT_SLOTS) as usize)?.get()?.get((slot % SEGMENT_SLOTS) as usize)
    }
}
