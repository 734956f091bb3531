//! Rooms: all members must receive the messages of some, and the time that this takes.

use std::error::Error;
use std::time::Instant;

use crate::args::Args;
use crate::echo::{cpu, report_afterwards};
use crate::process::{CpuTime, resident_kib};
use crate::report::Report;
use crate::topics::crowd::Crowd;

pub(crate) mod avalanche;
mod crowd;
mod member;
mod words;

/// Sends for the window's length, and then reads until every member has received all messages.
///
/// # Errors
/// A delivery is wrong, or missing although no member was cut off.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let mut crowd = Crowd::new(args)?;
    crowd.turn(args.warmup)?;
    crowd.shared.window = crowd.shared.now();
    let resident = args.pid.map_or(Ok(0), resident_kib)?;

    let (server, own) = (cpu(args.pid)?, CpuTime::read(std::process::id())?);
    let (start, received, said) = (Instant::now(), crowd.shared.received, crowd.said);
    crowd.turn_with_cuts(args.seconds)?;
    let seconds = start.elapsed().as_secs_f64();
    let (server, own) = (cpu(args.pid)?.since(&server), CpuTime::read(std::process::id())?.since(&own));
    let (messages, said) = (crowd.shared.received - received, crowd.said - said);
    let resident_after = args.pid.map_or(Ok(0), resident_kib)?;
    crowd.settle()?;

    let shared = &crowd.shared;
    let (heard, expected) = (shared.received, crowd.expected());
    if heard < expected && args.cut_every.is_zero() {
        return Err(format!("{} of {expected} deliveries are missing", expected - heard).into());
    }
    if shared.repeated > 0 {
        return Err(format!("{} deliveries came twice", shared.repeated).into());
    }
    let mut report = Report::new(args);
    report.integer("rooms", args.rooms as u64);
    report.integer("messages", messages);
    report.integer("published", said);
    report.number("seconds", seconds);
    report.number("msgs_per_s", messages as f64 / seconds);
    report.costs("msg", messages, seconds, args.pid.map(|_| &server), &own);
    report.number("js_cpu_ns_per_publish", server.main as f64 / said.max(1) as f64);
    report.latencies(&shared.latencies);
    report.integer("rss_growth_kib", resident_after.saturating_sub(resident));
    if !args.cut_every.is_zero() {
        report.number("delivered_percent", 100.0 * heard as f64 / expected as f64);
        report.integer("recovered", shared.recoveries.len());
        report.integer("unrecovered", shared.unrecovered);
        if !shared.recoveries.is_empty() {
            report.number("recovery_p50_us", shared.recoveries.value_at_quantile(0.5) as f64 / 1e3);
            report.number("recovery_p99_us", shared.recoveries.value_at_quantile(0.99) as f64 / 1e3);
        }
    }
    report_afterwards(args, &mut report)?;
    Ok(report.finish())
}
