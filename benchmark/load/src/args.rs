//! Command line of the load generator.

use std::error::Error;
use std::time::Duration;

use crate::messages::MIN_JSON;
use crate::socket::Resume;

/// The mode of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Closed loop: every connection keeps `in_flight` requests
    /// outstanding; every response is compared.
    Echo,
    /// Send only; the server counts, and a marker at the end asks for the count.
    Ingest,
    /// Read only: the server sends by itself after one request.
    Push,
    /// One connection sends, all receive.
    Fanout,
    /// Open connections, hold them, report the server's memory and CPU time.
    Idle,
    /// Handshakes per second: connect, upgrade, drop.
    Rate,
    /// Echo while the server's JavaScript thread is blocked, and pings.
    Blocked,
    /// Rooms in which all members receive the messages of some of them.
    Topics,
    /// All members of all rooms come back at once, to a server that was started again.
    Avalanche,
    /// As many connections as one machine has memory for: open, pinged, told one message, closed.
    Crowd,
}

/// The form of a server's messages to the members of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// A WebSocket message is the text as it was sent.
    Plain,
    /// A line with the position before the text, from which a member goes on when it comes back.
    Topics,
    /// Events of Socket.IO 4.
    SocketIo,
}

impl Mode {
    /// The name on the command line and in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Ingest => "ingest",
            Self::Push => "push",
            Self::Fanout => "fanout",
            Self::Idle => "idle",
            Self::Rate => "rate",
            Self::Blocked => "blocked",
            Self::Topics => "topics",
            Self::Avalanche => "avalanche",
            Self::Crowd => "crowd",
        }
    }
}

/// One run, as asked for on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) mode: Mode,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
    /// The process of which CPU time and memory are read; without it, neither is reported.
    pub(crate) pid: Option<u32>,
    pub(crate) connections: usize,
    /// Payload bytes per message.
    pub(crate) payload: usize,
    /// Requests outstanding per connection.
    pub(crate) in_flight: usize,
    pub(crate) binary: bool,
    /// JSON through permessage-deflate, no context takeover on either side.
    pub(crate) deflate: bool,
    /// Text that is JSON.
    pub(crate) json: bool,
    /// TLS, with whatever certificate the server has.
    pub(crate) tls: bool,
    /// TLS: handshakes go on from an earlier session.
    pub(crate) resume: bool,
    /// Ingest: messages per write; zero = as many as 64 KiB hold.
    pub(crate) batch: usize,
    /// Length of the measured window.
    pub(crate) seconds: Duration,
    /// Ends the measured window after this many messages instead.
    pub(crate) messages: Option<u64>,
    pub(crate) warmup: Duration,
    /// Least time between two requests of one slot of a connection; zero = send at once.
    pub(crate) pace: Duration,
    /// The CPU to run on.
    pub(crate) pin: Option<usize>,
    /// For how long idle mode holds its connections, blocked mode blocks the server, and crowd mode answers pings.
    pub(crate) hold: Duration,
    /// Idle mode: each connection first echoes this many messages.
    pub(crate) touch: u64,
    /// Length of the check that an idle server uses no CPU, after the
    /// measured window; zero = no check.
    pub(crate) quiet: Duration,
    /// Failure after this long without any progress.
    pub(crate) timeout: Duration,
    /// Drop the connections at the end instead of making the closing handshake.
    pub(crate) no_close: bool,
    /// Poll without blocking: the generator's own wake-up is then not part of the latency.
    pub(crate) spin: bool,
    /// Topics: rooms that the connections are members of.
    pub(crate) rooms: usize,
    /// Topics: members of each room that send messages.
    pub(crate) speakers: usize,
    /// Topics: the port to which speakers connect, if it is another.
    pub(crate) speaker_port: Option<u16>,
    /// Topics: messages per second of all speakers; zero = the next message when all members have
    /// the one before.
    pub(crate) rate: f64,
    /// Topics: members that do not read.
    pub(crate) stalled: usize,
    /// Topics: each member but the speakers is cut off this often; zero = never.
    pub(crate) cut_every: Duration,
    /// Topics: the time for which a member stays cut off.
    pub(crate) cut_for: Duration,
    pub(crate) protocol: Protocol,
    /// Crowd: says how far it is, and waits for a line before it goes on.
    pub(crate) in_step: bool,
    pub(crate) seed: u64,
}

/// The help text.
pub(crate) const USAGE: &str = "\
usage: load --port N [options]

  --mode echo|ingest|push|fanout|idle|rate|blocked|topics|avalanche|crowd|latency
                        default echo; latency = echo with 1 connection, 1 in flight
  --host ADDRESS        IP address, default 127.0.0.1
  --path PATH           request target of the handshake, default /
  --pid N               server process to read CPU time and memory of
  --connections N       default 100 (rate: connections opening at once)
  --payload BYTES       default 20
  --in-flight N         requests outstanding per connection, default 1
  --binary | --text     kind of message, default text
  --deflate             JSON through permessage-deflate without context takeover
  --json                text that is JSON
  --tls                 over TLS, with whatever certificate the server has
  --resume              TLS: each handshake goes on from an earlier session, once there is one
  --batch N             ingest: messages of one write, default as many as 64 KiB hold
  --seconds S           measured window, default 1.5
  --messages N          end the window after N messages instead
  --warmup S            before the window, default 0.3
  --pace-ms MS          least time between requests (ingest: between writes), default 0
  --pin CPU             run on this CPU
  --hold S              idle: how long to hold, blocked: how long the server is to block, crowd: how long to answer pings, default 2
  --touch N             idle: messages each connection echoes first, default 0
  --quiet S             check afterwards that the idle server uses no CPU, over S seconds, default 0 = off
  --timeout S           fail after S seconds without progress, default 10
  --no-close            echo: drop the connections in the end instead of the closing handshake
  --spin                poll without blocking
  --rooms N             topics: rooms that the connections are members of, default 1
  --speakers N          topics: members of each room that say something, default 1
  --speaker-port N      topics: speakers connect there, to another server
  --rate N              topics: messages per second of all, default 0 = each when all have the one before
  --stalled N           topics: members that do not read, default 0
  --cut-every S         topics: each member but the speakers is cut off this often, default 0 = never
  --cut-for S           topics: for so long, default 0
  --protocol plain|topics|socketio   topics, avalanche: what the server speaks, default plain
  --in-step             crowd: wait for a line of standard input before each part
  --seed N              of payloads and masks, default 1

Prints one line of JSON. Exit status: 0 = all responses arrived, in order and equal; 1 = not; 2 = bad usage.";

impl Args {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// A sentence that names the argument that is unknown, incomplete, malformed or out of range.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut args = Self::default();
        while let Some(flag) = words.next() {
            match flag.as_str() {
                "--binary" => args.binary = true,
                "--text" => args.binary = false,
                "--deflate" => args.deflate = true,
                "--json" => args.json = true,
                "--tls" => args.tls = true,
                "--resume" => args.resume = true,
                "--no-close" => args.no_close = true,
                "--spin" => args.spin = true,
                "--in-step" => args.in_step = true,
                _ => {
                    let value = words.next().ok_or_else(|| format!("{flag} needs a value"))?;
                    args.set(&flag, &value).map_err(|error| format!("{flag} {value}: {error}"))?;
                }
            }
        }
        args.check()?;
        Ok(args)
    }

    /// How connections use TLS, if they do.
    pub(crate) fn tls(&self) -> Option<Resume> {
        self.tls.then_some(Resume(self.resume))
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<(), Box<dyn Error>> {
        match flag {
            "--mode" => self.set_mode(value)?,
            "--host" => self.host = value.to_owned(),
            "--path" => self.path = value.to_owned(),
            "--port" => self.port = value.parse()?,
            "--pid" => self.pid = Some(value.parse()?),
            "--connections" => self.connections = value.parse()?,
            "--payload" => self.payload = value.parse()?,
            "--in-flight" => self.in_flight = value.parse()?,
            "--batch" => self.batch = value.parse()?,
            "--seconds" => self.seconds = seconds(value)?,
            "--messages" => self.messages = Some(value.parse()?),
            "--warmup" => self.warmup = seconds(value)?,
            "--pace-ms" => self.pace = seconds(value)? / 1000,
            "--pin" => self.pin = Some(value.parse()?),
            "--hold" => self.hold = seconds(value)?,
            "--touch" => self.touch = value.parse()?,
            "--quiet" => self.quiet = seconds(value)?,
            "--timeout" => self.timeout = seconds(value)?,
            "--rooms" => self.rooms = value.parse()?,
            "--speakers" => self.speakers = value.parse()?,
            "--speaker-port" => self.speaker_port = Some(value.parse()?),
            "--rate" => self.rate = value.parse()?,
            "--stalled" => self.stalled = value.parse()?,
            "--cut-every" => self.cut_every = seconds(value)?,
            "--cut-for" => self.cut_for = seconds(value)?,
            "--protocol" => {
                self.protocol = match value {
                    "plain" => Protocol::Plain,
                    "topics" => Protocol::Topics,
                    "socketio" => Protocol::SocketIo,
                    _ => return Err("unknown protocol".into()),
                }
            }
            "--seed" => self.seed = value.parse()?,
            _ => return Err("unknown option".into()),
        }
        Ok(())
    }

    fn set_mode(&mut self, value: &str) -> Result<(), Box<dyn Error>> {
        self.mode = match value {
            "echo" => Mode::Echo,
            "latency" => {
                self.connections = 1;
                self.in_flight = 1;
                Mode::Echo
            }
            "ingest" => Mode::Ingest,
            "push" => Mode::Push,
            "fanout" => Mode::Fanout,
            "idle" => Mode::Idle,
            "rate" => Mode::Rate,
            "blocked" => Mode::Blocked,
            "topics" => Mode::Topics,
            "avalanche" => Mode::Avalanche,
            "crowd" => Mode::Crowd,
            _ => return Err("unknown mode".into()),
        };
        Ok(())
    }

    fn check(&self) -> Result<(), Box<dyn Error>> {
        if self.port == 0 {
            return Err("--port is required".into());
        }
        if self.connections == 0 || self.in_flight == 0 {
            return Err("--connections and --in-flight must be at least 1".into());
        }
        if self.connections >= 1 << 24 {
            return Err("--connections must be below 2^24: a message carries 24 bits of it".into());
        }
        if self.deflate && matches!(self.mode, Mode::Ingest | Mode::Push) {
            return Err("--deflate is for echo, fanout, idle and latency".into());
        }
        if self.rooms == 0 || self.speakers == 0 || self.connections < self.rooms * self.speakers {
            return Err("--rooms and --speakers must be at least 1, and every speaker a connection".into());
        }
        if self.mode == Mode::Crowd && (self.tls || self.payload > 125) {
            return Err("crowd mode is without TLS, and its message has at most 125 bytes".into());
        }
        if self.json && (self.binary || self.deflate || self.payload < MIN_JSON) {
            return Err(format!("--json is text, not compressed, of at least {MIN_JSON} bytes").into());
        }
        Ok(())
    }
}

impl Default for Args {
    fn default() -> Self {
        Self {
            mode: Mode::Echo,
            host: "127.0.0.1".to_owned(),
            port: 0,
            path: "/".to_owned(),
            pid: None,
            connections: 100,
            payload: 20,
            in_flight: 1,
            binary: false,
            deflate: false,
            json: false,
            tls: false,
            resume: false,
            batch: 0,
            seconds: Duration::from_millis(1500),
            messages: None,
            warmup: Duration::from_millis(300),
            pace: Duration::ZERO,
            pin: None,
            hold: Duration::from_secs(2),
            touch: 0,
            quiet: Duration::ZERO,
            timeout: Duration::from_secs(10),
            no_close: false,
            spin: false,
            rooms: 1,
            speakers: 1,
            speaker_port: None,
            rate: 0.0,
            stalled: 0,
            cut_every: Duration::ZERO,
            cut_for: Duration::ZERO,
            protocol: Protocol::Plain,
            in_step: false,
            seed: 1,
        }
    }
}

fn seconds(value: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from_secs_f64(value.parse()?)?)
}
