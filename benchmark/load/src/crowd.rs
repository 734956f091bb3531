//! As many connections as one machine has memory for: what they take, what pings, one message to all and the end cost.

use std::collections::HashMap;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::args::Args;
use crate::open::Opener;
use crate::process::{CpuTime, idle_use, kernel_kib, resident_kib};
use crate::report::Report;
use crate::socket::Socket;

/// Connections that open at once: well below any server's accept queue.
const AT_ONCE: usize = 64;
/// Pings are answered after each so many that have opened.
const PART: usize = 10_000;
/// Connections that are opened and dropped first, so that one-time allocations of a server are not counted.
const FIRST: usize = 100;

const PING: u8 = 0x89;
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// What one connection asks the server for.
const PUBLISH: &str = "publish";
const END: &str = "end";

/// Opens all connections, answers pings for `--hold` seconds, asks for a message to all, and for the end of all.
///
/// # Errors
/// A connection cannot be opened, ends early, or hears something else; or the server's process is not known.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let pid = args.pid.ok_or("crowd mode needs --pid")?;
    drop(Crowd::open(args, FIRST)?);
    idle_use(pid, Duration::ZERO)?;
    let count = args.connections as u64;
    let mut report = Report::new(args);
    let before = Memory::read(pid)?;

    let phase = Phase::begin(pid)?;
    let mut crowd = Crowd::open(args, args.connections)?;
    phase.end(&mut report, "open", count)?;
    crowd.turn_for(Duration::from_secs(2))?;
    Memory::read(pid)?.report(&mut report, &before, count);

    crowd.wait_for_word("opened")?;
    let phase = Phase::begin(pid)?;
    let pings = crowd.pings;
    crowd.turn_for(args.hold)?;
    report.integer("pings", crowd.pings - pings);
    phase.end(&mut report, "ping", crowd.pings - pings)?;

    crowd.wait_for_word("held")?;
    let phase = Phase::begin(pid)?;
    crowd.ask(PUBLISH)?;
    let start = Instant::now();
    for (name, share) in [("publish_p50_s", 0.5), ("publish_p99_s", 0.99), ("publish_p100_s", 1.0)] {
        crowd.turn_until(|crowd| crowd.heard as f64 >= share * count as f64)?;
        report.number(name, start.elapsed().as_secs_f64());
    }
    phase.end(&mut report, "publish", count)?;

    crowd.wait_for_word("told")?;
    let phase = Phase::begin(pid)?;
    crowd.ask(END)?;
    crowd.turn_until(|crowd| crowd.ended == crowd.members.len())?;
    phase.end(&mut report, "end", count)?;
    Ok(report.finish())
}

/// A part of the run, and what it costs the server.
struct Phase {
    pid: u32,
    start: Instant,
    server: CpuTime,
    own: CpuTime,
}

impl Phase {
    fn begin(pid: u32) -> Result<Self, Box<dyn Error>> {
        let own = CpuTime::read(std::process::id())?;
        Ok(Self { pid, start: Instant::now(), server: CpuTime::read(pid)?, own })
    }

    fn end(self, report: &mut Report, name: &str, count: u64) -> Result<(), Box<dyn Error>> {
        let seconds = self.start.elapsed().as_secs_f64();
        let used = CpuTime::read(self.pid)?.since(&self.server);
        let own = CpuTime::read(std::process::id())?.since(&self.own);
        let per = |nanoseconds: u64| nanoseconds as f64 / count.max(1) as f64;
        report.number(&format!("{name}_s"), seconds);
        report.number(&format!("cpu_ns_per_{name}"), per(used.total));
        report.number(&format!("js_cpu_ns_per_{name}"), per(used.main));
        report.number(&format!("load_cpu_share_{name}"), own.total as f64 / 1e9 / seconds);
        Ok(())
    }
}

struct Memory {
    server: u64,
    kernel: u64,
}

impl Memory {
    fn read(pid: u32) -> Result<Self, Box<dyn Error>> {
        Ok(Self { server: resident_kib(pid)?, kernel: kernel_kib()? })
    }

    /// The kernel's part is that of both ends.
    fn report(&self, report: &mut Report, before: &Self, count: u64) {
        let per = |after: u64, before: u64| (after as f64 - before as f64) * 1024.0 / count as f64;
        report.integer("rss_kib", self.server);
        report.number("rss_per_connection_bytes", per(self.server, before.server));
        report.number("kernel_per_connection_bytes", per(self.kernel, before.kernel));
    }
}

/// All connections.
struct Crowd<'a> {
    args: &'a Args,
    poll: Poll,
    events: Events,
    members: Vec<Socket>,
    /// The beginning of a frame, by member.
    parts: HashMap<usize, Vec<u8>>,
    message: Vec<u8>,
    pings: u64,
    heard: u64,
    ended: usize,
    is_ending: bool,
}

impl<'a> Crowd<'a> {
    fn open(args: &'a Args, count: usize) -> Result<Self, Box<dyn Error>> {
        let mut crowd = Self {
            args,
            poll: Poll::new()?,
            events: Events::with_capacity(4096),
            members: Vec::with_capacity(count),
            parts: HashMap::new(),
            message: vec![b'x'; args.payload],
            pings: 0,
            heard: 0,
            ended: 0,
            is_ending: false,
        };
        let mut opener = Opener::new(args, AT_ONCE.min(count))?;
        while crowd.members.len() < count {
            let goal = count.min(crowd.members.len() + PART);
            opener.run(|started| started < goal, |stream, _| crowd.add(stream))?;
            crowd.turn(Some(Duration::ZERO))?;
        }
        Ok(crowd)
    }

    fn add(&mut self, mut stream: Socket) -> Result<(), Box<dyn Error>> {
        // Ports that stay in TIME_WAIT would be missing in the next run.
        stream.reset_on_drop()?;
        self.poll.registry().register(&mut stream, Token(self.members.len()), Interest::READABLE)?;
        self.members.push(stream);
        Ok(())
    }

    /// Lets the first member send a text.
    fn ask(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        self.is_ending = text == END;
        let [first, ..] = &mut self.members[..] else { return Err("nobody is there".into()) };
        // A key of zeros masks nothing.
        let head = [TEXT, 0x80 | text.len() as u8, 0, 0, 0, 0];
        Ok(first.write_all(&[&head[..], text.as_bytes()].concat())?)
    }

    /// Says how far it is, and answers pings until a line comes: so that many of these programs go on together.
    fn wait_for_word(&mut self, reached: &str) -> Result<(), Box<dyn Error>> {
        if !self.args.in_step {
            return Ok(());
        }
        writeln!(std::io::stdout(), "{reached}")?;
        let line = std::thread::spawn(|| std::io::stdin().read_line(&mut String::new()));
        while !line.is_finished() {
            self.turn_for(Duration::from_millis(10))?;
        }
        let length = line.join().map_err(|_| "standard input cannot be read")??;
        if length == 0 { Err("standard input has ended".into()) } else { Ok(()) }
    }

    fn turn_for(&mut self, length: Duration) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + length;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.turn(Some(left))?;
        }
    }

    fn turn_until(&mut self, is_done: impl Fn(&Self) -> bool) -> Result<(), Box<dyn Error>> {
        while !is_done(self) {
            if !self.turn(Some(self.args.timeout))? {
                return Err(format!(
                    "nothing came within the timeout: {} heard, {} ended",
                    self.heard, self.ended
                )
                .into());
            }
        }
        Ok(())
    }

    /// Takes what has come; false if nothing did.
    fn turn(&mut self, timeout: Option<Duration>) -> Result<bool, Box<dyn Error>> {
        self.poll.poll(&mut self.events, timeout)?;
        let ready: Vec<_> = self.events.iter().map(|event| event.token().0).collect();
        for number in &ready {
            self.read(*number).map_err(|error| format!("connection {number}: {error}"))?;
        }
        Ok(!ready.is_empty())
    }

    fn read(&mut self, number: usize) -> Result<(), Box<dyn Error>> {
        let mut input = [0; 1024];
        loop {
            match self.members[number].read(&mut input) {
                Ok(0) if self.is_ending => {
                    self.ended += 1;
                    // It would be reported again.
                    return Ok(self.poll.registry().deregister(&mut self.members[number])?);
                }
                Ok(0) => return Err("the server has ended it".into()),
                Ok(length) => self.take(number, &input[..length])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&mut self, number: usize, input: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut bytes = self.parts.remove(&number).unwrap_or_default();
        bytes.extend_from_slice(input);
        let mut rest = &bytes[..];
        while let [first, length, after @ ..] = rest
            && after.len() >= usize::from(*length)
        {
            let (body, next) = after.split_at(usize::from(*length));
            self.frame(number, *first, body)?;
            rest = next;
        }
        if !rest.is_empty() {
            self.parts.insert(number, rest.to_vec());
        }
        Ok(())
    }

    fn frame(&mut self, number: usize, first: u8, body: &[u8]) -> Result<(), Box<dyn Error>> {
        let answer = match first {
            TEXT if body == self.message => {
                self.heard += 1;
                return Ok(());
            }
            PING => {
                self.pings += 1;
                0x8a
            }
            CLOSE if self.is_ending => CLOSE,
            _ => {
                return Err(format!("a frame {first:#x} of {} bytes that nobody has sent", body.len()).into());
            }
        };
        let head = [answer, 0x80 | body.len() as u8, 0, 0, 0, 0];
        Ok(self.members[number].write_all(&[&head[..], body].concat())?)
    }
}
