//! The floor: what an echo costs with one `mio::Poll`, one read and one write, and nothing else.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use wire::answer::{Answering, HEADROOM};

const LISTENER: Token = Token(usize::MAX);
/// Bytes read at once.
const INPUT: usize = 64 << 10;

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
    answering: Answering,
    unsent: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, answering: Answering::default(), unsent: Vec::new() }
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
            if self.answering.is_open() {
                let answer = self.answering.echo(&mut buffer[..end]);
                self.write(&buffer[answer])?;
                if self.answering.is_over() && self.unsent.is_empty() {
                    return Ok(false);
                }
            } else if let Some(response) = self.answering.upgrade(&buffer[HEADROOM..end])? {
                self.write(response.as_bytes())?;
            }
            // A short read has emptied the socket; only the end of the stream would not be a new event.
            if end < buffer.len() && !event.is_read_closed() {
                return Ok(true);
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
