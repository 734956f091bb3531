//! Huffman codes of limited length (RFC 1951, section 3.2.2).

/// Longest code of any alphabet, in bits.
pub(super) const LONGEST: usize = 15;

/// The bits of a key that hold the symbol, enough for any alphabet. The other 23 hold its
/// frequency.
const SYMBOL_BITS: u32 = 9;

/// A code for `N` symbols.
pub(super) struct Code<const N: usize> {
    /// Bits of each symbol's word; 0 for a symbol that does not occur.
    pub(super) lengths: [u8; N],
    /// For each symbol `length << 16 | word`, the word's first bit lowest.
    pub(super) words: [u32; N],
}

impl<const N: usize> Code<N> {
    /// The canonical code with these lengths.
    pub(super) const fn of(lengths: [u8; N]) -> Self {
        let mut counts = [0; LONGEST + 1];
        let mut symbol = 0;
        while symbol < N {
            counts[(lengths[symbol] & 15) as usize] += 1;
            symbol += 1;
        }
        Self { lengths, words: words(&lengths, counts) }
    }

    /// The best code for these frequencies, with words of at most `limit` bits, which is at most
    /// [`LONGEST`]. At least two symbols get a word: some inflaters reject a code with only one.
    pub(super) fn best(frequencies: &[u32; N], limit: usize) -> Self {
        // A key is a frequency above its symbol, so sorting keys sorts by frequency. The loop has
        // no branch for each symbol.
        let mut keys = [0_u32; N];
        let mut used = 0;
        for (symbol, &frequency) in frequencies.iter().enumerate() {
            keys[used.min(N - 1)] = frequency << SYMBOL_BITS | symbol as u32;
            used += usize::from(frequency > 0);
        }
        for (symbol, &frequency) in frequencies.iter().enumerate() {
            if used >= 2 {
                break;
            }
            if frequency == 0 {
                keys[used] = 1 << SYMBOL_BITS | symbol as u32;
                used += 1;
            }
        }
        let keys = &mut keys[..used];
        keys.sort_unstable();

        let mut weights = [0_u32; N];
        for (weight, key) in weights.iter_mut().zip(&*keys) {
            *weight = key >> SYMBOL_BITS;
        }
        let depths = &mut weights[..used];
        minimum_redundancy(depths);

        let mut counts = [0_u16; LONGEST + 1];
        for depth in depths {
            counts[(*depth as usize).min(limit)] += 1;
        }
        limit_lengths(&mut counts, limit);
        let mut lengths = [0; N];
        let mut symbols = keys.iter().map(|key| (key & ((1 << SYMBOL_BITS) - 1)) as usize);
        for length in (1..=limit).rev() {
            for symbol in symbols.by_ref().take(counts[length].into()) {
                lengths[symbol] = length as u8;
            }
        }
        Self { lengths, words: words(&lengths, counts) }
    }

    /// Bits that symbols of these frequencies take.
    pub(super) fn cost(&self, frequencies: &[u32; N]) -> u64 {
        let bits = frequencies.iter().zip(&self.lengths).map(|(often, bits)| often * u32::from(*bits));
        u64::from(bits.sum::<u32>())
    }
}

/// Turns weights, least first and at least two, into the lengths of an optimal code: Moffat and
/// Katajainen, "In-place calculation of minimum-redundancy codes", 1995.
fn minimum_redundancy(a: &mut [u32]) {
    let n = a.len();
    if n < 2 {
        return;
    }
    // Inner nodes take the places of the leaves below them; each then holds the number of its
    // parent.
    a[0] += a[1];
    let (mut root, mut leaf) = (0, 2);
    for next in 1..n - 1 {
        if leaf >= n || a[root] < a[leaf] {
            a[next] = a[root];
            a[root] = next as u32;
            root += 1;
        } else {
            a[next] = a[leaf];
            leaf += 1;
        }
        if leaf >= n || (root < next && a[root] < a[leaf]) {
            a[next] += a[root];
            a[root] = next as u32;
            root += 1;
        } else {
            a[next] += a[leaf];
            leaf += 1;
        }
    }
    // Depths of the inner nodes.
    a[n - 2] = 0;
    for next in (0..n - 2).rev() {
        a[next] = a[a[next] as usize] + 1;
    }
    // Depths of the leaves.
    let (mut available, mut depth) = (1, 0);
    let (mut inner, mut next) = (n - 1, n);
    while available > 0 {
        let mut used = 0;
        while inner > 0 && a[inner - 1] == depth {
            used += 1;
            inner -= 1;
        }
        while available > used {
            next -= 1;
            a[next] = depth;
            available -= 1;
        }
        available = 2 * used;
        depth += 1;
    }
}

/// Repairs a code after some lengths were cut to `limit`: for each word too many, another one
/// becomes longer.
fn limit_lengths(counts: &mut [u16; LONGEST + 1], limit: usize) {
    let mut total: u32 = (1..=limit).map(|length| u32::from(counts[length]) << (limit - length)).sum();
    while total > 1 << limit {
        counts[limit] -= 1;
        if let Some(shorter) = (1..limit).rev().find(|&length| counts[length] > 0) {
            counts[shorter] -= 1;
            counts[shorter + 1] += 2;
        }
        total -= 1;
    }
}

/// The words of the canonical code; `counts` is the number of words of each length.
const fn words<const N: usize>(lengths: &[u8; N], counts: [u16; LONGEST + 1]) -> [u32; N] {
    let mut next = [0_u16; LONGEST + 1];
    let mut word = 0;
    let mut length = 1;
    while length <= LONGEST {
        next[length] = word;
        word = (word + counts[length]) << 1;
        length += 1;
    }
    let mut words = [0; N];
    let mut symbol = 0;
    while symbol < N {
        let length = (lengths[symbol] & 15) as usize;
        if length > 0 {
            words[symbol] = (length as u32) << 16 | (next[length].reverse_bits() >> (16 - length)) as u32;
            next[length] += 1;
        }
        symbol += 1;
    }
    words
}
