//! A DEFLATE encoder (RFC 1951) for messages that refer to nothing before them.
//!
//! A general compressor must be cleared for each message, keeps history for later ones, and can be
//! interrupted anywhere. This one clears nothing and compresses in one go. Its output looks like
//! zlib's after Z_SYNC_FLUSH: blocks without BFINAL, then an empty stored block, which every peer
//! accepts.
//!
//! Why it exists beside zlib-rs: a JSON message at level 4, best of 150 rounds
//! (benchmark/NOTES.md):
//!
//! ```text
//!            zlib-rs              one_shot
//!    1 KiB   14,200 ns,   401 B    6,000 ns,   403 B
//!   16 KiB   85,500 ns, 3,424 B   52,000 ns, 3,507 B
//! ```
//!
//! It knows nothing of WebSockets: bytes in, bytes out.

#![forbid(unsafe_code)]

mod bits;
mod block;
mod huffman;
mod matcher;

#[cfg(test)]
mod tests;

use bits::Bits;
use block::Block;
use matcher::{Effort, LONGEST, Matcher, PIECE};

/// The empty stored block that ends each message, without its first byte; permessage-deflate omits
/// it (RFC 7692, section 7.2.1).
pub const TRAILER: [u8; 4] = [0, 0, 0xff, 0xff];

/// Tables that stay between messages. They have a fixed size, except the symbols, which grow to the
/// longest block so far.
pub struct OneShot {
    matcher: Matcher,
    block: Block,
}

/// How hard to compress, and how far back to refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    effort: Effort,
    /// Bytes; no reference goes back further.
    window: usize,
}

impl Manner {
    /// From a `level` as zlib counts, 1 to 6, and a window of 8 to 15 bits.
    pub fn new(level: u8, window_bits: u8) -> Self {
        let (depth, nice, lazy, inserts) = match level {
            0..=1 => (1, 16, 0, 0),
            2 => (2, 16, 0, 0),
            3 => (2, 24, 8, 0),
            4 => (4, 24, 8, 0),
            5 => (12, 64, 24, 4),
            _ => (24, 128, 32, LONGEST),
        };
        let effort = Effort { depth, nice, lazy, inserts };
        Self { effort, window: 1 << window_bits.clamp(8, 15) }
    }
}

impl OneShot {
    /// An encoder that has compressed nothing yet.
    pub fn new() -> Self {
        Self { matcher: Matcher::new(), block: Block::new() }
    }

    /// Appends `plain`, compressed, to `out`, and then the empty stored block that ends it; with
    /// `fin`, without the block's last four bytes (RFC 7692, section 7.2.1).
    pub fn compress(&mut self, plain: &[u8], manner: Manner, fin: bool, out: &mut Vec<u8>) {
        out.reserve(plain.len() / 3);
        let mut bits = Bits::new(out);
        for piece in plain.chunks(PIECE) {
            self.piece(piece, manner, &mut bits);
        }
        bits.put(0, 3);
        bits.align();
        if !fin {
            bits.bytes(&TRAILER);
        }
    }

    fn piece(&mut self, piece: &[u8], Manner { effort, window }: Manner, bits: &mut Bits<'_>) {
        self.matcher.begin(piece.len());
        let mut written = 0;
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let newest = self.matcher.insert(piece, at);
            let mut found = newest
                .map(|newest| self.matcher.longest(piece, at, newest, window, effort, 0))
                .unwrap_or_default();
            if found.length == 0 {
                self.block.literal(byte);
                at += 1;
            } else {
                let mut inserted = at + 1;
                // A longer match at the next position is worth a literal.
                while found.length < effort.lazy {
                    let newest = self.matcher.insert(piece, inserted);
                    inserted += 1;
                    let Some(newest) = newest else { break };
                    let next = self.matcher.longest(piece, at + 1, newest, window, effort, found.length);
                    if next.length == 0 {
                        break;
                    }
                    self.block.literal(piece.get(at).copied().unwrap_or_default());
                    at += 1;
                    found = next;
                }
                self.block.reference(found);
                at += found.length;
                self.matcher.insert_all(piece, inserted, at.min(inserted + effort.inserts));
            }
            if self.block.is_full() {
                let end = written + self.block.len();
                self.block.write(piece.get(written..end).unwrap_or_default(), bits);
                written = end;
            }
        }
        if self.block.len() > 0 {
            self.block.write(piece.get(written..).unwrap_or_default(), bits);
        }
    }
}
