//! One publisher, many subscribers: a message of the publisher must come back on every connection.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::args::Args;
use crate::connection::INPUT;
use crate::echo::{cpu, report_afterwards};
use crate::matcher::Matcher;
use crate::messages::Messages;
use crate::open::open;
use crate::process::CpuTime;
use crate::report::{self, Report};
use crate::socket::Socket;

/// Publishes the next message once all connections have the one before. The reported messages are
/// deliveries; the round trip is that of the last delivery.
///
/// # Errors
/// A delivery is wrong, missing or late.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let mut fanout = Fanout::new(args)?;
    let mut latencies = report::histogram();
    let mut turns = |length: Duration, goal: u64| -> Result<u64, Box<dyn Error>> {
        latencies.clear();
        let end = Instant::now() + length;
        let mut published = 0;
        while published < goal && Instant::now() < end {
            latencies.saturating_record(fanout.publish()?.as_nanos() as u64);
            published += 1;
        }
        Ok(published)
    };
    turns(args.warmup, u64::MAX)?;

    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    let start = Instant::now();
    let length = args.messages.map_or(args.seconds, |_| Duration::from_secs(3600));
    let published = turns(length, args.messages.unwrap_or(u64::MAX))?;
    let seconds = start.elapsed().as_secs_f64();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    let messages = published * args.connections as u64;

    let mut report = Report::new(args);
    report.integer("messages", messages);
    report.number("seconds", seconds);
    report.number("msgs_per_s", messages as f64 / seconds);
    report.costs("msg", messages, seconds, args.pid.map(|_| &server), &own);
    report.latencies(&latencies);
    report_afterwards(args, &mut report)?;
    Ok(report.finish())
}

struct Fanout<'a> {
    args: &'a Args,
    poll: Poll,
    subscribers: Vec<(Socket, Matcher)>,
    messages: Messages,
    published: u64,
    input: Box<[u8]>,
}

impl<'a> Fanout<'a> {
    fn new(args: &'a Args) -> Result<Self, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut subscribers = Vec::with_capacity(args.connections);
        for (number, mut stream) in open(args, args.connections)?.into_iter().enumerate() {
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            subscribers.push((stream, Matcher::default()));
        }
        let messages = Messages::of(args);
        Ok(Self { args, poll, subscribers, messages, published: 0, input: vec![0; INPUT].into_boxed_slice() })
    }

    /// Publishes one message on the first connection and waits until all have it.
    fn publish(&mut self) -> Result<Duration, Box<dyn Error>> {
        let mut request = Vec::new();
        self.messages.push_request(0, self.published, &mut request);
        self.published += 1;
        let start = Instant::now();
        // Nothing else is on its way to the server: a frame that the
        // socket does not take is an error.
        self.subscribers.first_mut().ok_or("no connection")?.0.write_all(&request)?;
        let mut missing = self.subscribers.len() as u64;
        let mut events = Events::with_capacity(1024);
        while missing > 0 {
            self.poll.poll(&mut events, Some(self.args.timeout))?;
            if events.is_empty() {
                return Err(format!("{missing} connections did not get message {}", self.published).into());
            }
            for event in &events {
                missing -= self.receive(event.token().0)?;
            }
        }
        Ok(start.elapsed())
    }

    fn receive(&mut self, number: usize) -> Result<u64, Box<dyn Error>> {
        let (stream, matcher) = &mut self.subscribers[number];
        let mut count = 0;
        loop {
            let length = match stream.read(&mut self.input) {
                Ok(0) => return Err(format!("connection {number}: closed by the server").into()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(count),
                Err(error) => return Err(format!("connection {number}: {error}").into()),
            };
            // All connections get the message of the first one.
            let fed = matcher.feed(0, self.published, &self.messages, &self.input[..length]);
            count += fed.map_err(|error| format!("at subscriber {number}: {error}"))?;
            if stream.is_empty_after(length, self.input.len()) {
                return Ok(count);
            }
        }
    }
}
