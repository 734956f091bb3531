//! Masking (RFC 6455, section 5.3): byte i of the payload is XORed with byte i mod 4 of the key.

/// XORs `bytes` with `key` in place, where `bytes` begin `phase` bytes after the beginning of the payload.
///
/// Masking and unmasking are the same operation.
#[inline]
pub fn unmask(key: [u8; 4], phase: usize, bytes: &mut [u8]) {
    scalar(key, phase, bytes);
}

fn scalar(key: [u8; 4], phase: usize, bytes: &mut [u8]) {
    for (byte, key) in bytes.iter_mut().zip(key.iter().cycle().skip(phase % 4)) {
        *byte ^= key;
    }
}
