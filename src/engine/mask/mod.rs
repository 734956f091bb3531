//! Masking (RFC 6455, section 5.3): byte i of the payload is XORed with byte i mod 4 of the key.
//!
//! The compiler vectorizes the loops. The engine's only unsafe code is the call of a loop compiled
//! for processors with wider vectors.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the call of a function that needs a processor feature")
)]

/// XORs `bytes` with `key` in place; they begin `phase` bytes into the payload. Masking and
/// unmasking are the same. A key of zeros, which stands for none, changes nothing.
#[inline]
pub fn unmask(key: [u8; 4], phase: usize, bytes: &mut [u8]) {
    let key = rotate(key, phase);
    if bytes.len() <= SHORT {
        words(key, bytes);
    } else if key != [0; 4] {
        long(key, bytes);
    }
}

/// The definition, byte by byte, which every other implementation is compared with.
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

/// Bytes up to which the choice costs more than it gains.
const SHORT: usize = 64;
/// A store that straddles two cache lines costs two.
const LINE: usize = 64;

#[inline(always)]
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

/// Whole cache lines, and `words` before and after them.
#[inline(always)]
fn lines(key: [u8; 4], bytes: &mut [u8]) {
    let start = bytes.as_ptr().align_offset(LINE).min(bytes.len());
    let (before, bytes) = bytes.split_at_mut(start);
    words(key, before);
    let key = rotate(key, start);
    let (lines, after) = bytes.as_chunks_mut::<LINE>();
    for line in lines {
        for word in line.as_chunks_mut::<4>().0 {
            *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(key)).to_ne_bytes();
        }
    }
    words(key, after);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(key: [u8; 4], bytes: &mut [u8]) {
    lines(key, bytes);
}

fn long(key: [u8; 4], bytes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2(key, bytes) };
    }
    lines(key, bytes);
}

#[cfg(test)]
mod tests;
