//! The server is started again, and all members come back at once.
//!
//! The generator prints `ready` when all members are connected. Its caller then ends the server,
//! starts another one, and writes the new port and process id to the generator's standard input, as
//! `port pid`.

use std::error::Error;
use std::io::{BufRead, Write};

use crate::args::Args;
use crate::echo::{cpu, report_afterwards};
use crate::process::CpuTime;
use crate::report::Report;
use crate::topics::crowd::Crowd;

/// Lets all members connect, and connect again.
///
/// # Errors
/// A handshake fails otherwise than by a reset, or a member does not receive the
/// messages that are sent afterwards.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let mut crowd = Crowd::new(args)?;
    crowd.check()?;
    writeln!(std::io::stdout(), "ready")?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let (port, pid) = line.trim().split_once(' ').ok_or("port and pid of the new server are wanted")?;
    let pid = Some(pid.parse()?);
    crowd.cut_all();
    crowd.go_to(port.parse()?)?;

    let (server, own) = (cpu(pid)?, CpuTime::read(std::process::id())?);
    let start = crowd.shared.now();
    let mut times = crowd.open(usize::MAX)?;
    let (server, own) = (cpu(pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize - 1].saturating_sub(start) as f64 / 1e6;
    let (almost, all) = (at(0.95), at(1.0));
    crowd.check()?;

    let mut report = Report::new(args);
    report.integer("handshakes", args.connections as u64);
    report.integer("resets", crowd.resets);
    report.number("back_95_ms", almost);
    report.number("back_100_ms", all);
    report.costs("handshake", args.connections as u64, all / 1e3, Some(&server), &own);
    report_afterwards(&Args { pid, ..args.clone() }, &mut report)?;
    Ok(report.finish())
}
