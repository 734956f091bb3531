//! UTF-8 (RFC 3629), in one piece or as it comes in (RFC 6455, section 8.1).

#[inline]
pub(in crate::engine) fn is_valid(bytes: &[u8]) -> bool {
    // Short ASCII is most of the traffic, and simdutf8 leaves anything shorter than a block to a
    // scalar loop.
    (bytes.len() < 64 && bytes.is_ascii()) || simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Validates text that comes in pieces, which may end inside a character.
#[derive(Debug, Default)]
pub(in crate::engine) struct Validator {
    /// The first `len` bytes begin a character. Invariant: they can still become one.
    tail: [u8; 3],
    /// Invariant: <= 3, and 0 between characters.
    len: u8,
}

impl Validator {
    /// False as soon as no continuation could make the text valid.
    #[must_use]
    pub(in crate::engine) fn feed(&mut self, piece: &[u8]) -> bool {
        let Some(piece) = self.complete_tail(piece) else { return false };
        let (text, tail) = piece.split_at(piece.len() - incomplete_len(piece));
        is_valid(text) && (tail.is_empty() || self.keep(tail))
    }

    /// The text may end here: not inside a character.
    #[must_use]
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.len == 0
    }

    /// Completes the character that the last piece ended in, and returns the rest of `piece`;
    /// `None` if the character is invalid. Nothing is left when the piece ends before the
    /// character.
    fn complete_tail<'a>(&mut self, piece: &'a [u8]) -> Option<&'a [u8]> {
        let tail = self.tail.get(..usize::from(self.len)).unwrap_or_default();
        let Some(first) = tail.first() else { return Some(piece) };

        let missing = width(*first).saturating_sub(tail.len());
        let (more, rest) = piece.split_at(missing.min(piece.len()));
        let mut joined = [0; 4];
        let joined = joined.get_mut(..tail.len() + more.len())?;
        joined.get_mut(..tail.len())?.copy_from_slice(tail);
        joined.get_mut(tail.len()..)?.copy_from_slice(more);

        if more.len() < missing {
            return self.keep(joined).then_some(rest);
        }
        self.len = 0;
        std::str::from_utf8(joined).is_ok().then_some(rest)
    }

    /// False if no character begins so.
    fn keep(&mut self, tail: &[u8]) -> bool {
        let Some(to) = self.tail.get_mut(..tail.len()) else { return false };
        to.copy_from_slice(tail);
        self.len = tail.len() as u8;
        // An error without a length is one of missing bytes.
        std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none())
    }
}

/// How many bytes at the end of `piece` begin a character that is not whole in it (0 to 3).
fn incomplete_len(piece: &[u8]) -> usize {
    let last = piece.iter().rev().take(3);
    let lead = last.enumerate().find(|(_, byte)| !is_continuation(**byte));
    match lead {
        Some((after, byte)) if width(*byte) > after + 1 => after + 1,
        _ => 0,
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The length of the character that `first` would begin, valid or not.
fn width(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    }
}
