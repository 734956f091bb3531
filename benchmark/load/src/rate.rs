//! Handshakes per second.

use std::error::Error;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::echo::{cpu, report_afterwards};
use crate::open::Opener;
use crate::process::CpuTime;
use crate::report::{self, Report};

/// Opens connections as fast as the server takes them, `connections`
/// at a time, and drops each at once.
///
/// # Errors
/// A handshake fails or none gets on within the timeout.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let mut opener = Opener::new(args, args.connections)?;
    let mut histogram = report::histogram();
    let mut turn = |length: Duration, goal: u64| -> Result<(u64, u64), Box<dyn Error>> {
        let end = Instant::now() + length;
        let mut opened = 0;
        let mut resumed = 0;
        let mut started = 0;
        histogram.clear();
        opener.run(
            |_| {
                started += 1;
                started <= goal && Instant::now() < end
            },
            |stream, took| {
                opened += 1;
                resumed += u64::from(stream.is_resumed());
                histogram.saturating_record(took.as_nanos() as u64);
                // A reset leaves no port in TIME_WAIT: there are fewer
                // ports than handshakes in a minute.
                stream.reset_on_drop()?;
                Ok(())
            },
        )?;
        Ok((opened, resumed))
    };
    turn(args.warmup, u64::MAX)?;
    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    let start = Instant::now();
    let (opened, resumed) = turn(
        args.messages.map_or(args.seconds, |_| Duration::from_secs(3600)),
        args.messages.unwrap_or(u64::MAX),
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));

    let mut report = Report::new(args);
    report.integer("handshakes", opened);
    if args.resume {
        report.integer("resumed", resumed);
    }
    report.number("seconds", seconds);
    report.number("handshakes_per_s", opened as f64 / seconds);
    report.costs("handshake", opened, seconds, args.pid.map(|_| &server), &own);
    report.latencies(&histogram);
    report_afterwards(args, &mut report)?;
    Ok(report.finish())
}
