//! The beginning of a message, as it came: kept while there is no context to inflate it with.

/// A longer message is worth a context.
pub(super) const MOST_HELD: usize = 4 << 10;

#[derive(Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    /// The ends of frames in `bytes`, ascending: one that ends its stream with BFINAL makes the
    /// next begin anew.
    ends: Vec<u16>,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8], frame_end: bool) {
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len() as u16;
        if frame_end && self.ends.last() != Some(&end) {
            self.ends.push(end);
        }
    }

    /// All but the last are complete.
    pub(super) fn frames(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&end| usize::from(end)));
        let ends = self.ends.iter().map(|&end| usize::from(end)).chain([self.bytes.len()]);
        let pieces = starts.zip(ends).map(|(start, end)| self.bytes.get(start..end).unwrap_or_default());
        pieces.zip(self.ends.iter().map(|_| true).chain([false]))
    }

    pub(super) fn buffered(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + size_of::<u16>() * self.ends.capacity()
    }
}
