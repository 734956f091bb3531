//! The floor: the cost of an echo with one `mio::Poll`, one read and one write, and no other work.
//!
//! Messages that are read together are answered together, behind all reads: with large messages
//! that costs a tenth less than answering each before the next is read.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use wire::answer::{Answering, HEADROOM};

const LISTENER: Token = Token(usize::MAX);
/// Bytes read at once.
const INPUT: usize = 64 << 10;
/// Bytes read before they are answered.
const TURN: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).map_or(Ok(0), |word| word.parse())?;
    let mut listener = TcpListener::bind(([127, 0, 0, 1], port).into())?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (port, pid) = (listener.local_addr()?.port(), std::process::id());
    writeln!(io::stdout(), "{{\"port\":{port},\"pid\":{pid}}}")?;

    let mut connections = Connections::default();
    let mut turn = Turn { bytes: vec![0; TURN], used: 0, answers: Vec::new() };
    let mut events = Events::with_capacity(1024);
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == LISTENER {
                connections.accept_all(&listener, &poll)?;
            } else {
                connections.on_event(event, &mut turn);
            }
        }
        connections.answer(&mut turn);
    }
}

/// Bytes that have been read and not been answered.
struct Turn {
    bytes: Vec<u8>,
    used: usize,
    /// The ranges of the answers, and their connections.
    answers: Vec<(usize, Range<usize>)>,
}

impl Turn {
    fn is_full(&self) -> bool {
        self.bytes.len() - self.used < HEADROOM + INPUT
    }
}

#[derive(Default)]
struct Connections {
    by_slot: Vec<Option<Connection>>,
    free: Vec<usize>,
}

impl Connections {
    fn accept_all(&mut self, listener: &TcpListener, poll: &Poll) -> io::Result<()> {
        loop {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let slot = self.free.pop().unwrap_or_else(|| {
                self.by_slot.push(None);
                self.by_slot.len() - 1
            });
            poll.registry().register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE)?;
            self.by_slot[slot] = Some(Connection::new(stream));
        }
    }

    fn on_event(&mut self, event: &Event, turn: &mut Turn) {
        let slot = event.token().0;
        loop {
            if turn.is_full() {
                self.answer(turn);
            }
            let Some(connection) = &mut self.by_slot[slot] else { return };
            match connection.on_event(event, slot, turn) {
                Ok(Next::Read) => {}
                Ok(Next::Wait) => return,
                // Before its slot can belong to another connection.
                Ok(Next::Close) => {
                    self.answer(turn);
                    return self.close_if_written(slot);
                }
                Ok(Next::End) | Err(_) => {
                    self.answer(turn);
                    return self.close(slot);
                }
            }
        }
    }

    /// Writes the answers to the bytes that have been read.
    fn answer(&mut self, turn: &mut Turn) {
        for (slot, answer) in turn.answers.drain(..) {
            let Some(connection) = &mut self.by_slot[slot] else { continue };
            if connection.write(&turn.bytes[answer]).is_err() {
                self.close(slot);
            }
        }
        turn.used = 0;
    }

    /// Otherwise the peer closes.
    fn close_if_written(&mut self, slot: usize) {
        if self.by_slot[slot].as_ref().is_some_and(|connection| connection.unsent.is_empty()) {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: usize) {
        if self.by_slot[slot].take().is_some() {
            self.free.push(slot);
        }
    }
}

/// The step that follows a read.
enum Next {
    Read,
    Wait,
    /// A Close frame has come, and is answered.
    Close,
    /// The peer is gone.
    End,
}

struct Connection {
    stream: TcpStream,
    answering: Answering,
    unsent: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, answering: Answering::default(), unsent: Vec::new() }
    }

    /// Reads once, and makes the answer.
    fn on_event(&mut self, event: &Event, slot: usize, turn: &mut Turn) -> io::Result<Next> {
        if event.is_writable() && !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            self.write(&unsent)?;
        }
        let start = turn.used + HEADROOM;
        let length = match self.stream.read(&mut turn.bytes[start..start + INPUT]) {
            Ok(0) => return Ok(Next::End),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Next::Wait),
            Err(error) => return Err(error),
        };
        let input = &mut turn.bytes[turn.used..start + length];
        if self.answering.is_open() {
            let answer = self.answering.echo(input);
            turn.answers.push((slot, turn.used + answer.start..turn.used + answer.end));
            turn.used += HEADROOM + length;
            if self.answering.is_over() {
                return Ok(Next::Close);
            }
        } else if let Some(response) = self.answering.upgrade(&input[HEADROOM..])? {
            self.write(response.as_bytes())?;
        }
        // A short read has emptied the socket; only the end of the stream would not be a new event.
        Ok(if length < INPUT && !event.is_read_closed() { Next::Wait } else { Next::Read })
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
