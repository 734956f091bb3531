//! Load generator for WebSocket echo servers: one thread, one `mio::Poll`,
//! every response compared byte by byte.
//!
//! The generator is not a client library: it sends what the benchmarks need, and fails on
//! everything that they do not expect.

mod args;
mod blocked;
mod connection;
mod crowd;
mod echo;
mod fanout;
mod handshake;
mod idle;
mod ingest;
mod matcher;
mod messages;
mod open;
mod packed;
mod process;
mod push;
mod rate;
mod report;
mod socket;
mod topics;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use args::{Args, Mode, USAGE};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => return fail(&format!("{error}\n\n{USAGE}"), 2),
    };
    match run(&args).and_then(|line| Ok(writeln!(std::io::stdout(), "{line}")?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string(), 1),
    }
}

fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    process::raise_file_limit()?;
    if let Some(cpu) = args.pin {
        process::pin(cpu)?;
    }
    match args.mode {
        Mode::Echo => echo::run(args),
        Mode::Ingest => ingest::run(args),
        Mode::Push => push::run(args),
        Mode::Fanout => fanout::run(args),
        Mode::Idle => idle::run(args),
        Mode::Rate => rate::run(args),
        Mode::Blocked => blocked::run(args),
        Mode::Topics => topics::run(args),
        Mode::Avalanche => topics::avalanche::run(args),
        Mode::Crowd => crowd::run(args),
    }
}

fn fail(message: &str, status: u8) -> ExitCode {
    // If this write fails, there is nowhere left to report it.
    let _ = writeln!(std::io::stderr(), "load: {message}");
    ExitCode::from(status)
}
