//! The part of a header or control frame that is kept when an input ends within it.

use super::frame::MAX_CONTROL_LEN;

/// The beginning of a header, or of the body of a control frame (RFC 6455, section 5.5). Boxed, as
/// few of them are cut in two and every connection has a place for one.
#[derive(Debug)]
pub(in crate::engine) struct Kept {
    bytes: [u8; Self::CAPACITY],
    /// Invariant: <= CAPACITY.
    len: u8,
}

impl Kept {
    const CAPACITY: usize = MAX_CONTROL_LEN;

    pub(in crate::engine) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Keeps `bytes`, up to a total of `limit`, and returns all bytes kept.
    #[cold]
    pub(in crate::engine) fn push(&mut self, bytes: &[u8], limit: usize) -> &[u8] {
        let free = self.bytes.get_mut(usize::from(self.len)..limit.min(Self::CAPACITY)).unwrap_or_default();
        let len = free.len().min(bytes.len());
        for (to, byte) in free.iter_mut().zip(bytes) {
            *to = *byte;
        }
        self.len += len as u8;
        self.bytes()
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }
}
