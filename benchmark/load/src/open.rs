//! Opens connections: TCP and the handshake, several at a time.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::args::{Args, Mode};
use crate::handshake::Handshake;
use crate::messages::Random;
use crate::socket::{Connector, Socket};

/// Connections that open at once: well below any server's accept queue.
const AT_ONCE: usize = 64;

/// Opens `count` connections.
///
/// # Errors
/// A connection cannot be made, its handshake fails, or none gets on within the timeout.
pub(crate) fn open(args: &Args, count: usize) -> Result<Vec<Socket>, Box<dyn Error>> {
    let mut opened = Vec::with_capacity(count);
    Opener::new(args, AT_ONCE.min(count))?.run(
        |started| started < count,
        |stream, _| {
            opened.push(stream);
            Ok(())
        },
    )?;
    Ok(opened)
}

/// Several handshakes at a time; each new one starts when another one is done.
pub(crate) struct Opener<'a> {
    args: &'a Args,
    connector: Connector,
    poll: Poll,
    random: Random,
    slots: Vec<Option<Opening>>,
    started: usize,
}

struct Opening {
    stream: Socket,
    handshake: Handshake,
    unsent: usize,
    since: Instant,
}

impl<'a> Opener<'a> {
    /// An opener of `at_once` connections at a time.
    pub(crate) fn new(args: &'a Args, at_once: usize) -> Result<Self, Box<dyn Error>> {
        let connector = Connector::new(SocketAddr::new(args.host.parse()?, args.port), args.tls())?;
        Ok(Self {
            args,
            connector: if args.mode == Mode::Crowd { connector.spread_over_sources() } else { connector },
            poll: Poll::new()?,
            random: Random::new(args.seed ^ 0x6f70_656e),
            slots: (0..at_once).map(|_| None).collect(),
            started: 0,
        })
    }

    /// Starts connections as long as `more(number started)` holds and hands each open one to
    /// `on_open` with the time it took.
    pub(crate) fn run(
        &mut self,
        mut more: impl FnMut(usize) -> bool,
        mut on_open: impl FnMut(Socket, Duration) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(self.slots.len());
        for slot in 0..self.slots.len() {
            self.fill(slot, &mut more)?;
        }
        while self.slots.iter().any(Option::is_some) {
            self.poll.poll(&mut events, Some(self.args.timeout))?;
            if events.is_empty() {
                return Err("no handshake got on within the timeout".into());
            }
            for event in &events {
                let slot = event.token().0;
                let Some(opening) = &mut self.slots[slot] else { continue };
                if opening.advance()? {
                    if let Some(mut done) = self.slots[slot].take() {
                        self.poll.registry().deregister(&mut done.stream)?;
                        on_open(done.stream, done.since.elapsed())?;
                    }
                    self.fill(slot, &mut more)?;
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, slot: usize, more: &mut impl FnMut(usize) -> bool) -> Result<(), Box<dyn Error>> {
        if !more(self.started) {
            return Ok(());
        }
        self.started += 1;
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.random.next().to_ne_bytes());
        nonce[8..].copy_from_slice(&self.random.next().to_ne_bytes());
        let handshake =
            Handshake::new(&self.args.host, self.args.port, &self.args.path, nonce, self.args.deflate);
        let since = Instant::now();
        let mut stream = self.connector.connect()?;
        self.poll.registry().register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE)?;
        self.slots[slot] = Some(Opening { stream, unsent: handshake.request.len(), handshake, since });
        Ok(())
    }
}

impl Opening {
    /// Writes and reads as much as is possible; true once the connection is open.
    fn advance(&mut self) -> Result<bool, Box<dyn Error>> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error.into());
        }
        while self.unsent > 0 {
            let rest = &self.handshake.request[self.handshake.request.len() - self.unsent..];
            match self.stream.write(rest) {
                Ok(written) => self.unsent -= written,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut input = [0; 4096];
        loop {
            match self.stream.read(&mut input) {
                Ok(0) => return Err("the server closed the connection during the handshake".into()),
                Ok(length) => {
                    if self.handshake.feed(&input[..length])? {
                        self.stream.set_nodelay()?;
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
