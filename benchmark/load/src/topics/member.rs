//! One member of a room: it connects, receives, is cut off, and comes back.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::time::Instant;

use hdrhistogram::Histogram;
use mio::{Interest, Registry, Token};

use crate::args::Args;
use crate::connection::{INPUT, push_small_frame};
use crate::handshake::Handshake;
use crate::messages::Random;
use crate::report;
use crate::socket::{Connector, Socket};
use crate::topics::words::{Heard, Words};

/// The state that all members share.
pub(crate) struct Shared {
    pub(crate) words: Words,
    /// When each message was due, by speaker and number, in nanoseconds since the epoch.
    pub(crate) said: Vec<Vec<u64>>,
    /// Deliveries.
    pub(crate) received: u64,
    /// Deliveries of messages that a member had already.
    pub(crate) repeated: u64,
    /// Messages before this time are not in the histogram.
    pub(crate) window: u64,
    pub(crate) latencies: Histogram<u64>,
    /// From the beginning of the handshake to the last message that was missed.
    pub(crate) recoveries: Histogram<u64>,
    /// Members that came back and went on behind a gap.
    pub(crate) unrecovered: u64,
    rooms: usize,
    host: String,
    port: u16,
    random: Random,
    input: Box<[u8]>,
    epoch: Instant,
}

/// A member of a room.
pub(crate) struct Member {
    number: usize,
    state: State,
    /// Bytes of an unfinished frame.
    partial: Vec<u8>,
    unsent: Vec<u8>,
    /// Number of the message that is due, by speaker of the room.
    due: Vec<u32>,
    /// The position to go on from, and Socket.IO's id of the session.
    position: String,
    session: Option<String>,
    /// The times at which the member began to connect and was connected.
    began: u64,
    since: u64,
    /// The number of messages that the first speaker had sent by then, while some of them are
    /// missing.
    missing_to: Option<u32>,
}

enum State {
    Away,
    Opening { stream: Socket, handshake: Handshake, unsent: usize },
    Joining(Socket),
    Up(Socket),
}

impl Shared {
    pub(crate) fn new(args: &Args) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            words: Words::new(args.protocol, args.payload, args.seed)?,
            said: vec![Vec::new(); args.rooms * args.speakers],
            received: 0,
            repeated: 0,
            window: 0,
            latencies: report::histogram(),
            recoveries: report::histogram(),
            unrecovered: 0,
            rooms: args.rooms,
            host: args.host.clone(),
            port: args.port,
            random: Random::new(args.seed ^ 0x6d65_6d62),
            input: vec![0; INPUT].into_boxed_slice(),
            epoch: Instant::now(),
        })
    }

    /// Nanoseconds since the epoch.
    pub(crate) fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

impl Member {
    /// A member that has not connected yet.
    pub(crate) fn new(number: usize, args: &Args) -> Self {
        Self {
            number,
            state: State::Away,
            partial: Vec::new(),
            unsent: Vec::new(),
            due: vec![0; args.speakers],
            position: String::new(),
            session: None,
            began: 0,
            since: 0,
            missing_to: None,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(self.state, State::Away)
    }

    /// Begins to connect.
    pub(crate) fn open(
        &mut self,
        connector: &Connector,
        registry: &Registry,
        shared: &mut Shared,
    ) -> Result<(), Box<dyn Error>> {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&shared.random.next().to_ne_bytes());
        nonce[8..].copy_from_slice(&shared.random.next().to_ne_bytes());
        let position = Some(self.position.as_str()).filter(|position| !position.is_empty());
        let path = shared.words.path(self.number % shared.rooms, position);
        let handshake = Handshake::new(&shared.host, shared.port, &path, nonce, false).may_speak();
        let mut stream = connector.connect()?;
        registry.register(&mut stream, Token(self.number), Interest::READABLE | Interest::WRITABLE)?;
        let unsent = handshake.request.len();
        self.began = shared.now();
        self.state = State::Opening { stream, handshake, unsent };
        Ok(())
    }

    /// Drops the connection.
    pub(crate) fn cut(&mut self) {
        self.state = State::Away;
        self.partial.clear();
        self.unsent.clear();
        self.missing_to = None;
    }

    /// The socket of a member that will not read.
    pub(crate) fn into_stalled(self) -> Option<Socket> {
        match self.state {
            State::Up(stream) => Some(stream),
            _ => None,
        }
    }

    /// Sends a frame, or keeps what the socket does not take.
    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.unsent.extend_from_slice(frame);
        self.flush()
    }

    /// Writes and reads as far as possible.
    pub(crate) fn advance(&mut self, shared: &mut Shared) -> Result<(), Box<dyn Error>> {
        if let State::Opening { stream, handshake, unsent } = &mut self.state {
            if !shake(stream, handshake, unsent)? {
                return Ok(());
            }
            self.shaken(shared)?;
        }
        self.flush()?;
        let mut input = mem::take(&mut shared.input);
        let result = self.read(&mut input, shared);
        shared.input = input;
        result
    }

    fn shaken(&mut self, shared: &mut Shared) -> Result<(), Box<dyn Error>> {
        let State::Opening { stream, handshake, .. } = mem::replace(&mut self.state, State::Away) else {
            return Ok(());
        };
        stream.set_nodelay()?;
        self.state = if shared.words.joins_at_once() { State::Up(stream) } else { State::Joining(stream) };
        self.since = shared.now();
        // In a room with cuts, only the first speaker sends.
        let said = shared.said.get(self.number % shared.rooms).map_or(0, Vec::len) as u32;
        self.missing_to = self.due.first().is_some_and(|due| *due < said).then_some(said);
        let rest = handshake.rest().to_vec();
        self.take(&rest, shared)
    }

    fn flush(&mut self) -> io::Result<()> {
        let (State::Up(stream) | State::Joining(stream)) = &mut self.state else { return Ok(()) };
        let mut written = 0;
        while written < self.unsent.len() {
            match stream.write(&self.unsent[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.drain(..written);
        Ok(())
    }

    fn read(&mut self, input: &mut [u8], shared: &mut Shared) -> Result<(), Box<dyn Error>> {
        loop {
            let (State::Up(stream) | State::Joining(stream)) = &mut self.state else { return Ok(()) };
            let length = match stream.read(input) {
                Ok(0) => return Err("closed by the server".into()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let emptied = stream.is_empty_after(length, input.len());
            self.take(&input[..length], shared)?;
            if emptied {
                return Ok(());
            }
        }
    }

    /// Takes the bytes that were read.
    fn take(&mut self, bytes: &[u8], shared: &mut Shared) -> Result<(), Box<dyn Error>> {
        let mut partial = mem::take(&mut self.partial);
        let whole = if partial.is_empty() {
            bytes
        } else {
            partial.extend_from_slice(bytes);
            &partial
        };
        let (mut rest, now) = (whole, shared.now());
        while let Some((header, end)) = frame(rest)? {
            match rest[0] {
                0x81 => self.hear(&rest[header..end], now, shared)?,
                0x89 => push_small_frame(&mut self.unsent, 0x8a, &rest[header..end], [1, 2, 3, 4]),
                other => return Err(format!("unexpected frame, first byte {other:#04x}").into()),
            }
            rest = &rest[end..];
        }
        let rest = rest.to_vec();
        self.partial = rest;
        Ok(self.flush()?)
    }

    fn hear(&mut self, text: &[u8], now: u64, shared: &mut Shared) -> Result<(), Box<dyn Error>> {
        match shared.words.hear(text)? {
            Heard::Said { speaker, number, position } => {
                if let Some(position) = position {
                    self.position.clear();
                    self.position.push_str(position);
                }
                return self.heard(speaker, number, now, shared);
            }
            Heard::Open => {
                let position = Some(self.position.as_str()).filter(|position| !position.is_empty());
                Words::push_join(self.session.as_deref(), position, &mut self.unsent);
            }
            Heard::Joined { id } => {
                self.session = id.map(str::to_owned);
                if let State::Joining(stream) = mem::replace(&mut self.state, State::Away) {
                    self.state = State::Up(stream);
                }
            }
            Heard::Ping => Words::push_pong(&mut self.unsent),
        }
        Ok(())
    }

    /// Notes a delivery.
    fn heard(
        &mut self,
        speaker: usize,
        number: u32,
        now: u64,
        shared: &mut Shared,
    ) -> Result<(), Box<dyn Error>> {
        let said = shared.said.get(speaker).and_then(|said| said.get(number as usize));
        let (Some(said), true) = (said, speaker % shared.rooms == self.number % shared.rooms) else {
            return Err(format!("message {number} of {speaker} was not said here").into());
        };
        let due = &mut self.due[speaker / shared.rooms];
        if number < *due {
            shared.repeated += 1;
            return Ok(());
        }
        if number > *due && self.missing_to.take().is_some() {
            shared.unrecovered += 1;
        }
        *due = number + 1;
        shared.received += 1;
        if *said >= shared.window.max(self.since) {
            shared.latencies.saturating_record(now.saturating_sub(*said));
        }
        if self.missing_to.is_some_and(|to| *due >= to) {
            self.missing_to = None;
            shared.recoveries.saturating_record(now.saturating_sub(self.began));
        }
        Ok(())
    }
}

/// Writes and reads as much as is possible; true once the handshake is done.
fn shake(stream: &mut Socket, handshake: &mut Handshake, unsent: &mut usize) -> Result<bool, Box<dyn Error>> {
    if let Some(error) = stream.take_error()? {
        return Err(error.into());
    }
    while *unsent > 0 {
        match stream.write(&handshake.request[handshake.request.len() - *unsent..]) {
            Ok(written) => *unsent -= written,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut input = [0; 4096];
    loop {
        match stream.read(&mut input) {
            Ok(0) => return Err("closed during the handshake".into()),
            Ok(length) if handshake.feed(&input[..length])? => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Length of the first frame's header, and where it ends; `None` if it is incomplete.
fn frame(bytes: &[u8]) -> Result<Option<(usize, usize)>, Box<dyn Error>> {
    let Some(second) = bytes.get(1) else { return Ok(None) };
    let extended = match second {
        126 => 2,
        127 => 8,
        128.. => return Err("a server's frame is not masked".into()),
        _ => 0,
    };
    let Some(length) = bytes.get(2..2 + extended) else { return Ok(None) };
    let length = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    let header = 2 + extended;
    let end = header + if extended == 0 { usize::from(*second) } else { length };
    Ok((bytes.len() >= end).then_some((header, end)))
}
