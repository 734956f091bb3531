//! Finds bytes that occur again.

/// Bytes that are searched together, so a position fits 16 bits. Longer messages are cut into
/// pieces, which do not refer to each other.
pub(super) const PIECE: usize = 1 << 16;

/// Shortest and longest match (RFC 1951, section 3.2.5). A match of three bytes would save too
/// little.
pub(super) const SHORTEST: usize = 4;
pub(super) const LONGEST: usize = 258;

const HASH_BITS: u32 = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// Earlier occurrences that are compared for one position.
    pub(super) depth: u32,
    /// A match of this many bytes is good enough.
    pub(super) nice: usize,
    /// A shorter match is taken only if the next position has no longer one.
    pub(super) lazy: usize,
    /// How many positions inside a match later ones can refer to.
    pub(super) inserts: usize,
}

pub(super) struct Matcher {
    /// By hash: `epoch << 16 | position`. Entries of another epoch do not count, so nothing has to
    /// be cleared.
    head: Box<[u32; 1 << HASH_BITS]>,
    /// By position: the previous position with the same hash, or itself if there is none.
    before: Box<[u16; PIECE]>,
    epoch: u16,
    shift: u32,
}

/// A reference to `length` bytes, `distance` bytes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) length: usize,
    pub(super) distance: usize,
}

impl Matcher {
    pub(super) fn new() -> Self {
        Self { head: boxed(), before: boxed(), epoch: 0, shift: 0 }
    }

    /// Forgets everything, for a piece of `len` bytes.
    pub(super) fn begin(&mut self, len: usize) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.head.fill(0);
            self.epoch = 1;
        }
        // A short piece gets few entries, which stay in the cache.
        let bits = (usize::BITS - len.leading_zeros() + 2).clamp(10, HASH_BITS);
        self.shift = 32 - bits;
    }

    /// Notes position `at` of `piece`. Returns the newest position before it with the same hash.
    #[inline(always)]
    pub(super) fn insert(&mut self, piece: &[u8], at: usize) -> Option<usize> {
        let word = four(piece, at)?;
        let hash = (word.wrapping_mul(0x9e37_79b1) >> self.shift) as usize;
        let head = &mut self.head[hash & ((1 << HASH_BITS) - 1)];
        let newest = std::mem::replace(head, u32::from(self.epoch) << 16 | at as u32 & 0xffff);
        let known = newest >> 16 == u32::from(self.epoch);
        let before = if known { newest & 0xffff } else { at as u32 };
        self.before[at & (PIECE - 1)] = before as u16;
        known.then_some(before as usize)
    }

    /// Notes the positions `from..to`.
    #[inline(always)]
    pub(super) fn insert_all(&mut self, piece: &[u8], from: usize, to: usize) {
        let (epoch, shift) = (u32::from(self.epoch), self.shift);
        let bytes = piece.get(from..piece.len().min(to + 3)).unwrap_or_default();
        for (word, at) in bytes.windows(4).zip(from..) {
            let Some(word) = word.first_chunk::<4>() else { return };
            let word = u32::from_le_bytes(*word);
            let hash = (word.wrapping_mul(0x9e37_79b1) >> shift) as usize;
            let head = &mut self.head[hash & ((1 << HASH_BITS) - 1)];
            let newest = std::mem::replace(head, epoch << 16 | at as u32 & 0xffff);
            let before = if newest >> 16 == epoch { newest } else { at as u32 };
            self.before[at & (PIECE - 1)] = before as u16;
        }
    }

    /// The longest match at `at` that is longer than `than`, from `candidate` backwards; its length
    /// is 0 if there is none.
    #[inline(always)]
    pub(super) fn longest(
        &self,
        piece: &[u8],
        at: usize,
        mut candidate: usize,
        window: usize,
        effort: Effort,
        than: usize,
    ) -> Match {
        let most = (piece.len() - at).min(LONGEST);
        let mut best = Match::default();
        let mut longer_than = than.max(SHORTEST - 1);
        if most <= longer_than {
            return best;
        }
        let mut end = four(piece, at + longer_than - 3);
        for _ in 0..effort.depth {
            let distance = at - candidate;
            if distance > window {
                break;
            }
            // Most candidates differ at the end of a longer match.
            if four(piece, candidate + longer_than - 3) == end {
                let length = common(piece, candidate, at, most);
                if length > longer_than {
                    best = Match { length, distance };
                    longer_than = length;
                    if length >= effort.nice || length == most {
                        break;
                    }
                    end = four(piece, at + longer_than - 3);
                }
            }
            let before = usize::from(self.before[candidate & (PIECE - 1)]);
            if before >= candidate {
                break;
            }
            candidate = before;
        }
        best
    }
}

/// How many bytes, up to `most`, are the same from `a` and from `b` on.
#[inline(always)]
fn common(piece: &[u8], a: usize, b: usize, most: usize) -> usize {
    let left = piece.get(a..).unwrap_or_default();
    let right = piece.get(b..).unwrap_or_default();
    let right = right.get(..most).unwrap_or_default();
    let (lefts, rights) = (left.as_chunks::<8>().0, right.as_chunks::<8>());
    let mut length = 0;
    for (one, other) in lefts.iter().zip(rights.0) {
        let differ = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differ != 0 {
            return length + (differ.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = left.get(length..).unwrap_or_default().iter().zip(rights.1);
    length + rest.take_while(|(one, other)| one == other).count()
}

#[inline(always)]
fn four(piece: &[u8], at: usize) -> Option<u32> {
    piece.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A table that is never on the stack, which can be small. The conversion cannot fail: the slice
/// has `N` elements.
fn boxed<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let slice = vec![T::default(); N].into_boxed_slice();
    slice.try_into().unwrap_or_else(|_| unreachable!("it has N elements"))
}
