//! The messages of a run: the requests, and the responses that must come back.
//!
//! A payload is a function of connection and sequence number, so no sent message needs to be kept
//! for the comparison:
//!
//! ```text
//! payload = prefix ++ digits(sequence, connection), 12 bytes ++ separator ++
//! fill[offset(sequence, connection)..] ++ tail
//! ```
//! Prefix, separator and tail are empty except in JSON, where the fill is records of 32 bytes:
//! `["<digits>",{"id":1234567,"name":"abcdefg"},...,"<x up to the length>"]`. JSON.stringify
//! produces the same text. The digits are 6 bits each in `0x30..=0x70` without the backslash; text
//! fill is of the same alphabet, binary fill uses all byte values. A payload under 12 bytes keeps
//! the first digits: low sequence digits first, so that neighbours still differ.

use crate::args::Args;
use crate::packed::Packed;

/// Bytes of a payload that spell sequence number and connection.
const DIGITS: usize = 12;
/// Number of offsets into the fill; a power of two, small enough for the
/// table to stay in a level 2 cache.
const OFFSETS: usize = 1 << 16;
/// Bytes of a record of JSON.
const RECORD: usize = 32;

/// First bytes of the message that asks an ingest server for its count; no payload of a run
/// starts so. The server answers with one text message: these bytes, the number of messages, a
/// space, and their bytes, in decimal.
pub(crate) const MARKER: &[u8] = b"#count ";

/// Fewest bytes of JSON: prefix, digits, separator and a tail without letters.
pub(crate) const MIN_JSON: usize = 2 + DIGITS + 2 + 3;

/// Makes requests and recognizes their responses.
pub(crate) struct Messages {
    payload: usize,
    first_byte: u8,
    response_header: Header,
    prefix: &'static [u8],
    separator: &'static [u8],
    fill: Vec<u8>,
    /// Payload bytes from the fill.
    filled: usize,
    /// The unit of offsets into the fill, in bytes.
    step: usize,
    tail: Vec<u8>,
    masks: Random,
    /// The compressed messages that are sent instead, if any.
    packed: Option<Packed>,
}

impl Messages {
    /// Messages with `payload` bytes each; `seed` decides fill and masks.
    pub(crate) fn new(payload: usize, binary: bool, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let fill = (0..OFFSETS + payload).map(|_| {
            let byte = (random.next() >> 32) as u8;
            if binary { byte } else { digit(u64::from(byte)) }
        });
        let first_byte = if binary { 0x82 } else { 0x81 };
        Self {
            payload,
            first_byte,
            response_header: Header::new(first_byte, payload, None),
            prefix: b"",
            separator: b"",
            fill: fill.collect(),
            filled: payload.saturating_sub(DIGITS),
            step: 1,
            tail: Vec::new(),
            masks: random,
            packed: None,
        }
    }

    /// The messages for these arguments.
    pub(crate) fn of(args: &Args) -> Self {
        if args.json {
            return Self::json(args.payload, args.seed);
        }
        let packed = args.deflate.then(|| Packed::new(args.payload, args.binary, args.seed));
        Self { packed, ..Self::new(args.payload, args.binary, args.seed) }
    }

    /// Text that JSON.parse takes and JSON.stringify makes again;
    /// `payload` is at least [`MIN_JSON`].
    fn json(payload: usize, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6a73_6f6e);
        let mut record = || {
            let letters: String =
                (0..7).map(|_| char::from(b'a' + (random.next() >> 33) as u8 % 26)).collect();
            format!("{{\"id\":{},\"name\":\"{letters}\"}},", 1_000_000 + (random.next() >> 33) % 9_000_000)
        };
        let filled = (payload - MIN_JSON) / RECORD * RECORD;
        let fill: String = (0..(OFFSETS + filled) / RECORD).map(|_| record()).collect();
        let mut tail = vec![b'"'];
        tail.resize(payload - MIN_JSON - filled + 1, b'x');
        tail.extend_from_slice(b"\"]");
        Self {
            prefix: b"[\"",
            separator: b"\",",
            fill: fill.into_bytes(),
            filled,
            step: RECORD,
            tail,
            ..Self::new(payload, false, seed)
        }
    }

    /// The compressed messages, if they are used.
    pub(crate) fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    /// Bytes of one request on the wire.
    pub(crate) fn request_len(&self) -> usize {
        self.response_header.as_slice().len() + 4 + self.payload
    }

    /// Bytes of one response on the wire.
    pub(crate) fn response_len(&self) -> usize {
        self.response_header.as_slice().len() + self.payload
    }

    /// Appends a request to `out`, masked with a key of its own.
    pub(crate) fn push_request(&mut self, connection: usize, sequence: u64, out: &mut Vec<u8>) {
        let mask = ((self.masks.next() >> 32) as u32).to_le_bytes();
        if let Some(packed) = &self.packed {
            return packed.push_request(connection, sequence, mask, out);
        }
        out.extend_from_slice(Header::new(self.first_byte, self.payload, Some(mask)).as_slice());
        let (digits, fill) = self.parts(connection, sequence);
        if !self.prefix.is_empty() {
            return push_masked(
                out,
                &[self.prefix, &digits, self.separator, fill, &self.tail].concat(),
                mask,
            );
        }
        // 12 is a multiple of 4: the fill starts in phase 0 again.
        let [a, b, c, d] = mask;
        let mut masked = [a, b, c, d, a, b, c, d, a, b, c, d];
        for (byte, digit) in masked.iter_mut().zip(digits) {
            *byte ^= digit;
        }
        out.extend_from_slice(&masked[..self.payload.min(DIGITS)]);
        push_masked(out, fill, mask);
    }

    /// Whether `found` equals the bytes at `at` of the response.
    pub(crate) fn matches(&self, connection: usize, sequence: u64, at: usize, found: &[u8]) -> bool {
        let (digits, fill) = self.parts(connection, sequence);
        if at == 0
            && self.prefix.is_empty()
            && let Some(rest) = found.strip_prefix(self.response_header.as_slice())
            && let Some((found_digits, found_fill)) = rest.split_first_chunk::<DIGITS>()
            && found_fill.len() == fill.len()
        {
            // The common case, a whole response: the loop below would have the same result.
            return *found_digits == digits && found_fill == fill;
        }
        let digits = &digits[..self.payload.min(DIGITS)];
        let parts =
            [self.response_header.as_slice(), self.prefix, digits, self.separator, fill, &self.tail[..]];
        let mut skip = at;
        let mut rest = found;
        for part in parts {
            if skip >= part.len() {
                skip -= part.len();
                continue;
            }
            let part = &part[skip..];
            skip = 0;
            let length = part.len().min(rest.len());
            if rest[..length] != part[..length] {
                return false;
            }
            rest = &rest[length..];
            if rest.is_empty() {
                return true;
            }
        }
        rest.is_empty()
    }

    fn parts(&self, connection: usize, sequence: u64) -> ([u8; DIGITS], &[u8]) {
        let connection = connection as u64;
        let words = [sequence & 0xff_ffff, connection, sequence >> 24];
        let mut digits = [0; DIGITS];
        for (four, word) in digits.chunks_exact_mut(4).zip(words) {
            let spread = [word, word >> 6, word >> 12, word >> 18].map(digit);
            four.copy_from_slice(&spread);
        }
        let hash = (sequence ^ connection << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let offset = (hash >> 48) as usize % OFFSETS / self.step * self.step;
        (digits, &self.fill[offset..offset + self.filled])
    }
}

/// A frame header, RFC 6455 section 5.2.
pub(crate) struct Header {
    bytes: [u8; 14],
    len: usize,
}

impl Header {
    /// Header of a frame with `length` payload bytes.
    pub(crate) fn new(first_byte: u8, length: usize, mask: Option<[u8; 4]>) -> Self {
        let mut bytes = [0; 14];
        bytes[0] = first_byte;
        let mut len = match length {
            0..126 => {
                bytes[1] = length as u8;
                2
            }
            126..=0xffff => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                4
            }
            _ => {
                bytes[1] = 127;
                bytes[2..10].copy_from_slice(&(length as u64).to_be_bytes());
                10
            }
        };
        if let Some(mask) = mask {
            bytes[1] |= 0x80;
            bytes[len..len + 4].copy_from_slice(&mask);
            len += 4;
        }
        Self { bytes, len }
    }

    /// The header's bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Appends `bytes` to `out`, masked from phase 0.
#[inline]
pub(crate) fn push_masked(out: &mut Vec<u8>, bytes: &[u8], mask: [u8; 4]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, tail) = out[start..].as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(wide.to_ne_bytes()) {
        *byte ^= key;
    }
}

/// xorshift64*: fast, and good enough to make payloads and masks differ.
pub(crate) struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number; its high bits are the best ones.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn digit(value: u64) -> u8 {
    let byte = 0x30 + (value & 0x3f) as u8;
    if byte < b'\\' { byte } else { byte + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(messages: &mut Messages, connection: usize, sequence: u64) -> Vec<u8> {
        let mut request = Vec::new();
        messages.push_request(connection, sequence, &mut request);
        assert_eq!(request.len(), messages.request_len());
        let header = messages.response_header.as_slice().to_vec();
        let mask: [u8; 4] = request[header.len()..header.len() + 4].try_into().unwrap();
        let mut response = header.clone();
        push_masked(&mut response, &request[header.len() + 4..], mask);
        response
    }

    #[test]
    fn a_response_matches_its_request_wherever_it_is_cut() {
        for payload in [0, 1, 5, 11, 12, 13, 20, 125, 126, 300, 65_535, 65_536] {
            for binary in [false, true] {
                let mut messages = Messages::new(payload, binary, 7);
                let bytes = response(&mut messages, 3, 99);
                assert_eq!(bytes.len(), messages.response_len());
                for cut in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                    assert!(messages.matches(3, 99, 0, &bytes[..cut]), "{payload} to {cut}");
                    assert!(messages.matches(3, 99, cut, &bytes[cut..]), "{payload} from {cut}");
                }
            }
        }
    }

    #[test]
    fn json_has_its_length_and_matches() {
        for payload in [MIN_JSON, 20, 50, 51, 52, 1024] {
            let mut messages = Messages::json(payload, 7);
            let bytes = response(&mut messages, 3, 99);
            assert!(messages.matches(3, 99, 0, &bytes) && !messages.matches(3, 98, 0, &bytes));
            let text = std::str::from_utf8(&bytes[bytes.len() - payload..]).unwrap();
            assert!(text.starts_with("[\"") && text.ends_with("\"]"), "{text}");
            assert_eq!(text.matches("{\"id\":").count(), (payload - MIN_JSON) / RECORD);
            assert!(!text.contains('\\'));
        }
    }

    #[test]
    fn every_changed_byte_and_every_other_message_is_found() {
        let mut messages = Messages::new(20, false, 7);
        let bytes = response(&mut messages, 3, 99);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!messages.matches(3, 99, 0, &changed), "byte {at}");
        }
        assert!(!messages.matches(3, 100, 0, &bytes));
        assert!(!messages.matches(4, 99, 0, &bytes));
    }

    #[test]
    fn bytes_after_the_response_do_not_match() {
        let mut messages = Messages::new(20, false, 7);
        let mut bytes = response(&mut messages, 3, 99);
        bytes.push(0);
        assert!(!messages.matches(3, 99, 0, &bytes));
    }

    #[test]
    fn text_is_ascii_and_never_the_marker() {
        let mut messages = Messages::new(300, false, 7);
        let bytes = response(&mut messages, 3, 99);
        assert!(bytes[4..].is_ascii());
        assert_ne!(bytes[4], MARKER[0]);
    }
}
