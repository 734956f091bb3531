//! Vectors of 64-bit ARM: NEON, which is part of the architecture.

use std::arch::aarch64::{uint8x16_t, vdupq_n_u32, veorq_u8, vld1q_u8, vreinterpretq_u8_u32, vst1q_u8};

use super::generic::{Vector, unmask};

/// XORs `bytes` with `key`, 16 at a time.
pub(super) fn neon(key: [u8; 4], bytes: &mut [u8]) {
    // SAFETY: every 64-bit ARM processor has NEON.
    unsafe { unmask::<uint8x16_t>(key, bytes) }
}

impl Vector for uint8x16_t {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller vouches for NEON.
        unsafe { vreinterpretq_u8_u32(vdupq_n_u32(word)) }
    }

    #[inline(always)]
    unsafe fn load(at: *const u8) -> Self {
        // SAFETY: the caller vouches for NEON and for the 16 bytes at `at`; the instruction asks
        // for no alignment.
        unsafe { vld1q_u8(at) }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: the caller vouches for NEON and for the 16 bytes at `at`; the instruction asks
        // for no alignment.
        unsafe { vst1q_u8(at, self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller vouches for NEON.
        unsafe { veorq_u8(self, other) }
    }
}
