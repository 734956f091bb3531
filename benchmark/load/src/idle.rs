//! The cost of an idle connection: memory, and CPU time (which should be zero).

use std::error::Error;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use crate::args::Args;
use crate::echo::{ClosedLoop, cpu};
use crate::open::open;
use crate::process::{CpuTime, idle_use, resident_kib};
use crate::report::Report;

/// Connections that are opened, used and dropped first, so that one-time allocations of a server
/// are not counted.
const FIRST: usize = 100;

/// Opens all connections, holds them, and reports the server's memory before and after.
///
/// # Errors
/// A connection cannot be opened or does not stay open, or the server's process is not known.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let pid = args.pid.ok_or("idle mode needs --pid")?;
    touch(args, FIRST, args.touch.max(1))?;
    idle_use(pid, Duration::ZERO)?;
    let before = resident_kib(pid)?;

    let start = std::time::Instant::now();
    let server = cpu(args.pid)?;
    let mut held = touch(args, args.connections, args.touch)?;
    let (seconds, opening) = (start.elapsed().as_secs_f64(), cpu(args.pid)?.since(&server));
    let idle = idle_use(pid, args.hold)?;
    let after = resident_kib(pid)?;
    held.expect_open()?;

    let own = CpuTime::read(std::process::id())?;
    let mut report = Report::new(args);
    report.integer("touch", args.touch);
    report.number("seconds", seconds);
    report.costs("connection", args.connections as u64, seconds, Some(&opening), &own.since(&own));
    report.integer("rss_before_kib", before);
    report.integer("rss_kib", after);
    report.number(
        "rss_per_connection_bytes",
        (after as f64 - before as f64) * 1024.0 / args.connections as f64,
    );
    report.number("idle_cpu_us_per_s", idle.total as f64 / 1e3 / args.hold.as_secs_f64());
    Ok(report.finish())
}

/// Opens `count` connections and echoes `messages` on each.
fn touch(args: &Args, count: usize, messages: u64) -> Result<ClosedLoop<'_>, Box<dyn Error>> {
    let mut load = ClosedLoop::new(args, open(args, count)?)?;
    if messages > 0 {
        load.start()?;
        load.turn_until(Duration::MAX, messages * count as u64)?;
        load.settle()?;
    }
    Ok(load)
}

impl ClosedLoop<'_> {
    /// Checks that all connections are open and silent.
    fn expect_open(&mut self) -> Result<(), Box<dyn Error>> {
        for (number, stream) in self.streams().enumerate() {
            match stream.read(&mut [0; 16]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => {
                    return Err(format!("connection {number} did not stay open and silent: {other:?}").into());
                }
            }
        }
        Ok(())
    }
}
