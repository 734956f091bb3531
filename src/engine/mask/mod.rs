//! Masking (RFC 6455, section 5.3): byte i of the payload is XORed with byte i mod 4 of the key.
//!
//! The only unsafe code of the engine: vectors are loaded from and stored to raw pointers
//! (`generic`), with instructions that the processor is asked for first (`x86_64`, `aarch64`).

#![cfg_attr(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")),
    expect(
        unsafe_code,
        reason = "vector loads and stores, and calls of functions that need a processor feature"
    )
)]

#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod generic;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

/// XORs `bytes` with `key` in place; they begin `phase` bytes after the beginning of the payload.
/// Masking and unmasking are the same.
///
/// A key of zeros, which stands for none, leaves the bytes as they are.
#[inline]
pub fn unmask(key: [u8; 4], phase: usize, bytes: &mut [u8]) {
    let key = rotate(key, phase);
    if bytes.len() <= SHORT {
        words(key, bytes);
    } else if key != [0; 4] {
        long(key, bytes);
    }
}

/// The definition, byte by byte, with which every other implementation is compared.
pub fn scalar(key: [u8; 4], phase: usize, bytes: &mut [u8]) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        // Index in bounds: a number mod 4.
        *byte ^= key[phase.wrapping_add(i) % 4];
    }
}

/// The key from its byte `phase` mod 4 on. (`rotate_left` of an array goes through memory.)
#[inline]
fn rotate(key: [u8; 4], phase: usize) -> [u8; 4] {
    u32::from_le_bytes(key).rotate_right(8 * (phase % 4) as u32).to_le_bytes()
}

/// Up to this many bytes the choice costs more than it gains.
const SHORT: usize = 64;

#[inline]
fn words(key: [u8; 4], bytes: &mut [u8]) {
    let word = u32::from_ne_bytes(key);
    let double = u64::from(word) << 32 | u64::from(word);
    let (chunks, rest) = bytes.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ double).to_ne_bytes();
    }
    let (chunks, rest) = rest.as_chunks_mut::<4>();
    for chunk in chunks {
        *chunk = (u32::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key) {
        *byte ^= key;
    }
}

/// With the widest vectors there are: each doubling of the width is worth about half more at 16
/// KiB. The standard library asks the processor once.
#[cfg(target_arch = "x86_64")]
fn long(key: [u8; 4], bytes: &mut [u8]) {
    if std::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has AVX-512F.
        unsafe { arch::avx512(key, bytes) }
    } else if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { arch::avx2(key, bytes) }
    } else {
        arch::sse2(key, bytes);
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
fn long(key: [u8; 4], bytes: &mut [u8]) {
    arch::neon(key, bytes);
}

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
fn long(key: [u8; 4], bytes: &mut [u8]) {
    words(key, bytes);
}

#[cfg(test)]
mod tests;
