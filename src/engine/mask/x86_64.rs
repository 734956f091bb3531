//! Vectors of x86-64: SSE2, which is part of the architecture, AVX2 and AVX-512.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_set1_epi32, _mm_storeu_si128, _mm_xor_si128,
    _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256, _mm256_xor_si256, _mm512_loadu_si512,
    _mm512_set1_epi32, _mm512_storeu_si512, _mm512_xor_si512,
};

use super::generic::{Vector, unmask};

/// XORs `bytes` with `key`, 16 at a time.
pub(super) fn sse2(key: [u8; 4], bytes: &mut [u8]) {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { unmask::<__m128i>(key, bytes) }
}

/// XORs `bytes` with `key`, 32 at a time.
#[target_feature(enable = "avx2")]
pub(super) fn avx2(key: [u8; 4], bytes: &mut [u8]) {
    // SAFETY: this function cannot be called where AVX2 is not known to be there.
    unsafe { unmask::<__m256i>(key, bytes) }
}

/// XORs `bytes` with `key`, 64 at a time.
#[target_feature(enable = "avx512f")]
pub(super) fn avx512(key: [u8; 4], bytes: &mut [u8]) {
    // SAFETY: this function cannot be called where AVX-512F is not known to be there.
    unsafe { unmask::<__m512i>(key, bytes) }
}

macro_rules! vectors {
    ($($type:ty: $bytes:literal, $splat:ident, $load:ident, $store:ident, $xor:ident;)*) => {
        $(impl Vector for $type {
            const BYTES: usize = $bytes;

            #[inline(always)]
            unsafe fn splat(word: u32) -> Self {
                // SAFETY: the caller vouches for the feature.
                unsafe { $splat(word.cast_signed()) }
            }

            #[inline(always)]
            unsafe fn load(at: *const u8) -> Self {
                // SAFETY: the caller vouches for the feature and for the bytes at `at`; the
                // instruction asks for no alignment.
                unsafe { $load(at.cast()) }
            }

            #[inline(always)]
            unsafe fn store(self, at: *mut u8) {
                // SAFETY: as for `load`.
                unsafe { $store(at.cast(), self) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: the caller vouches for the feature.
                unsafe { $xor(self, other) }
            }
        })*
    };
}

vectors! {
    __m128i: 16, _mm_set1_epi32, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128;
    __m256i: 32, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256;
    __m512i: 64, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512;
}
