//! The loop over vectors, written once.
//!
//! ```text
//!   load the first vector and the last one, wherever they lie, and XOR them
//!   for each 4 vectors between the first vector boundary and the last: load, XOR, store
//!   for each vector that is left between them:                         load, XOR, store
//!   store the first vector and the last one
//! ```
//!
//! The first and the last vector overlap the loop's. They are loaded before it and stored after it,
//! so shared bytes are written twice with the same value, and none needs treatment by itself. The
//! loop keeps to vector boundaries because a store that straddles two cache lines costs two.

use super::{rotate, words};

pub(super) trait Vector: Copy {
    /// A power of two, at least 4.
    const BYTES: usize;

    /// A vector with `word` in each of its four-byte lanes.
    ///
    /// # Safety
    ///
    /// The processor must have the feature of the type.
    unsafe fn splat(word: u32) -> Self;

    /// `at` need not be aligned.
    ///
    /// # Safety
    ///
    /// The processor must have the feature of the type, and `at..at + BYTES` must be valid for
    /// reads.
    unsafe fn load(at: *const u8) -> Self;

    /// `at` need not be aligned.
    ///
    /// # Safety
    ///
    /// The processor must have the feature of the type, and `at..at + BYTES` must be valid for
    /// writes.
    unsafe fn store(self, at: *mut u8);

    /// # Safety
    ///
    /// The processor must have the feature of the type.
    unsafe fn xor(self, other: Self) -> Self;
}

/// XORs `bytes` with `key`, from its first byte on.
///
/// # Safety
///
/// The processor must have the feature of `V`.
#[inline(always)]
pub(super) unsafe fn unmask<V: Vector>(key: [u8; 4], bytes: &mut [u8]) {
    let Some(last) = bytes.len().checked_sub(V::BYTES) else { return words(key, bytes) };
    let start = bytes.as_mut_ptr();
    // Invariant: at + BYTES <= len at each load and store in the loops, because at <= last.
    let mut at = start.addr().wrapping_neg() % V::BYTES;
    let key_at = |at| u32::from_ne_bytes(rotate(key, at));

    // SAFETY: the caller vouches for the feature. `bytes` are borrowed exclusively, and each access
    // is to BYTES bytes at an offset of at most `last` = len - BYTES: 0, `last`, and `at` up to the
    // offset that each loop has checked.
    unsafe {
        let first_vector = V::load(start).xor(V::splat(key_at(0)));
        let last_vector = V::load(start.add(last)).xor(V::splat(key_at(last)));
        let key = V::splat(key_at(at));
        while at + 3 * V::BYTES <= last {
            for offset in [at, at + V::BYTES, at + 2 * V::BYTES, at + 3 * V::BYTES] {
                V::load(start.add(offset)).xor(key).store(start.add(offset));
            }
            at += 4 * V::BYTES;
        }
        while at <= last {
            V::load(start.add(at)).xor(key).store(start.add(at));
            at += V::BYTES;
        }
        first_vector.store(start);
        last_vector.store(start.add(last));
    }
}
