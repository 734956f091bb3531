//! Whole frames, for a caller that has the payload in a buffer of its own.

use std::ops::Range;

use super::frame::{FrameKind, write_before};
use super::{Engine, mask};

impl Engine {
    /// Makes a frame of the payload at `range` of `buffer`: masks it in place if there is a key,
    /// and writes the header directly before it. Returns the range of the frame.
    ///
    /// `None`, and nothing is written or counted as sent, unless `range` is inside `buffer` and has
    /// room for the longest header before it ([`MAX_HEADER_LEN`](super::frame::MAX_HEADER_LEN)).
    pub fn frame_in_place(
        &mut self,
        kind: FrameKind,
        fin: bool,
        buffer: &mut [u8],
        range: Range<usize>,
        key: Option<[u8; 4]>,
    ) -> Option<Range<usize>> {
        if range.start < super::frame::MAX_HEADER_LEN {
            return None;
        }
        let payload = buffer.get_mut(range.clone())?;
        if let Some(key) = key {
            mask::unmask(key, 0, payload);
        }
        let headroom = range.start;
        let header = self.encode(kind, fin, range.len(), key);
        write_before(buffer, range, headroom, &header)
    }
}
