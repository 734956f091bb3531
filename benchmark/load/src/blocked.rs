//! An echo load on a server of which the JavaScript thread is blocked for a while: the time that
//! pings take meanwhile, and the memory.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::args::Args;
use crate::connection::push_small_frame;
use crate::echo::ClosedLoop;
use crate::open::open;
use crate::process::resident_kib;
use crate::report::{self, Report};
use crate::socket::Socket;

/// Connections that only ping.
const PINGERS: usize = 8;
/// Time between two pings of one of them, if the first has been answered.
const PERIOD: Duration = Duration::from_millis(5);
/// A masked ping with 4 bytes, and its pong.
const PING: [u8; 10] = [0x89, 0x84, 0, 0, 0, 0, b'p', b'i', b'n', b'g'];
const PONG: [u8; 6] = [0x8a, 4, b'p', b'i', b'n', b'g'];
/// The interval between two looks at the server's memory.
const LOOK: Duration = Duration::from_millis(50);

/// The measurements of the pinging thread.
struct Pings {
    /// Nanoseconds from ping to pong.
    times: Histogram<u64>,
    /// The longest time for which the thread itself did not run: its figures for others cannot be
    /// more precise.
    stall: Duration,
}

/// Blocks the server for `hold` under load, and reports; then every response must come, in order.
///
/// # Errors
/// A response or a pong is wrong, missing or late, or the server's process is not known.
pub(crate) fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let pid = args.pid.ok_or("blocked mode needs --pid")?;
    let mut load = ClosedLoop::new(args, open(args, args.connections)?)?;
    let mut trigger = open(args, 1)?.pop().ok_or("no connection")?;
    let pingers = open(args, PINGERS)?;
    load.start()?;
    load.turn_until(args.warmup, u64::MAX)?;

    let is_over = AtomicBool::new(false);
    let (before, mut most) = (resident_kib(pid)?, 0);
    let (seconds, pings) = std::thread::scope(|scope| {
        let pinging = scope.spawn(|| ping(args, pingers, &is_over).map_err(|error| error.to_string()));
        let seconds = block(args, &mut trigger, &pinging, || {
            load.turn_until(LOOK, u64::MAX)?;
            most = most.max(resident_kib(pid)?);
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        let pings = pinging.join().unwrap_or_else(|_| Err("the pinging thread panicked".to_owned()));
        Ok::<_, Box<dyn Error>>((seconds?, pings?))
    })?;
    load.settle()?;

    let mut report = Report::new(args);
    report.number("blocked_seconds", seconds);
    report.integer("messages", load.received());
    report.integer("pongs", pings.times.len());
    report.latencies(&pings.times);
    report.number("own_stall_us", pings.stall.as_secs_f64() * 1e6);
    report.integer("rss_before_kib", before);
    report.integer("rss_growth_kib", most.saturating_sub(before));
    Ok(report.finish())
}

/// Asks the server to block, and turns until the server reports that it has.
fn block(
    args: &Args,
    trigger: &mut Socket,
    pinging: &ScopedJoinHandle<'_, Result<Pings, String>>,
    mut turn: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let message = format!("#block {}", args.hold.as_millis());
    let mut frame = Vec::new();
    push_small_frame(&mut frame, 0x81, message.as_bytes(), [0x5a, 0xa5, 0x3c, 0xc3]);
    trigger.write_all(&frame)?;
    let begun = Instant::now();
    let mut answer = [0; 64];
    while !pinging.is_finished() && begun.elapsed() < args.hold + args.timeout {
        turn()?;
        match trigger.read(&mut answer) {
            Ok(len) if answer.get(2..len) == Some(message.as_bytes()) => {
                let seconds = begun.elapsed().as_secs_f64();
                return if seconds < args.hold.as_secs_f64() {
                    Err("the server did not block".into())
                } else {
                    Ok(seconds)
                };
            }
            Ok(_) => return Err("the server's answer to #block is another".into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err("pinging failed, or the server is blocked for too long".into())
}

/// Pings until the block is over; then waits for the pongs that are due.
fn ping(args: &Args, pingers: Vec<Socket>, is_over: &AtomicBool) -> Result<Pings, Box<dyn Error>> {
    let mut times = report::histogram();
    let mut pingers: Vec<(Socket, Option<Instant>)> =
        pingers.into_iter().map(|stream| (stream, None)).collect();
    let mut due = Instant::now();
    let (mut looked, mut stall) = (due, Duration::ZERO);
    let mut end = None;
    loop {
        stall = stall.max(looked.elapsed());
        looked = Instant::now();
        if is_over.load(Ordering::Relaxed) && end.is_none() {
            end = Some(Instant::now() + args.timeout);
        }
        if end.is_none() && Instant::now() >= due {
            due = Instant::now() + PERIOD;
            for (stream, sent) in pingers.iter_mut().filter(|(_, sent)| sent.is_none()) {
                *sent = Some(Instant::now());
                stream.write_all(&PING)?;
            }
        }
        for (stream, sent) in &mut pingers {
            let mut pong = [0; PONG.len()];
            match stream.read(&mut pong) {
                Ok(_) if pong == PONG => {
                    let since = sent.take().ok_or("a pong that nobody asked for")?;
                    times.saturating_record(since.elapsed().as_nanos() as u64);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return Err(format!("no pong, but {other:?} {pong:02x?}").into()),
            }
        }
        match end {
            Some(_) if pingers.iter().all(|(_, sent)| sent.is_none()) => return Ok(Pings { times, stall }),
            Some(end) if Instant::now() > end => return Err("a pong is missing".into()),
            // Short against the figures that matter, long against the time that other threads need
            // on this CPU.
            _ => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}
