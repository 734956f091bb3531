//! What servers send by themselves: the generator asks once, then only reads.
//!
//! Every connection must get the same stream of messages: a sequence number in 12 decimal digits, one more than
//! in the message before, and letters `x` up to the payload's length. Text up to 20 bytes, else binary.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::args::Args;
use crate::connection::{INPUT, push_small_frame};
use crate::echo::{cpu, report_afterwards};
use crate::messages::Header;
use crate::open::open;
use crate::process::CpuTime;
use crate::report::Report;
use crate::socket::Socket;

/// The message that lets a server begin.
const START: &[u8] = b"#start";
const DIGITS: usize = 12;

/// Reads for the window's length, or until `messages` have come.
///
/// # Errors
/// A message is not the next one, or none comes within the timeout.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if args.payload < DIGITS {
        return Err("--payload must be at least 12: messages begin with their number".into());
    }
    let mut push = Push::new(args)?;
    if args.messages.is_none() {
        push.start()?;
        push.read_until(args.warmup, u64::MAX)?;
    }

    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    let (start, before) = (Instant::now(), push.received);
    if let Some(messages) = args.messages {
        push.start()?;
        push.read_until(Duration::from_secs(3600), messages)?;
    } else {
        push.read_until(args.seconds, u64::MAX)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    let messages = push.received - before;

    let mut report = Report::new(args);
    report.integer("messages", messages);
    report.number("seconds", seconds);
    report.number("msgs_per_s", messages as f64 / seconds);
    report.costs("msg", messages, seconds, args.pid.map(|_| &server), &own);
    report_afterwards(args, &mut report)?;
    Ok(report.finish())
}

struct Push<'a> {
    args: &'a Args,
    poll: Poll,
    readers: Vec<Reader>,
    /// A message without its number.
    template: Vec<u8>,
    header: usize,
    input: Box<[u8]>,
    received: u64,
}

struct Reader {
    stream: Socket,
    /// Number of the message that is due; none before the first.
    due: Option<u64>,
    /// Bytes of an unfinished message.
    partial: Vec<u8>,
}

impl<'a> Push<'a> {
    fn new(args: &'a Args) -> Result<Self, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut readers = Vec::with_capacity(args.connections);
        for (number, mut stream) in open(args, args.connections)?.into_iter().enumerate() {
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            readers.push(Reader { stream, due: None, partial: Vec::new() });
        }
        let header = Header::new(if args.binary { 0x82 } else { 0x81 }, args.payload, None);
        let mut template = header.as_slice().to_vec();
        let header = template.len();
        template.resize(header + args.payload, b'x');
        let input = vec![0; INPUT].into_boxed_slice();
        Ok(Self { args, poll, readers, template, header, input, received: 0 })
    }

    fn start(&mut self) -> Result<(), Box<dyn Error>> {
        let mut frame = Vec::new();
        push_small_frame(&mut frame, 0x81, START, [0x5a, 0xa5, 0x3c, 0xc3]);
        self.readers.first_mut().ok_or("no connection")?.stream.write_all(&frame)?;
        Ok(())
    }

    fn read_until(&mut self, length: Duration, goal: u64) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        let end = Instant::now() + length;
        while self.received < goal {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.poll.poll(&mut events, Some(left.min(self.args.timeout)))?;
            if events.is_empty() && left > self.args.timeout {
                return Err("no message within the timeout".into());
            }
            for event in &events {
                let number = event.token().0;
                self.receive(number).map_err(|error| format!("connection {number}: {error}"))?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, number: usize) -> Result<(), Box<dyn Error>> {
        let reader = &mut self.readers[number];
        loop {
            let length = match reader.stream.read(&mut self.input) {
                Ok(0) => return Err("closed by the server".into()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            self.received += reader.take(&self.input[..length], &self.template, self.header)?;
        }
    }
}

impl Reader {
    /// Checks the messages that `input` completes and returns how many there are.
    fn take(&mut self, input: &[u8], template: &[u8], header: usize) -> Result<u64, Box<dyn Error>> {
        let mut rest = input;
        let mut count = 0;
        if !self.partial.is_empty() {
            let missing = (template.len() - self.partial.len()).min(rest.len());
            self.partial.extend_from_slice(&rest[..missing]);
            rest = &rest[missing..];
            if self.partial.len() < template.len() {
                return Ok(0);
            }
            let message = std::mem::take(&mut self.partial);
            self.check(&message, template, header)?;
            count += 1;
        }
        let mut messages = rest.chunks_exact(template.len());
        for message in &mut messages {
            self.check(message, template, header)?;
            count += 1;
        }
        self.partial.extend_from_slice(messages.remainder());
        Ok(count)
    }

    fn check(&mut self, message: &[u8], template: &[u8], header: usize) -> Result<(), Box<dyn Error>> {
        let (digits, fill) = message[header..].split_at(DIGITS);
        let number: u64 = std::str::from_utf8(digits)?.parse()?;
        let due = self.due.unwrap_or(number);
        if message[..header] != template[..header] || fill != &template[header + DIGITS..] || number != due {
            let shown = String::from_utf8_lossy(&message[..message.len().min(40)]);
            return Err(format!("not message {due} but {shown:?}").into());
        }
        self.due = Some(due + 1);
        Ok(())
    }
}
