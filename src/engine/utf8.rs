//! UTF-8 (RFC 3629), in one piece or as it comes in (RFC 6455, section 8.1).

#[inline]
pub(in crate::engine) fn is_valid(bytes: &[u8]) -> bool {
    // Short ASCII is most of the traffic, and simdutf8 leaves anything shorter than a block to a
    // scalar loop.
    (bytes.len() < 64 && bytes.is_ascii()) || simdutf8::basic::from_utf8(bytes).is_ok()
}

#[derive(Debug, Default)]
pub(in crate::engine) struct Validator {
    /// The first `len` bytes begin a character. Invariant: they can still become one.
    tail: [u8; 4],
    /// Invariant: <= 3 between pieces, and 0 between characters.
    len: u8,
}

impl Validator {
    /// False as soon as no continuation could make the text valid.
    #[must_use]
    pub(in crate::engine) fn feed(&mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while self.len > 0 {
            let Some((&byte, after)) = rest.split_first() else { return true };
            rest = after;
            if !self.push(byte) {
                return false;
            }
        }
        let (text, tail) = rest.split_at(rest.len() - incomplete_len(rest));
        is_valid(text) && tail.iter().all(|&byte| self.push(byte))
    }

    /// The text can end here: not inside a character.
    #[must_use]
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.len == 0
    }

    /// The next byte of a character. False if none begins so.
    fn push(&mut self, byte: u8) -> bool {
        let len = usize::from(self.len) + 1;
        let Some(tail) = self.tail.get_mut(..len) else { return false };
        if let Some(last) = tail.last_mut() {
            *last = byte;
        }
        self.len = if is_incomplete(tail) { self.len + 1 } else { 0 };
        self.len > 0 || std::str::from_utf8(tail).is_ok()
    }
}

/// How many bytes at the end of `piece` (0 to 3) begin a character that is not whole in it.
fn incomplete_len(piece: &[u8]) -> usize {
    if piece.last().is_none_or(u8::is_ascii) {
        return 0;
    }
    let end = |len| piece.len().checked_sub(len).and_then(|start| piece.get(start..));
    (1..=3).find(|&len| end(len).is_some_and(is_incomplete)).unwrap_or(0)
}

fn is_incomplete(bytes: &[u8]) -> bool {
    // An error without a length means that bytes are missing.
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}
