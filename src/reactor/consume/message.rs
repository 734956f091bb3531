//! A message on the reactor's own thread.

use std::ops::Range;

use crate::engine::{FrameKind, MessageKind};

/// A complete message.
pub struct Message<'a> {
    /// Text (checked to be UTF-8) or binary.
    pub kind: MessageKind,
    /// Its bytes.
    pub payload: Bytes<'a>,
}

/// The bytes of an event, in their place.
pub enum Bytes<'a> {
    /// In the buffer that the socket was read into.
    Input {
        /// The whole buffer.
        buffer: &'a mut [u8],
        /// Range of the bytes in it.
        range: Range<usize>,
        /// The number of bytes before `range` that may be overwritten (the frame's own header).
        headroom: usize,
    },
    /// Assembled from several reads or fragments.
    Owned(Vec<u8>),
}

impl Bytes<'_> {
    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Input { buffer, range, .. } => buffer.get(range.clone()).unwrap_or_default(),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The frame kind that carries a message of this kind.
pub(in crate::reactor) fn frame_kind(kind: MessageKind) -> FrameKind {
    match kind {
        MessageKind::Text => FrameKind::Text,
        MessageKind::Binary => FrameKind::Binary,
    }
}
