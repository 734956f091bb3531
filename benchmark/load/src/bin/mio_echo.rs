//! The floor: what an echo costs with one `mio::Poll`, one read and one write, and nothing else.
//!
//! Frames are never assembled: a response header goes out as soon as the request's is known, payload bytes
//! follow as they come, unmasked where they were read. No limits, no checks of what a peer sends: a yardstick
//! for benchmarks, not a server.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use accept::accept_key;
use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

const LISTENER: Token = Token(usize::MAX);
/// Bytes read at once.
const INPUT: usize = 64 << 10;
/// Space before the input for a header whose first bytes came with an earlier read.
const HEADROOM: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).map_or(Ok(0), |word| word.parse())?;
    let mut listener = TcpListener::bind(([127, 0, 0, 1], port).into())?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (port, pid) = (listener.local_addr()?.port(), std::process::id());
    writeln!(io::stdout(), "{{\"port\":{port},\"pid\":{pid}}}")?;

    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut free = Vec::new();
    let mut buffer = vec![0; HEADROOM + INPUT];
    let mut events = Events::with_capacity(1024);
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == LISTENER {
                accept_all(&listener, &poll, &mut connections, &mut free)?;
                continue;
            }
            let slot = event.token().0;
            let Some(connection) = &mut connections[slot] else { continue };
            if !connection.on_event(event, &mut buffer).unwrap_or(false) {
                connections[slot] = None;
                free.push(slot);
            }
        }
    }
}

fn accept_all(
    listener: &TcpListener,
    poll: &Poll,
    connections: &mut Vec<Option<Connection>>,
    free: &mut Vec<usize>,
) -> io::Result<()> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let slot = free.pop().unwrap_or_else(|| {
            connections.push(None);
            connections.len() - 1
        });
        poll.registry().register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE)?;
        connections[slot] = Some(Connection::new(stream));
    }
}

struct Connection {
    stream: TcpStream,
    open: bool,
    /// Bytes of an unfinished request or frame header.
    partial: Vec<u8>,
    /// Payload bytes of the current frame that are still to come, and the key in the phase of the first of
    /// them.
    remaining: u64,
    mask: [u8; 4],
    closing: bool,
    unsent: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let (partial, unsent) = (Vec::new(), Vec::new());
        Self { stream, open: false, partial, remaining: 0, mask: [0; 4], closing: false, unsent }
    }

    /// Echoes what has arrived; false once the connection is over.
    fn on_event(&mut self, event: &Event, buffer: &mut [u8]) -> io::Result<bool> {
        if event.is_writable() && !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            self.write(&unsent)?;
        }
        loop {
            let length = match self.stream.read(&mut buffer[HEADROOM..]) {
                Ok(0) => return Ok(false),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            let end = HEADROOM + length;
            if self.open {
                let answer = self.echo(buffer, end);
                self.write(&buffer[answer])?;
                if self.closing && self.remaining == 0 && self.unsent.is_empty() {
                    return Ok(false);
                }
            } else {
                self.upgrade(&buffer[HEADROOM..end])?;
            }
            // A short read has emptied the socket; only the end of the stream would not be a new event.
            if end < buffer.len() && !event.is_read_closed() {
                return Ok(true);
            }
        }
    }

    fn upgrade(&mut self, input: &[u8]) -> io::Result<()> {
        self.partial.extend_from_slice(input);
        if !self.partial.ends_with(b"\r\n\r\n") {
            return Ok(());
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
        self.write(response.as_bytes())
    }

    /// Turns `buffer[HEADROOM..end]`, frames of a client, into the same frames of a server, in place. Returns
    /// where they are.
    fn echo(&mut self, buffer: &mut [u8], end: usize) -> Range<usize> {
        let mut from = HEADROOM - self.partial.len();
        buffer[from..HEADROOM].copy_from_slice(&self.partial);
        self.partial.clear();
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
                // The first response can begin where its payload need not move.
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
