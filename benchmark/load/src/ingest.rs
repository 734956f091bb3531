//! One-way traffic: the generator sends as fast as the sockets take the bytes, the server counts.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::args::Args;
use crate::connection::push_small_frame;
use crate::echo::{cpu, report_afterwards};
use crate::messages::{MARKER, Messages};
use crate::open::open;
use crate::process::CpuTime;
use crate::report::Report;
use crate::socket::Socket;

/// Bytes prepared for one write.
const BATCH: usize = 64 << 10;

/// Sends for the window's length, then asks every connection for its count. The time until the
/// answers come is part of the window.
///
/// # Errors
/// A count differs from what was sent, or there is no answer within the timeout.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let mut ingest = Ingest::new(args)?;
    ingest.pump(args.warmup, u64::MAX)?;
    ingest.ask()?;

    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    let (start, before) = (Instant::now(), ingest.sent());
    let length = args.messages.map_or(args.seconds, |_| Duration::from_secs(3600));
    ingest.pump(length, args.messages.unwrap_or(u64::MAX))?;
    ingest.ask()?;
    let seconds = start.elapsed().as_secs_f64();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    let messages = ingest.sent() - before;

    let mut report = Report::new(args);
    report.integer("messages", messages);
    report.number("seconds", seconds);
    report.number("msgs_per_s", messages as f64 / seconds);
    report.number("mib_per_s", messages as f64 * args.payload as f64 / seconds / f64::from(1 << 20));
    report.costs("msg", messages, seconds, args.pid.map(|_| &server), &own);
    report_afterwards(args, &mut report)?;
    Ok(report.finish())
}

struct Ingest<'a> {
    args: &'a Args,
    poll: Poll,
    senders: Vec<Sender>,
    messages: Messages,
    scratch: Vec<u8>,
}

struct Sender {
    stream: Socket,
    sent: u64,
    unsent: Vec<u8>,
    writable: bool,
    /// The answer as far as it has arrived; `None` when none is due.
    answer: Option<Vec<u8>>,
}

impl<'a> Ingest<'a> {
    fn new(args: &'a Args) -> Result<Self, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut senders = Vec::with_capacity(args.connections);
        for (number, mut stream) in open(args, args.connections)?.into_iter().enumerate() {
            poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
            senders.push(Sender { stream, sent: 0, unsent: Vec::new(), writable: true, answer: None });
        }
        let messages = Messages::new(args.payload, args.binary, args.seed);
        Ok(Self { args, poll, senders, messages, scratch: Vec::new() })
    }

    fn sent(&self) -> u64 {
        self.senders.iter().map(|sender| sender.sent).sum()
    }

    /// Sends on all connections in turn until `length` has passed
    /// or `goal` more messages were sent.
    fn pump(&mut self, length: Duration, goal: u64) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        let end = Instant::now() + length;
        let full = (BATCH / self.messages.request_len()).max(1);
        let at_once = if self.args.batch == 0 { full } else { self.args.batch } as u64;
        let mut left = goal;
        let mut due = Instant::now();
        while left > 0 && Instant::now() < end {
            let now = Instant::now();
            if now < due {
                self.turn(&mut events, due - now)?;
                continue;
            }
            due = now + self.args.pace;
            let mut wait = self.args.timeout.min(end.saturating_duration_since(now));
            for (number, sender) in self.senders.iter_mut().enumerate().filter(|(_, sender)| sender.writable)
            {
                let count = at_once.min(left);
                self.scratch.clear();
                for sequence in sender.sent..sender.sent + count {
                    self.messages.push_request(number, sequence, &mut self.scratch);
                }
                sender.sent += count;
                left -= count;
                sender.write(&self.scratch)?;
                wait = Duration::ZERO;
            }
            self.turn(&mut events, wait)?;
        }
        Ok(())
    }

    /// Asks every connection for its count and compares.
    fn ask(&mut self) -> Result<(), Box<dyn Error>> {
        for sender in &mut self.senders {
            let mut frame = Vec::new();
            push_small_frame(&mut frame, 0x81, MARKER, [0x5a, 0xa5, 0x3c, 0xc3]);
            sender.answer = Some(Vec::new());
            sender.write(&frame)?;
        }
        let mut events = Events::with_capacity(1024);
        while self.senders.iter().any(|sender| sender.answer.is_some()) {
            if !self.turn(&mut events, self.args.timeout)? {
                return Err("no count from the server within the timeout".into());
            }
        }
        Ok(())
    }

    /// One round of events; false if there was none.
    fn turn(&mut self, events: &mut Events, wait: Duration) -> Result<bool, Box<dyn Error>> {
        self.poll.poll(events, Some(wait))?;
        for event in events.iter() {
            let number = event.token().0;
            let sender = &mut self.senders[number];
            if event.is_writable() {
                sender.stream.flush()?;
                let unsent = std::mem::take(&mut sender.unsent);
                sender.writable = true;
                sender.write(&unsent)?;
            }
            if event.is_readable() {
                let payload = self.args.payload as u64;
                sender.receive(payload).map_err(|error| format!("connection {number}: {error}"))?;
            }
        }
        Ok(!events.is_empty())
    }
}

impl Sender {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut written = 0;
        while self.writable && written < bytes.len() {
            match self.stream.write(&bytes[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.extend_from_slice(&bytes[written..]);
        Ok(())
    }

    fn receive(&mut self, payload: u64) -> Result<(), Box<dyn Error>> {
        let mut input = [0; 256];
        loop {
            let length = match self.stream.read(&mut input) {
                Ok(0) => return Err("closed by the server".into()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let answer = self.answer.as_mut().ok_or("a message that nobody asked for")?;
            answer.extend_from_slice(&input[..length]);
            let expected = [MARKER, format!("{} {}", self.sent, self.sent * payload).as_bytes()].concat();
            if answer.len() >= 2 + expected.len() {
                if answer[2..] != expected[..] || answer[..2] != [0x81, expected.len() as u8] {
                    let (got, sent) = (String::from_utf8_lossy(answer), String::from_utf8_lossy(&expected));
                    return Err(format!("the server counted {got:?}, sent were {sent:?}").into());
                }
                self.answer = None;
            } else if answer.len() >= 2 && answer.len() == 2 + usize::from(answer[1] & 0x7f) {
                let got = String::from_utf8_lossy(answer);
                return Err(format!("the server counted {got:?}, sent were {}", self.sent).into());
            }
        }
    }
}
