//! The payload of an outbound record.

use std::ops::Deref;

use crate::bridge::large::Large;
use crate::engine::Frame;

/// The payload of a record, wherever it lies. It dereferences to its bytes, which are all in one place: none of these is
/// empty because another has them.
pub(super) enum Outbound<'a> {
    /// In the chunk, or wherever its sender has it until the record has been applied.
    Lent(&'a [u8]),
    /// The reactor's, to be framed and queued where it is.
    Own(Large),
    /// Where it stays for all connections that send it.
    Shared(Frame),
}

impl Outbound<'_> {
    /// The payload, for a later turn.
    pub(super) fn into_frame(self) -> Frame {
        match self {
            Self::Lent(bytes) => Frame::new(bytes.to_vec(), 0),
            Self::Own(large) => {
                let (memory, start) = large.into_memory();
                Frame::new(memory, start)
            }
            Self::Shared(frame) => frame,
        }
    }

    /// The payload in memory of its own, and where in that it begins.
    pub(super) fn into_memory(self) -> (Vec<u8>, usize) {
        match self {
            Self::Own(large) => large.into_memory(),
            Self::Lent(_) | Self::Shared(_) => (self.to_vec(), 0),
        }
    }
}

impl Deref for Outbound<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Own(large) => large,
            Self::Shared(frame) => frame,
        }
    }
}
