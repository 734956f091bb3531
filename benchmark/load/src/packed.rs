//! Compressed messages of a run (RFC 7692): JSON that is compressed before the run begins. The
//! answers are inflated and compared.
//!
//! Both sides go without context takeover, so a message has the same bytes whenever it is sent.
//! There are [`KINDS`] messages; connection and sequence number decide which one is sent. An
//! inflated answer is compared byte by byte; an answer with the same bytes as one that was compared
//! before need not be inflated again.

use std::cell::RefCell;
use std::error::Error;
use std::fmt::Write;

use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateFlush};

use crate::messages::{Header, Random, push_masked};

/// The number of different messages: enough that a server gains nothing from remembering the last
/// ones.
const KINDS: usize = 512;
/// The bytes that a sender cuts off (RFC 7692, section 7.2.1).
const TRAILER: [u8; 4] = [0, 0, 0xff, 0xff];
/// FIN and RSV1 in the first byte of a frame.
const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;

/// The messages of a run.
pub(crate) struct Packed {
    first_byte: u8,
    kinds: Vec<Kind>,
}

struct Kind {
    plain: Vec<u8>,
    compressed: Vec<u8>,
    /// The answer that was found right before.
    seen: RefCell<Vec<u8>>,
}

impl Packed {
    /// Messages of `payload` bytes each before they are compressed.
    pub(crate) fn new(payload: usize, binary: bool, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6a73_6f6e);
        let kinds = (0..KINDS).map(|number| {
            let plain = json(payload, number, &mut random);
            Kind { compressed: compress(&plain), plain, seen: RefCell::default() }
        });
        Self { first_byte: if binary { 2 } else { 1 }, kinds: kinds.collect() }
    }

    /// Appends a request to `out`, masked with `mask`.
    pub(crate) fn push_request(&self, connection: usize, sequence: u64, mask: [u8; 4], out: &mut Vec<u8>) {
        let bytes = &self.kind(connection, sequence).compressed;
        let header = Header::new(FIN | RSV1 | self.first_byte, bytes.len(), Some(mask));
        out.extend_from_slice(header.as_slice());
        push_masked(out, bytes, mask);
    }

    /// Length of the answer that `stream` begins with, header included; `None` when more bytes are
    /// needed to decide.
    pub(crate) fn response_len(stream: &[u8]) -> Option<usize> {
        let length = |bytes: &[u8]| bytes.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        match stream.get(1)? & 0x7f {
            126 => Some(4 + length(stream.get(2..4)?)),
            127 => Some(10 + length(stream.get(2..10)?)),
            short => Some(2 + usize::from(short)),
        }
    }

    /// Compares the frame `response` with the expected message.
    ///
    /// # Errors
    /// The frame is another message, or none: a sentence that says so.
    pub(crate) fn check(
        &self,
        connection: usize,
        sequence: u64,
        response: &[u8],
    ) -> Result<(), Box<dyn Error>> {
        let kind = self.kind(connection, sequence);
        if *kind.seen.borrow() == response {
            return Ok(());
        }
        let wrong = |what: &str| format!("connection {connection}, message {sequence}: {what}");
        let first = response.first().copied().unwrap_or_default();
        if first & !RSV1 != FIN | self.first_byte {
            return Err(wrong(&format!("unexpected frame, first byte {first:#04x}")).into());
        }
        let header = match response.get(1) {
            Some(126) => 4,
            Some(127) => 10,
            _ => 2,
        };
        let body = response.get(header..).unwrap_or_default();
        let plain = if first & RSV1 == 0 { body.to_vec() } else { inflate(body, kind.plain.len())? };
        if plain != kind.plain {
            return Err(wrong("the response differs").into());
        }
        kind.seen.replace(response.to_vec());
        Ok(())
    }

    fn kind(&self, connection: usize, sequence: u64) -> &Kind {
        let hash = (sequence ^ (connection as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.kinds[(hash >> 32) as usize % self.kinds.len()]
    }
}

/// An object as an application would send it, exactly `len` bytes long; shorter ones are cut off.
fn json(len: usize, number: usize, random: &mut Random) -> Vec<u8> {
    const NAMES: [&str; 8] = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Alan", "Radia"];
    const STATES: [&str; 4] = ["open", "filled", "cancelled", "partially_filled"];
    let mut text = format!("{{\"type\":\"snapshot\",\"sequence\":{number},\"orders\":[");
    loop {
        let mut order = String::new();
        let mut below = |limit: u64| (random.next() >> 33) % limit;
        // Writing to a String cannot fail.
        let _ = write!(
            order,
            "{{\"id\":\"{:08x}\",\"customer\":{{\"name\":\"{}\",\"age\":{}}},\"price\":{}.{:02},\"quantity\":{},\
             \"state\":\"{}\",\"active\":{},\"updated\":\"2026-11-{:02}T{:02}:{:02}:{:02}.{:03}Z\"}},",
            below(1 << 31),
            NAMES[below(8) as usize],
            18 + below(60),
            below(1000),
            below(100),
            below(500),
            STATES[below(4) as usize],
            below(2) == 0,
            1 + below(30),
            below(24),
            below(60),
            below(60),
            below(1000)
        );
        if text.len() + order.len() + 16 > len {
            break;
        }
        text += &order;
    }
    text += "{\"note\":\"";
    while text.len() + 4 < len {
        text.push(char::from(b'a' + (random.next() >> 33) as u8 % 26));
    }
    text += "\"}]}";
    text.truncate(len);
    text.into_bytes()
}

/// The frame that a client of ours would send for `plain`.
fn compress(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; plain.len() + plain.len() / 8 + 64];
    let mut zlib = Deflate::new(6, false, 15);
    let status = zlib.compress(plain, &mut out, DeflateFlush::SyncFlush);
    assert!(status.is_ok() && zlib.total_in() == plain.len() as u64, "there is room");
    out.truncate(zlib.total_out() as usize);
    assert!(out.ends_with(&TRAILER), "a flush ends with an empty block");
    out.truncate(out.len() - TRAILER.len());
    out
}

/// Inflates a whole message that should have `len` bytes.
fn inflate(body: &[u8], len: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut out = vec![0; len + 1];
    let mut zlib = Inflate::new(false, 15);
    let input = [body, &TRAILER].concat();
    zlib.decompress(&input, &mut out, InflateFlush::SyncFlush).map_err(|error| format!("{error:?}"))?;
    out.truncate(zlib.total_out() as usize);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_known_by_what_they_inflate_to() {
        for len in [20, 300, 1024, 16_384, 100_000] {
            let packed = Packed::new(len, false, 3);
            let kind = packed.kind(4, 5);
            assert_eq!(kind.plain.len(), len);
            let mut frame = Header::new(0xc1, kind.compressed.len(), None).as_slice().to_vec();
            frame.extend_from_slice(&kind.compressed);
            assert_eq!(Packed::response_len(&frame), Some(frame.len()));
            assert_eq!(Packed::response_len(&frame[..1]), None);
            for _ in 0..2 {
                packed.check(4, 5, &frame).unwrap();
            }
            let mut plain = Header::new(0x81, len, None).as_slice().to_vec();
            plain.extend_from_slice(&kind.plain);
            packed.check(4, 5, &plain).unwrap();
            *plain.last_mut().unwrap() ^= 1;
            assert!(packed.check(4, 5, &plain).is_err());
            frame[0] ^= 3;
            assert!(packed.check(4, 5, &frame).is_err());
        }
    }

    #[test]
    fn requests_inflate_to_json() {
        let packed = Packed::new(1024, false, 3);
        let mut request = Vec::new();
        packed.push_request(1, 2, [0; 4], &mut request);
        let plain = inflate(&request[8..], 1024).unwrap();
        assert!(
            plain.starts_with(b"{\"type\"") && plain.ends_with(b"\"}]}"),
            "{}",
            String::from_utf8_lossy(&plain)
        );
    }
}
