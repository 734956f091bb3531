//! Bytes of each connection that the kernel took and gave, for `bufferedAmount` and the counters of
//! a socket. Nothing is freed or moved before the end, so readers need no lock.

use std::iter;
// Not through `sync`: only `read` is left to explore, which argues for itself, and loom has no
// `OnceLock`.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{ADOPTED_SLOTS, PIPE_SLOTS};

const SEGMENT_SLOTS: u32 = 1024;
const SEGMENTS: u32 = 4096;

/// Slots that a reactor can use, counted from 0, from [`ADOPTED_SLOTS`] and from [`PIPE_SLOTS`].
pub const MAX_SLOTS: u32 = SEGMENT_SLOTS * SEGMENTS;

/// One gauge per slot, in segments that are allocated when their first slot opens: 32 KiB for 1024
/// slots.
pub struct Gauges {
    /// The gauges of the reactor's own slots, then of adopted sockets, then of streams.
    segments: Box<[OnceLock<Box<[Gauge]>>]>,
}

#[derive(Default)]
struct Gauge {
    /// 1 + generation of the connection, 0 for none.
    owner: AtomicU64,
    written: AtomicU64,
    read: AtomicU64,
    /// `written`, minus all bytes that topics gave the connection: negative while such bytes wait. In
    /// two's complement.
    settled: AtomicU64,
}

impl Gauges {
    /// Takes 192 KiB.
    pub fn new() -> Self {
        Self { segments: iter::repeat_with(OnceLock::new).take(3 * SEGMENTS as usize).collect() }
    }

    /// Called by the thread that numbers the slot, the reactor's or JavaScript's, before any other can
    /// know the connection: there is one writer at any time.
    pub fn open(&self, slot: u32, generation: u32) {
        let Some((segment, index)) = place(slot) else { return };
        let Some(segment) = self.segments.get(segment) else { return };
        let segment =
            segment.get_or_init(|| iter::repeat_with(Gauge::default).take(SEGMENT_SLOTS as usize).collect());
        let Some(gauge) = segment.get(index) else { return };
        gauge.owner.store(0, Ordering::Relaxed);
        // Release: a thread that reads these numbers, or later ones, finds the old owner gone.
        gauge.read.store(0, Ordering::Release);
        gauge.written.store(0, Ordering::Release);
        gauge.settled.store(0, Ordering::Release);
        // Release: a thread that reads this owner does not find the old number.
        gauge.owner.store(u64::from(generation) + 1, Ordering::Release);
    }

    /// Reactor: bytes that the kernel took since the connection opened.
    pub fn set_written(&self, slot: u32, n: u64) {
        if let Some(gauge) = self.gauge(slot) {
            // One writer, so no exchange is needed.
            let more = n.wrapping_sub(gauge.written.load(Ordering::Relaxed));
            gauge.written.store(n, Ordering::Release);
            gauge.settled.store(gauge.settled.load(Ordering::Relaxed).wrapping_add(more), Ordering::Release);
        }
    }

    pub fn add_published(&self, slot: u32, n: u64) {
        if let Some(gauge) = self.gauge(slot) {
            gauge.settled.store(gauge.settled.load(Ordering::Relaxed).wrapping_sub(n), Ordering::Release);
        }
    }

    /// Reactor: bytes that the kernel gave since the connection opened.
    pub fn set_read(&self, slot: u32, n: u64) {
        if let Some(gauge) = self.gauge(slot) {
            gauge.read.store(n, Ordering::Release);
        }
    }

    /// Bytes that the kernel took, minus bytes that topics gave; `None` as from
    /// [`written`](Self::written).
    pub fn settled(&self, slot: u32, generation: u32) -> Option<i64> {
        self.read_one(slot, generation, |gauge| &gauge.settled).map(u64::cast_signed)
    }

    /// Bytes that the kernel took, or `None` if the slot is not this connection's.
    pub fn written(&self, slot: u32, generation: u32) -> Option<u64> {
        self.read_one(slot, generation, |gauge| &gauge.written)
    }

    /// Bytes that the kernel gave; `None` as from `written`.
    pub fn bytes_read(&self, slot: u32, generation: u32) -> Option<u64> {
        self.read_one(slot, generation, |gauge| &gauge.read)
    }

    fn read_one(&self, slot: u32, generation: u32, field: fn(&Gauge) -> &AtomicU64) -> Option<u64> {
        let gauge = self.gauge(slot)?;
        let owner = u64::from(generation) + 1;
        if gauge.owner.load(Ordering::Acquire) != owner {
            return None;
        }
        let bytes = field(gauge).load(Ordering::Acquire);
        // If the number was written for a successor, acquiring it shows the new owner.
        (gauge.owner.load(Ordering::Relaxed) == owner).then_some(bytes)
    }

    fn gauge(&self, slot: u32) -> Option<&Gauge> {
        let (segment, index) = place(slot)?;
        self.segments.get(segment)?.get()?.get(index)
    }
}

fn place(slot: u32) -> Option<(usize, usize)> {
    let (first, slot) = match slot {
        ..ADOPTED_SLOTS => (0, slot),
        ADOPTED_SLOTS..PIPE_SLOTS => (SEGMENTS, slot - ADOPTED_SLOTS),
        PIPE_SLOTS.. => (2 * SEGMENTS, slot - PIPE_SLOTS),
    };
    let place = ((first + slot / SEGMENT_SLOTS) as usize, (slot % SEGMENT_SLOTS) as usize);
    (slot < MAX_SLOTS).then_some(place)
}
