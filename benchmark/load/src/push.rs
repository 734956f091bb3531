//! Messages that servers send by themselves: the generator asks once, then only reads.
//!
//! Every connection must get the same stream of messages: a sequence number in 12 decimal digits,
//! one more than in the message before, and letters `x` up to the payload's length. Messages of up
//! to 20 bytes are text, longer ones binary.

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

/// The message that starts the server's sending.
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
    readers: Vec<(Socket, Numbered)>,
    template: Template,
    input: Box<[u8]>,
    received: u64,
}

/// The bytes of a message without its number.
struct Template {
    bytes: Vec<u8>,
    header: usize,
}

/// The messages of one connection.
#[derive(Default)]
struct Numbered {
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
            readers.push((stream, Numbered::default()));
        }
        let template = Template::new(args.payload, args.binary);
        let input = vec![0; INPUT].into_boxed_slice();
        Ok(Self { args, poll, readers, template, input, received: 0 })
    }

    fn start(&mut self) -> Result<(), Box<dyn Error>> {
        let mut frame = Vec::new();
        push_small_frame(&mut frame, 0x81, START, [0x5a, 0xa5, 0x3c, 0xc3]);
        self.readers.first_mut().ok_or("no connection")?.0.write_all(&frame)?;
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
        let (stream, numbered) = &mut self.readers[number];
        loop {
            let length = match stream.read(&mut self.input) {
                Ok(0) => return Err("closed by the server".into()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            self.received += numbered.take(&self.input[..length], &self.template)?;
        }
    }
}

impl Template {
    fn new(payload: usize, binary: bool) -> Self {
        let header = Header::new(if binary { 0x82 } else { 0x81 }, payload, None);
        let mut bytes = header.as_slice().to_vec();
        let header = bytes.len();
        bytes.resize(header + payload, b'x');
        Self { bytes, header }
    }
}

impl Numbered {
    /// Checks the messages that `input` completes and returns how many there are.
    fn take(&mut self, input: &[u8], template: &Template) -> Result<u64, Box<dyn Error>> {
        let whole = template.bytes.len();
        let mut rest = input;
        let mut count = 0;
        if !self.partial.is_empty() {
            let missing = (whole - self.partial.len()).min(rest.len());
            self.partial.extend_from_slice(&rest[..missing]);
            rest = &rest[missing..];
            if self.partial.len() < whole {
                return Ok(0);
            }
            let message = std::mem::take(&mut self.partial);
            self.check(&message, template)?;
            count += 1;
        }
        let mut messages = rest.chunks_exact(whole);
        for message in &mut messages {
            self.check(message, template)?;
            count += 1;
        }
        self.partial.extend_from_slice(messages.remainder());
        Ok(count)
    }

    fn check(&mut self, message: &[u8], template: &Template) -> Result<(), Box<dyn Error>> {
        let (header, payload) = message.split_at(template.header);
        let (digits, fill) = payload.split_at(DIGITS);
        let number: u64 = std::str::from_utf8(digits)?.parse()?;
        let due = self.due.unwrap_or(number);
        let (expected, rest) = template.bytes.split_at(template.header);
        if header != expected || fill != &rest[DIGITS..] || number != due {
            let shown = String::from_utf8_lossy(&message[..message.len().min(40)]);
            return Err(format!("not message {due} but {shown:?}").into());
        }
        self.due = Some(due + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(template: &Template, numbers: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        for number in numbers {
            let start = out.len() + template.header;
            out.extend_from_slice(&template.bytes);
            out[start..start + DIGITS].copy_from_slice(format!("{number:012}").as_bytes());
        }
        out
    }

    #[test]
    fn counts_messages_at_every_cut() {
        for payload in [12, 13, 200] {
            let template = Template::new(payload, true);
            let bytes = stream(&template, &[7, 8, 9]);
            for cut in 0..=bytes.len() {
                let mut numbered = Numbered::default();
                let first = numbered.take(&bytes[..cut], &template).unwrap();
                assert_eq!(first + numbered.take(&bytes[cut..], &template).unwrap(), 3, "{payload} at {cut}");
            }
        }
    }

    #[test]
    fn finds_gaps_repetitions_and_damage() {
        let template = Template::new(20, false);
        for numbers in [[1, 3], [1, 1], [2, 1]] {
            assert!(Numbered::default().take(&stream(&template, &numbers), &template).is_err());
        }
        let bytes = stream(&template, &[1]);
        for at in 0..bytes.len() {
            let mut numbered = Numbered { due: Some(1), ..Numbered::default() };
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(numbered.take(&damaged, &template).is_err(), "byte {at}");
        }
    }
}
