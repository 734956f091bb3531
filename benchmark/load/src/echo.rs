//! Closed loop: every connection keeps its requests outstanding until the measured window is over.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mio::event::Event;
use mio::{Events, Interest, Poll, Token};

use crate::args::Args;
use crate::connection::{Connection, INPUT, Received};
use crate::messages::{Messages, Random};
use crate::open::open;
use crate::process::{self, CpuTime};
use crate::report::{self, Report};
use crate::socket::Socket;

/// Runs the closed loop and reports.
///
/// # Errors
/// A response is wrong, missing or late, or a connection does not close as RFC 6455 section 7 says.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let streams = open(args, args.connections)?;
    let mut load = ClosedLoop::new(args, streams)?;
    load.start()?;
    load.turn_until(args.warmup, u64::MAX)?;

    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    load.begin_window();
    load.turn_until(
        args.messages.map_or(args.seconds, |_| Duration::MAX),
        args.messages.unwrap_or(u64::MAX),
    )?;
    let seconds = load.window_seconds();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    let messages = load.received;

    load.settle()?;
    let mut report = Report::new(args);
    report.integer("messages", messages);
    report.number("seconds", seconds);
    report.number("msgs_per_s", messages as f64 / seconds);
    report.costs("msg", messages, seconds, args.pid.map(|_| &server), &own);
    report.latencies(&load.latencies);
    report_afterwards(args, &mut report)?;
    if !args.no_close {
        load.close()?;
    }
    Ok(report.finish())
}

/// Memory of the server, and its CPU use while its connections are idle.
pub(crate) fn report_afterwards(args: &Args, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let Some(pid) = args.pid else { return Ok(()) };
    report.integer("rss_kib", process::resident_kib(pid)?);
    if !args.quiet.is_zero() {
        let used = process::idle_use(pid, args.quiet)?;
        report.number("idle_cpu_us_per_s", used.total as f64 / 1e3 / args.quiet.as_secs_f64());
    }
    Ok(())
}

/// CPU time of `pid`; zero without a `pid`.
pub(crate) fn cpu(pid: Option<u32>) -> io::Result<CpuTime> {
    pid.map_or_else(|| Ok(CpuTime::default()), CpuTime::read)
}

/// All connections, and the state that they share.
pub(crate) struct ClosedLoop<'a> {
    args: &'a Args,
    poll: Poll,
    connections: Vec<Connection>,
    messages: Messages,
    input: Box<[u8]>,
    scratch: Vec<u8>,
    epoch: Instant,
    /// Nanoseconds since the epoch, as of the last look at the clock.
    now: u64,
    /// Paced requests: the time of each, and its connection.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Whether responses are followed by new requests.
    sending: bool,
    window: u64,
    latencies: Histogram<u64>,
    received: u64,
}

impl<'a> ClosedLoop<'a> {
    /// The sockets.
    pub(crate) fn streams(&mut self) -> impl Iterator<Item = &mut Socket> {
        self.connections.iter_mut().map(|connection| &mut connection.stream)
    }

    /// Takes over open connections.
    pub(crate) fn new(args: &'a Args, streams: Vec<Socket>) -> Result<Self, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(streams.len());
        for (number, mut stream) in streams.into_iter().enumerate() {
            poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
            connections.push(Connection::new(stream, number, args.in_flight));
        }
        Ok(Self {
            args,
            poll,
            connections,
            messages: Messages::of(args),
            input: vec![0; INPUT].into_boxed_slice(),
            scratch: Vec::new(),
            epoch: Instant::now(),
            now: 0,
            waiting: BinaryHeap::new(),
            sending: true,
            window: 0,
            latencies: report::histogram(),
            received: 0,
        })
    }

    /// Sends the first requests: at once, or spread over the pace.
    pub(crate) fn start(&mut self) -> Result<(), Box<dyn Error>> {
        self.look_at_clock();
        let pace = self.args.pace.as_nanos() as u64;
        let mut random = Random::new(self.args.seed ^ 0x7061_6365);
        for number in 0..self.connections.len() {
            if pace == 0 {
                self.send(number, self.args.in_flight as u64)?;
                continue;
            }
            for _ in 0..self.args.in_flight {
                self.waiting.push(Reverse((self.now + random.next() % pace, number)));
            }
        }
        Ok(())
    }

    /// Responses that have been counted.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Begins to count from zero.
    pub(crate) fn begin_window(&mut self) {
        self.look_at_clock();
        self.window = self.now;
        self.received = 0;
        self.latencies.clear();
    }

    fn window_seconds(&self) -> f64 {
        (self.now - self.window) as f64 / 1e9
    }

    /// Turns until `length` has passed or `goal` responses have been counted.
    pub(crate) fn turn_until(&mut self, length: Duration, goal: u64) -> Result<(), Box<dyn Error>> {
        self.look_at_clock();
        let end = self.now.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        let mut events = Events::with_capacity(self.connections.len().clamp(64, 4096));
        let mut progress = (self.received, self.now);
        while self.now < end && self.received < goal {
            self.turn(&mut events, end)?;
            if progress.0 != self.received || self.outstanding_is_zero_while_pacing() {
                progress = (self.received, self.now);
            } else if self.now - progress.1 > self.args.timeout.as_nanos() as u64 {
                let missing: u64 = self.connections.iter().map(Connection::outstanding).sum();
                return Err(format!("no response within the timeout; {missing} are missing").into());
            }
        }
        Ok(())
    }

    /// Sends nothing more and waits for all responses.
    pub(crate) fn settle(&mut self) -> Result<(), Box<dyn Error>> {
        self.sending = false;
        self.waiting.clear();
        // Latencies of the window are complete; responses that arrive now belong to no window.
        self.window = u64::MAX;
        let missing = self.connections.iter().map(Connection::outstanding).sum::<u64>();
        let goal = self.received + missing;
        self.turn_until(Duration::MAX, goal)
    }

    /// Closes all connections with the closing handshake.
    fn close(&mut self) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        let mut answers = vec![Some(Vec::new()); self.connections.len()];
        for connection in &mut self.connections {
            connection.close()?;
        }
        let mut open = self.connections.len();
        while open > 0 {
            self.poll.poll(&mut events, Some(self.args.timeout))?;
            if events.is_empty() {
                return Err(format!("{open} connections did not close within the timeout").into());
            }
            for event in &events {
                let number = event.token().0;
                let Some(answer) = &mut answers[number] else { continue };
                if self.connections[number].closed(answer)? {
                    answers[number] = None;
                    open -= 1;
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self, events: &mut Events, end: u64) -> Result<(), Box<dyn Error>> {
        let due = self.waiting.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
        let wait = Duration::from_nanos(due.min(end).saturating_sub(self.now)).min(self.args.timeout);
        let wait = if self.args.spin { Duration::ZERO } else { wait };
        match self.poll.poll(events, Some(wait)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        self.look_at_clock();
        for event in events.iter() {
            self.on_event(event)?;
        }
        self.send_due()
    }

    fn on_event(&mut self, event: &Event) -> Result<(), Box<dyn Error>> {
        let number = event.token().0;
        if event.is_writable() {
            self.connections[number].flush()?;
        }
        let mut answered = 0;
        loop {
            let connection = &mut self.connections[number];
            let Some((received, length)) = connection.receive(&self.messages, &mut self.input)? else {
                break;
            };
            self.now = self.epoch.elapsed().as_nanos() as u64;
            record(&mut self.latencies, connection, &received, self.now, self.window);
            answered += received.count;
            // A short read has emptied the socket; more would be a new event. Only
            // the end of the stream would not.
            let stream = &self.connections[number].stream;
            if stream.is_empty_after(length, self.input.len()) && !event.is_read_closed() {
                break;
            }
        }
        self.received += answered;
        if answered == 0 || !self.sending {
            return Ok(());
        }
        if self.args.pace.is_zero() {
            return self.send(number, answered);
        }
        let pace = self.args.pace.as_nanos() as u64;
        for back in 1..=answered {
            let sequence = self.connections[number].due() - back;
            let due = self.connections[number].sent_at(sequence) + pace;
            self.waiting.push(Reverse((due, number)));
        }
        Ok(())
    }

    fn send_due(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(&Reverse((due, number))) = self.waiting.peek() {
            if due > self.now {
                break;
            }
            self.waiting.pop();
            self.send(number, 1)?;
        }
        Ok(())
    }

    fn send(&mut self, number: usize, count: u64) -> Result<(), Box<dyn Error>> {
        // The write is part of the round trip: the clock is read before it.
        let now = self.epoch.elapsed().as_nanos() as u64;
        let sent = self.connections[number].send(count, now, &mut self.messages, &mut self.scratch);
        sent.map_err(|error| format!("connection {number}: {error}").into())
    }

    /// All paced connections may be between two requests: then nothing is late.
    fn outstanding_is_zero_while_pacing(&self) -> bool {
        !self.waiting.is_empty() && self.waiting.len() == self.connections.len() * self.args.in_flight
    }

    fn look_at_clock(&mut self) {
        self.now = self.epoch.elapsed().as_nanos() as u64;
    }
}

/// Records the time that `received` took, of requests sent since `window`.
/// Requests of one write share one entry.
fn record(
    latencies: &mut Histogram<u64>,
    connection: &Connection,
    received: &Received,
    now: u64,
    window: u64,
) {
    let (mut sequence, end) = (received.first, received.first + received.count);
    while sequence < end {
        let sent_at = connection.sent_at(sequence);
        let first = sequence;
        while sequence < end && connection.sent_at(sequence) == sent_at {
            sequence += 1;
        }
        if sent_at >= window {
            latencies.saturating_record_n((now - sent_at).max(1), sequence - first);
        }
    }
}
