//! The loop over vectors, written once.
//!
//! ```text
//!   unmask the bytes before the first vector boundary with `words`; rotate the key by their number
//!   for each 4 vectors: load, xor, store
//!   for each vector:    load, xor, store
//!   unmask the bytes after the last vector with `words`
//! ```
//!
//! A vector holds a multiple of four bytes, so the key has the same phase in each.

use super::words;

/// A vector register.
pub(super) trait Vector: Copy {
    /// How many bytes it holds: a power of two, at least 4.
    const BYTES: usize;

    /// A vector with `word` in each of its four-byte lanes.
    ///
    /// # Safety
    ///
    /// The processor must have the feature that the type stands for.
    unsafe fn splat(word: u32) -> Self;

    /// XORs the `BYTES` bytes at `at`, which need not be aligned, with `self`.
    ///
    /// # Safety
    ///
    /// The processor must have the feature that the type stands for, and `at..at + BYTES` must be valid for reads and
    /// writes.
    unsafe fn xor_at(self, at: *mut u8);
}

/// XORs `bytes` with `key`, whose first byte belongs to the first of them.
///
/// # Safety
///
/// The processor must have the feature that `V` stands for.
#[inline(always)]
pub(super) unsafe fn unmask<V: Vector>(key: [u8; 4], bytes: &mut [u8]) {
    // Stores that straddle cache lines cost half of the speed.
    let ahead = bytes.as_ptr().addr().wrapping_neg() % V::BYTES;
    let (head, bytes) = bytes.split_at_mut(ahead.min(bytes.len()));
    words(key, head);
    let mut key = key;
    key.rotate_left(head.len() % 4);

    // SAFETY: the caller vouches for the feature.
    let vector = unsafe { V::splat(u32::from_ne_bytes(key)) };
    let mut quads = bytes.chunks_exact_mut(4 * V::BYTES);
    for quad in &mut quads {
        let at = quad.as_mut_ptr();
        // SAFETY: the caller vouches for the feature; `quad` is 4 * BYTES long and borrowed exclusively.
        unsafe {
            vector.xor_at(at);
            vector.xor_at(at.add(V::BYTES));
            vector.xor_at(at.add(2 * V::BYTES));
            vector.xor_at(at.add(3 * V::BYTES));
        }
    }
    let mut singles = quads.into_remainder().chunks_exact_mut(V::BYTES);
    for single in &mut singles {
        // SAFETY: the caller vouches for the feature; `single` is BYTES long and borrowed exclusively.
        unsafe { vector.xor_at(single.as_mut_ptr()) };
    }
    words(key, singles.into_remainder());
}
