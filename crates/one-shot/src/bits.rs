//! Bits in the order of DEFLATE: the first one is the lowest of its byte (RFC 1951, section 3.1.1).

/// Collects bits and appends them to a buffer.
pub(super) struct Bits<'a> {
    out: &'a mut Vec<u8>,
    waiting: u64,
    /// Bits of `waiting`, the lowest ones. Invariant: <= 64.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, waiting: 0, count: 0 }
    }

    /// Adds the lowest `count` bits of `bits`; the higher ones must be 0. At most 32 bits between
    /// two calls of [`write_word`](Self::write_word), which leaves fewer than 32.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        debug_assert!(self.count + count <= 64 && u64::from(bits) >> count == 0);
        self.waiting |= u64::from(bits) << (self.count & 63);
        self.count += count;
    }

    /// `word` is `length << 16 | bits`, as in `Code::words`.
    #[inline(always)]
    pub(super) fn word(&mut self, word: u32) {
        self.put(word & 0xffff, word >> 16);
    }

    #[inline(always)]
    pub(super) fn write_word(&mut self) {
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= 32;
            self.count -= 32;
        }
    }

    /// Pads the last byte with zeros and writes everything.
    pub(super) fn align(&mut self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend_from_slice(self.waiting.to_le_bytes().get(..bytes).unwrap_or_default());
        (self.waiting, self.count) = (0, 0);
    }

    /// Appends whole bytes; only right after [`align`](Self::align).
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        debug_assert_eq!(self.count, 0);
        self.out.extend_from_slice(bytes);
    }
}
