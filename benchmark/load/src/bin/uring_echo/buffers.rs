//! The memory that the kernel receives into: it takes a buffer when bytes are
//! there, not when they are asked for.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use wire::answer::HEADROOM;

/// The buffer group that the receive requests name.
pub(crate) const GROUP: u16 = 0;
/// A power of two: as many as the completions that the kernel makes in one go, about 20, and
/// those of the turn before need. With 32 some receives found none; more do not stay in the
/// cache until they come round again.
pub(crate) const BUFFERS: u16 = 64;
/// Bytes read at once: a message of 16 KiB, and most of the bytes that follow it.
const INPUT: usize = 32 << 10;
/// From one buffer to the next: `HEADROOM`, in a cache line of its own.
const STRIDE: usize = 64 + INPUT;

/// A page, as the kernel wants it, and large enough for `BUFFERS` entries of 16 bytes.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// The buffers, and the ring of those that the kernel may take.
pub(crate) struct Buffers {
    ring: *mut BufRingEntry,
    memory: *mut u8,
    tail: u16,
}

impl Buffers {
    /// Makes the buffers and gives them all to the kernel.
    pub(crate) fn new(submitter: &Submitter<'_>) -> io::Result<Self> {
        // Both live as long as the process, so that the kernel never has memory that is gone.
        let page: &'static mut Page = Box::leak(Box::new(Page([0; 4096])));
        let memory: &'static mut [u8] = vec![0; STRIDE * usize::from(BUFFERS)].leak();
        let ring = page.0.as_mut_ptr().cast();
        // SAFETY: the ring is a page of zeros, which never goes away and holds `BUFFERS` entries.
        unsafe { submitter.register_buf_ring_with_flags(ring as u64, BUFFERS, GROUP, 0)? };
        let mut buffers = Self { ring, memory: memory.as_mut_ptr(), tail: 0 };
        buffers.give_back(0..BUFFERS);
        Ok(buffers)
    }

    /// The first `length` bytes of a buffer that the kernel has filled, behind `HEADROOM`.
    pub(crate) fn input(&mut self, buffer: u16, length: usize) -> &mut [u8] {
        assert!(buffer < BUFFERS && length <= INPUT, "the kernel filled a buffer that it was not given");
        // SAFETY: within `memory`, see `start`; the kernel has handed the buffer
        // back and gets it again by `give_back` only, and no other code has a
        // reference to it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start(buffer).sub(HEADROOM), HEADROOM + length) }
    }

    /// Lets the kernel fill these buffers again.
    pub(crate) fn give_back(&mut self, buffers: impl IntoIterator<Item = u16>) {
        for buffer in buffers {
            let at = usize::from(self.tail % BUFFERS);
            // SAFETY: an entry of the page, which is 4096 bytes long and initialised. The kernel
            // does not look at it before the tail says that it may. The entry's last field, which
            // in the first one is the tail, stays.
            let entry = unsafe { &mut *self.ring.add(at) };
            entry.set_addr(self.start(buffer) as u64);
            entry.set_len(INPUT as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the tail is a field of the first entry, and aligned; kernel
        // and process only use it atomically.
        unsafe {
            AtomicU16::from_ptr(BufRingEntry::tail(self.ring).cast_mut()).store(self.tail, Ordering::Release)
        };
    }

    fn start(&self, buffer: u16) -> *mut u8 {
        // SAFETY: `memory` has `BUFFERS` times `STRIDE` bytes, and every
        // caller has a number below `BUFFERS`.
        unsafe { self.memory.add(usize::from(buffer) * STRIDE + STRIDE - INPUT) }
    }
}
