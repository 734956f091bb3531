//! One block of DEFLATE, written in the shortest of its three forms (RFC 1951, section 3.2.3).

use super::bits::Bits;
use super::huffman::{Code, LONGEST};
use super::matcher::Match;

/// Symbols for literals, the end of the block and lengths; two of them are never used.
pub(super) const LITERALS: usize = 288;
const DISTANCES: usize = 30;
const END: usize = 256;
/// Symbols of the code for code lengths (section 3.2.7).
const PRE: usize = 19;
const PRE_LONGEST: usize = 7;
/// The order in which the lengths of that code are written.
const PRE_ORDER: [usize; PRE] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// A block ends after this many symbols: enough for its code to be worth a header, few enough to
/// follow the data.
const SYMBOLS: usize = 12 << 10;
/// A block ends after this many bytes. With one more match they still fit the length of a stored
/// block.
const BYTES: usize = 48 << 10;

/// Marks a symbol that is a match: `MATCH | length - 3 << 16 | distance - 1`.
const MATCH: u32 = 1 << 31;

pub(super) struct Block {
    symbols: Vec<u32>,
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
    /// Bytes that the symbols stand for.
    bytes: usize,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { symbols: Vec::new(), literals: [0; LITERALS], distances: [0; DISTANCES], bytes: 0 }
    }

    #[inline(always)]
    pub(super) fn literal(&mut self, byte: u8) {
        self.symbols.push(byte.into());
        self.literals[usize::from(byte)] += 1;
        self.bytes += 1;
    }

    #[inline(always)]
    pub(super) fn reference(&mut self, found: Match) {
        let (length, distance) = (found.length as u32 - 3, found.distance as u32 - 1);
        self.symbols.push(MATCH | length << 16 | distance);
        self.literals[length_symbol(length)] += 1;
        self.distances[distance_symbol(distance).0] += 1;
        self.bytes += found.length;
    }

    pub(super) fn is_full(&self) -> bool {
        self.symbols.len() >= SYMBOLS || self.bytes >= BYTES
    }

    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Writes the block with the bytes `plain`, and clears it.
    pub(super) fn write(&mut self, plain: &[u8], bits: &mut Bits<'_>) {
        self.literals[END] = 1;
        let literals = Code::best(&self.literals, LONGEST);
        let distances = Code::best(&self.distances, LONGEST);
        let header = Header::new(&literals.lengths, &distances.lengths);

        let dynamic = header.cost() + literals.cost(&self.literals) + distances.cost(&self.distances);
        let fixed = FIXED_LITERALS.cost(&self.literals) + FIXED_DISTANCES.cost(&self.distances);
        let stored = 8 * plain.len() as u64 + 7 + 32;
        if stored <= dynamic.min(fixed) + self.extra_bits() {
            write_stored(plain, bits);
        } else if fixed <= dynamic {
            bits.put(0b01 << 1, 3);
            self.write_symbols(&FIXED_LITERALS, &FIXED_DISTANCES, bits);
        } else {
            bits.put(0b10 << 1, 3);
            header.write(bits);
            self.write_symbols(&literals, &distances, bits);
        }
        self.symbols.clear();
        self.literals.fill(0);
        self.distances.fill(0);
        self.bytes = 0;
    }

    /// Extra bits of lengths and distances, which every code needs.
    fn extra_bits(&self) -> u64 {
        let lengths = self.literals[END + 1..].iter().enumerate();
        let lengths = lengths.map(|(code, often)| u64::from(*often) * u64::from(length_bits(code)));
        let distances = self.distances.iter().enumerate();
        let distances =
            distances.map(|(code, often)| u64::from(*often) * (code as u64 / 2).saturating_sub(1));
        lengths.chain(distances).sum()
    }

    fn write_symbols(&self, literals: &Code<LITERALS>, distances: &Code<DISTANCES>, bits: &mut Bits<'_>) {
        for &symbol in &self.symbols {
            if symbol & MATCH == 0 {
                let symbol = (symbol & 0xff) as usize;
                bits.word(literals.words[symbol]);
                bits.write_word();
                continue;
            }
            let (length, distance) = (symbol >> 16 & 0xff, symbol & 0x7fff);
            let symbol = length_symbol(length);
            bits.word(literals.words[symbol]);
            let extra = length_bits(symbol - END - 1);
            bits.put(length & ((1 << extra) - 1), extra);
            bits.write_word();
            let (symbol, extra) = distance_symbol(distance);
            bits.word(distances.words[symbol]);
            bits.put(distance & ((1 << extra) - 1), extra);
            bits.write_word();
        }
        bits.word(literals.words[END]);
        bits.write_word();
    }
}

/// The header of a dynamic block: the lengths of its codes, in a code of their own.
struct Header {
    /// Symbols of the code for lengths, with their extra bits: `symbol | extra << 8`.
    items: [u16; LITERALS + DISTANCES],
    len: usize,
    literals: usize,
    distances: usize,
    code: Code<PRE>,
    frequencies: [u32; PRE],
    /// How many lengths of that code are written.
    lengths: usize,
}

impl Header {
    fn new(literals: &[u8; LITERALS], distances: &[u8; DISTANCES]) -> Self {
        let used = |lengths: &[u8]| lengths.iter().rposition(|length| *length > 0).map_or(0, |last| last + 1);
        let (of_literals, of_distances) = (used(literals).max(END + 1), used(distances).max(1));
        let mut all = [0; LITERALS + DISTANCES];
        all[..of_literals].copy_from_slice(&literals[..of_literals]);
        all[of_literals..of_literals + of_distances].copy_from_slice(&distances[..of_distances]);

        let mut items = [0; LITERALS + DISTANCES];
        let mut frequencies = [0; PRE];
        let mut len = 0;
        let mut rest = &all[..of_literals + of_distances];
        while let Some(&length) = rest.first() {
            let run = rest.iter().take_while(|other| **other == length).count();
            let (symbol, extra, taken) = match (length, run) {
                (0, 11..) => (18, run.min(138) - 11, run.min(138)),
                (0, 3..) => (17, run - 3, run),
                // The first of a run is written, the others repeat it.
                (1.., 4..) => {
                    items[len] = length.into();
                    frequencies[usize::from(length)] += 1;
                    len += 1;
                    let again = (run - 1).min(6);
                    (16, again - 3, again + 1)
                }
                _ => (length, 0, 1),
            };
            items[len] = u16::from(symbol) | (extra as u16) << 8;
            frequencies[usize::from(symbol)] += 1;
            len += 1;
            rest = &rest[taken..];
        }
        let code = Code::best(&frequencies, PRE_LONGEST);
        let last = PRE_ORDER.iter().rposition(|symbol| code.lengths[*symbol] > 0);
        let lengths = last.map_or(4, |last| (last + 1).max(4));
        Self { items, len, literals: of_literals, distances: of_distances, code, frequencies, lengths }
    }

    fn cost(&self) -> u64 {
        let extra = 2 * self.frequencies[16] + 3 * self.frequencies[17] + 7 * self.frequencies[18];
        14 + 3 * self.lengths as u64 + self.code.cost(&self.frequencies) + u64::from(extra)
    }

    fn write(&self, bits: &mut Bits<'_>) {
        bits.put(self.literals as u32 - 257, 5);
        bits.put(self.distances as u32 - 1, 5);
        bits.put(self.lengths as u32 - 4, 4);
        bits.write_word();
        for symbol in &PRE_ORDER[..self.lengths] {
            bits.put(self.code.lengths[*symbol].into(), 3);
            bits.write_word();
        }
        for item in &self.items[..self.len] {
            let symbol = usize::from(item & 0xff);
            bits.word(self.code.words[symbol]);
            let extra = match symbol {
                16 => 2,
                17 => 3,
                18 => 7,
                _ => 0,
            };
            bits.put(u32::from(item >> 8), extra);
            bits.write_word();
        }
    }
}

/// A stored block (section 3.2.4).
fn write_stored(plain: &[u8], bits: &mut Bits<'_>) {
    bits.put(0, 3);
    bits.align();
    let len = plain.len() as u16;
    bits.bytes(&len.to_le_bytes());
    bits.bytes(&(!len).to_le_bytes());
    bits.bytes(plain);
}

/// `length` is the real one less 3.
#[inline(always)]
fn length_symbol(length: u32) -> usize {
    END + 1 + usize::from(LENGTH_CODES[(length & 0xff) as usize])
}

/// Code 0 is length 3.
#[inline(always)]
fn length_bits(code: usize) -> u32 {
    if !(8..28).contains(&code) { 0 } else { code as u32 / 4 - 1 }
}

/// The symbol of a distance and its extra bits; `distance` is the real one less 1.
#[inline(always)]
fn distance_symbol(distance: u32) -> (usize, u32) {
    let distance = distance & 0x7fff;
    let high = 31 - (distance | 1).leading_zeros();
    if distance < 2 {
        return (distance as usize, 0);
    }
    let extra = high - 1;
    ((2 * high + (distance >> extra & 1)) as usize, extra)
}

const LENGTH_CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let (mut code, mut length) = (0_usize, 0);
    while code < 28 {
        let extra = if code < 8 { 0 } else { code / 4 - 1 };
        let mut many = 1 << extra;
        while many > 0 && length < 256 {
            codes[length] = code as u8;
            length += 1;
            many -= 1;
        }
        code += 1;
    }
    // 258 has a code of its own.
    codes[255] = 28;
    codes
};

/// The fixed codes of section 3.2.6.
const FIXED_LITERALS: Code<LITERALS> = Code::of({
    let mut lengths = [8; LITERALS];
    let mut symbol = 144;
    while symbol < 280 {
        lengths[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    lengths
});
const FIXED_DISTANCES: Code<DISTANCES> = Code::of([5; DISTANCES]);
