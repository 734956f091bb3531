//! One connection of the closed loop.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};

use crate::matcher::Matcher;
use crate::messages::{Messages, push_masked};
use crate::socket::Socket;

/// Bytes read at once; shared by all connections.
pub(crate) const INPUT: usize = 128 << 10;

/// A close frame with code 1000, masked with zeros.
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

/// A connection with its outstanding requests.
pub(crate) struct Connection {
    /// The socket.
    pub(crate) stream: Socket,
    number: usize,
    matcher: Matcher,
    /// Requests sent so far.
    sent: u64,
    /// When each outstanding request was sent, at its sequence number
    /// modulo the length, a power of two.
    sent_at: Box<[u64]>,
    /// The rest of the requests, which the socket did not take.
    unsent: Vec<u8>,
}

/// Responses that one call of [`Connection::receive`] completed: sequence
/// numbers `first .. first + count`.
pub(crate) struct Received {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Connection {
    /// A connection that may have `in_flight` requests outstanding.
    pub(crate) fn new(stream: Socket, number: usize, in_flight: usize) -> Self {
        let sent_at = vec![0; in_flight.next_power_of_two()].into_boxed_slice();
        Self { stream, number, matcher: Matcher::default(), sent: 0, sent_at, unsent: Vec::new() }
    }

    /// Sends `count` more requests in one write. `scratch` is only used during the call.
    pub(crate) fn send(
        &mut self,
        count: u64,
        now: u64,
        messages: &mut Messages,
        scratch: &mut Vec<u8>,
    ) -> io::Result<()> {
        scratch.clear();
        scratch.reserve(count as usize * messages.request_len());
        for _ in 0..count {
            messages.push_request(self.number, self.sent, scratch);
            let slot = self.sent as usize & (self.sent_at.len() - 1);
            self.sent_at[slot] = now;
            self.sent += 1;
        }
        self.write(scratch)
    }

    /// Writes the bytes that the socket did not take before.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()?;
        if self.unsent.is_empty() {
            return Ok(());
        }
        let unsent = std::mem::take(&mut self.unsent);
        self.write(&unsent)
    }

    /// Reads once and compares; `None` when there is nothing to read.
    pub(crate) fn receive(
        &mut self,
        messages: &Messages,
        input: &mut [u8],
    ) -> Result<Option<(Received, usize)>, Box<dyn Error>> {
        let length = match self.stream.read(input) {
            Ok(0) => return Err(format!("connection {}: closed by the server", self.number).into()),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(format!("connection {}: {error}", self.number).into()),
        };
        let first = self.matcher.due;
        let count = self.matcher.feed(self.number, self.sent, messages, &input[..length])?;
        Ok(Some((Received { first, count }, length)))
    }

    /// When request `sequence`, one of the last `in_flight`, was sent.
    pub(crate) fn sent_at(&self, sequence: u64) -> u64 {
        self.sent_at[sequence as usize & (self.sent_at.len() - 1)]
    }

    /// Sequence number of the response that is due.
    pub(crate) fn due(&self) -> u64 {
        self.matcher.due
    }

    /// Requests without a complete response.
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent - self.matcher.due
    }

    /// Begins the closing handshake.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.write(&CLOSE)
    }

    /// Whether the server has answered the closing handshake and closed; false while it may still
    /// do so.
    pub(crate) fn closed(&mut self, answer: &mut Vec<u8>) -> Result<bool, Box<dyn Error>> {
        let mut input = [0; 256];
        loop {
            match self.stream.read(&mut input) {
                Ok(0) if self.matcher.at_boundary() && answer.starts_with(&[0x88, 2, 0x03, 0xe8]) => {
                    return Ok(true);
                }
                Ok(0) => {
                    let number = self.number;
                    return Err(format!(
                        "connection {number}: closed after {answer:02x?}, not a close frame"
                    )
                    .into());
                }
                Ok(length) => answer.extend_from_slice(&input[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(format!("connection {}: {error} while closing", self.number).into()),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while self.unsent.is_empty() && written < bytes.len() {
            match self.stream.write(&bytes[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(&bytes[written..]);
        Ok(())
    }
}

/// Appends a masked frame of less than 126 bytes.
pub(crate) fn push_small_frame(out: &mut Vec<u8>, first_byte: u8, payload: &[u8], mask: [u8; 4]) {
    out.extend_from_slice(&[first_byte, 0x80 | payload.len() as u8]);
    out.extend_from_slice(&mask);
    push_masked(out, payload, mask);
}
