//! A payload that is moved, and framed where it is.

use std::ops::Deref;

use super::frame::{EncodedHeader, MAX_HEADER_LEN as HEADROOM};

/// Dereferences to the payload, which has room before it for the header of its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// Invariant: `HEADROOM` bytes and the payload.
    memory: Vec<u8>,
}

impl Large {
    pub fn with_capacity(bytes: usize) -> Self {
        let mut memory = Vec::with_capacity(bytes.saturating_add(HEADROOM));
        memory.resize(HEADROOM, 0);
        Self { memory }
    }

    pub fn copy(payload: &[u8]) -> Self {
        let mut large = Self::with_capacity(payload.len());
        large.memory.extend_from_slice(payload);
        large
    }

    /// For appending.
    pub fn memory_mut(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(HEADROOM..).unwrap_or_default()
    }

    pub fn into_memory(self) -> (Vec<u8>, usize) {
        (self.memory, HEADROOM)
    }

    /// The frame, with `header` directly before the payload, and where it begins.
    pub fn into_frame(mut self, header: &EncodedHeader) -> (Vec<u8>, usize) {
        let start = HEADROOM.saturating_sub(header.len());
        if let Some(room) = self.memory.get_mut(start..HEADROOM) {
            room.copy_from_slice(header);
        }
        (self.memory, start)
    }
}

impl Default for Large {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Deref for Large {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.memory.get(HEADROOM..).unwrap_or_default()
    }
}
