//! The work of the bare echoes between reading and writing: as little as a WebSocket client
//! accepts.
//!
//! Frames are never assembled: a response header goes out as soon as the request's header is known;
//! payload bytes follow as they come, unmasked where they were read. No limits, no checks of what a
//! peer sends: a yardstick for benchmarks, not a server.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::accept_key;

/// Space before the input for a header whose first bytes came with an earlier read.
pub const HEADROOM: usize = 16;

/// The state of one connection within the stream of its peer.
#[derive(Default)]
pub struct Answering {
    open: bool,
    /// Bytes of an unfinished request or frame header.
    partial: Vec<u8>,
    /// Payload bytes of the current frame that are still to come, and the key, rotated to the first
    /// of them.
    remaining: u64,
    mask: [u8; 4],
    closing: bool,
}

impl Answering {
    /// Whether the handshake is done.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the last bytes ended within a header, so that `echo`
    /// needs the space before its input.
    pub fn needs_headroom(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Whether a complete Close frame has come.
    pub fn is_over(&self) -> bool {
        self.closing && self.remaining == 0
    }

    /// Takes bytes of the request; returns the response once the request is complete.
    ///
    /// # Errors
    /// No key.
    pub fn upgrade(&mut self, input: &[u8]) -> io::Result<Option<String>> {
        self.partial.extend_from_slice(input);
        if !self.partial.ends_with(b"\r\n\r\n") {
            return Ok(None);
        }
        let request = String::from_utf8_lossy(&self.partial);
        let key = request
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"))
            .ok_or(ErrorKind::InvalidData)?;
        let response = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
            accept_key(key.1.trim().as_bytes())
        );
        self.partial = Vec::new();
        self.open = true;
        Ok(Some(response))
    }

    /// Turns `buffer[HEADROOM..]`, frames of a client, into the same frames of a server, in place.
    /// Returns the range of the frames.
    pub fn echo(&mut self, buffer: &mut [u8]) -> Range<usize> {
        let mut from = HEADROOM - self.partial.len();
        if self.needs_headroom() {
            buffer[from..HEADROOM].copy_from_slice(&self.partial);
            self.partial.clear();
        }
        let end = buffer.len();
        let (mut start, mut to) = (from, from);
        while from < end {
            if self.remaining > 0 {
                let length = usize::try_from(self.remaining).map_or(end - from, |left| left.min(end - from));
                unmask(&mut buffer[from..from + length], self.mask);
                self.mask.rotate_left(length % 4);
                self.remaining -= length as u64;
                if to < from {
                    buffer.copy_within(from..from + length, to);
                }
                (from, to) = (from + length, to + length);
                continue;
            }
            let Some((header, length)) = header(&buffer[from..end]) else {
                self.partial.extend_from_slice(&buffer[from..end]);
                break;
            };
            self.remaining = length;
            self.mask.copy_from_slice(&buffer[from + header - 4..from + header]);
            if to == start {
                // The first response can begin at a place where its payload need not move.
                (start, to) = (from + 4, from + 4);
            }
            let first = match buffer[from] {
                0x89 => 0x8a,
                other => other,
            };
            self.closing |= first == 0x88;
            let second = buffer[from + 1] & 0x7f;
            buffer.copy_within(from + 2..from + header - 4, to + 2);
            (buffer[to], buffer[to + 1]) = (first, second);
            (from, to) = (from + header, to + header - 4);
        }
        start..to
    }
}

/// Length of a masked frame's header, and of its payload; None if the header is incomplete.
fn header(input: &[u8]) -> Option<(usize, u64)> {
    let (length, payload) = match input.get(1)? & 0x7f {
        126 => (8, u64::from(u16::from_be_bytes(input.get(2..4)?.try_into().ok()?))),
        127 => (14, u64::from_be_bytes(input.get(2..10)?.try_into().ok()?)),
        short => (6, u64::from(short)),
    };
    (input.len() >= length).then_some((length, payload))
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, tail) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(wide.to_ne_bytes()) {
        *byte ^= key;
    }
}
