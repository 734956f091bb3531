//! A reactor that the event loop drives while it has time to spare, and a thread while it has not.
//!
//! Only the thread decides. While the loop drives, the thread looks every other millisecond; once there
//! is no traffic it sleeps until there is. It takes the reactor if work waits while the loop is stuck
//! in a callback, or if [`Balance`] says so. `inline.rs` is the loop's side. [`Seat`] argues that nothing
//! is lost when the reactor changes hands.
#![expect(clippy::disallowed_methods, reason = "measures both threads")]

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use crate::bridge::seat::{Seat, Taken};
use crate::reactor::{Balance, Descriptor, Due, Forward, Handle, Link, Reactor, Usage, report_failure};

use super::uv::{IdleClock, wait_readable};

/// Between two looks at a loop with traffic; also how long it can be stuck before the thread acts.
const LOOK: Duration = Duration::from_millis(2);
/// A decision looks back for so long.
const WINDOW: Duration = Duration::from_millis(16);
/// Looks without a turn of the loop, after which the thread sleeps.
const QUIET_LOOKS: u32 = 4;
/// How late a due turn of the loop can be before a sleeping thread looks.
const PATIENCE: Duration = Duration::from_millis(50);
/// For tests: whenever the loop has made a turn, the thread makes one.
const EAGER_LOOK: Duration = Duration::from_micros(50);

/// Wakes the JavaScript thread.
pub(super) type Ring = Arc<dyn Fn() + Send + Sync>;

/// What both drivers have.
pub(super) struct Drive {
    pub(super) seat: Seat<Reactor<Forward>>,
    pub(super) handle: Handle,
    /// To the thread that sleeps. The reactor's waker would not do: the loop, which is awake, can take its
    /// event before the thread looks. `None`: there is no thread.
    bell: Option<PipeWriter>,
    began: Instant,
    /// Written by the driver: its records ring the loop.
    by_loop: Arc<AtomicBool>,
    /// Nanoseconds and number of the loop's turns that found something.
    network: AtomicU64,
    turns: AtomicU64,
    /// Nanoseconds of the loop's looks in vain.
    pub(super) looking: Arc<AtomicU64>,
    /// When the loop's next turn is due, in nanoseconds since the beginning.
    due: AtomicU64,
    /// How often the thread has taken the reactor, and for how many nanoseconds in all; since when it
    /// has it, if it has.
    taken: AtomicU64,
    held: AtomicU64,
    since: AtomicU64,
    stops: AtomicBool,
}

const NEVER: u64 = u64::MAX;

impl Drive {
    pub(super) fn new(
        reactor: Reactor<Forward>,
        bell: Option<PipeWriter>,
        by_loop: Arc<AtomicBool>,
        looking: Arc<AtomicU64>,
    ) -> Self {
        let handle = reactor.handle();
        Self {
            seat: Seat::new(reactor),
            handle,
            bell,
            began: Instant::now(),
            by_loop,
            network: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            looking,
            due: AtomicU64::new(NEVER),
            taken: AtomicU64::new(0),
            held: AtomicU64::new(0),
            since: AtomicU64::new(NEVER),
            stops: AtomicBool::new(false),
        }
    }

    /// With the seat taken.
    pub(super) fn begin_loop(&self) -> Instant {
        self.by_loop.store(true, Ordering::Relaxed);
        Instant::now()
    }

    /// The loop has made a turn, or served a request, which took this long. `turns`: `None` for a look in vain.
    pub(super) fn on_part(&self, turns: Option<u64>, took: Duration, due: Due) {
        add(if turns.is_some() { &self.network } else { &self.looking }, took);
        self.turns.fetch_add(turns.unwrap_or(0), Ordering::Relaxed);
        let due = match due {
            Due::Never => NEVER,
            Due::Now => 0,
            Due::At(at) => nanos(at.saturating_duration_since(self.began)),
        };
        self.due.store(due, Ordering::Relaxed);
        if self.seat.made_turn(turns.is_some()) {
            self.rouse();
        }
    }

    fn rouse(&self) {
        if let Some(mut bell) = self.bell.as_ref() {
            // Fails if the thread has ended.
            let _rung = bell.write(&[0]);
        }
    }

    /// The thread ends, after one attempt to write the queued bytes.
    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::Release);
        self.rouse();
    }

    fn now(&self) -> u64 {
        nanos(self.began.elapsed())
    }

    /// Whether the thread drives, how often it has begun to, and nanoseconds with the loop and with the
    /// thread.
    pub(super) fn report(&self) -> [u64; 4] {
        let (now, since) = (self.now(), self.since.load(Ordering::Relaxed));
        let held = self.held.load(Ordering::Relaxed) + now.saturating_sub(since);
        [u64::from(since != NEVER), self.taken.load(Ordering::Relaxed), now.saturating_sub(held), held]
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

fn add(to: &AtomicU64, time: Duration) {
    to.fetch_add(nanos(time), Ordering::Relaxed);
}

/// All counts until now.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    idle: Duration,
    looking: u64,
    network: u64,
    turns: u64,
}

/// The thread's side.
pub(super) struct Companion {
    pub(super) drive: Arc<Drive>,
    pub(super) link: Arc<Link>,
    pub(super) ring: Ring,
    pub(super) clock: IdleClock,
    /// The poll's.
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) bell: PipeReader,
    pub(super) balance: Balance,
    pub(super) eager: bool,
    /// The seat was not free, and the loop has not waited since.
    pub(super) refused: bool,
}

impl Companion {
    pub(super) fn run(mut self) {
        loop {
            let guessed = self.watch();
            if !self.drive(guessed) {
                return;
            }
        }
    }

    /// Returns when the reactor had better be here: true for a guess, false if it must be.
    fn watch(&mut self) -> bool {
        let (mut window, mut quiet) = (self.sample(0, 0), 0);
        loop {
            let (turns, idle) = (self.drive.seat.turns(), self.clock.idle());
            park_timeout(if self.eager { EAGER_LOOK } else { LOOK });
            let is_still = self.drive.seat.turns() == turns;
            self.refused &= self.clock.idle() == idle;
            if self.drive.stops.load(Ordering::Acquire) || (self.eager && !is_still) {
                return false;
            }
            if is_still && self.clock.idle() == idle && self.is_work_waiting() {
                return false;
            }
            let now = self.sample(0, 0);
            if now.at.duration_since(window.at) >= WINDOW {
                let before = mem::replace(&mut window, now);
                if self.balance.leaves_loop(&before.until(&now, true), Duration::from_nanos(self.drive.now()))
                {
                    return true;
                }
            }
            quiet = if is_still { quiet + 1 } else { 0 };
            if quiet >= QUIET_LOOKS {
                self.balance.rests();
                self.sleep(turns);
                (window, quiet) = (self.sample(0, 0), 0);
            }
        }
    }

    fn is_work_waiting(&self) -> bool {
        wait_readable(&self.descriptor, None, Some(Duration::ZERO))
            || !self.drive.handle.outbox().is_empty()
            || self.drive.due.load(Ordering::Relaxed) <= self.drive.now()
    }

    /// Until the loop has something to do, or should have made a turn. `turns`: those until now.
    fn sleep(&self, mut turns: u64) {
        let seat = &self.drive.seat;
        loop {
            let is_still = seat.prepares_to_sleep(turns);
            let due = self.drive.due.load(Ordering::Relaxed);
            let rest =
                (due != NEVER).then(|| Duration::from_nanos(due.saturating_sub(self.drive.now())) + PATIENCE);
            let is_woken = !is_still || wait_readable(&self.descriptor, Some(&self.bell), rest);
            seat.sleep.awake();
            let before = mem::replace(&mut turns, seat.turns());
            if is_woken || turns == before {
                return;
            }
        }
    }

    /// Runs turns until the loop had better. False: the reactor has ended.
    fn drive(&mut self, guessed: bool) -> bool {
        let drive = self.drive.clone();
        let Some(mut place) = self.take(&drive.seat) else { return true };
        let Some(reactor) = place.reactor() else { return false };
        drive.by_loop.store(false, Ordering::Relaxed);
        drive.taken.fetch_add(1, Ordering::Relaxed);
        let since = drive.now();
        drive.since.store(since, Ordering::Relaxed);
        self.balance.taken(guessed, Duration::from_nanos(since));
        let ended = catch_unwind(AssertUnwindSafe(|| self.turns(reactor)));
        drive.since.store(NEVER, Ordering::Relaxed);
        drive.held.fetch_add(drive.now().saturating_sub(since), Ordering::Relaxed);
        let why = match ended {
            Ok(Ok(true)) => {
                // Until the loop's next turn tells.
                drive.due.store(0, Ordering::Relaxed);
                place.give_back(|| (self.ring)());
                return true;
            }
            Ok(Ok(false)) => None,
            Ok(Err(error)) => Some(waiting_failed(&error)),
            Err(_) => Some("the reactor thread panicked".to_owned()),
        };
        // All sockets close with it.
        drop(place.end());
        drop(place);
        if let Some(why) = why {
            report_failure(&self.link, 0, &why, &*self.ring);
        }
        false
    }

    /// `None`: the loop is in the midst of a turn. If it has been at the look before, too, such as with a handler that
    /// sends much with compression, the thread waits for the end of the turn.
    fn take<'a>(&mut self, seat: &'a Seat<Reactor<Forward>>) -> Option<Taken<'a, Reactor<Forward>>> {
        let waits = mem::replace(&mut self.refused, true);
        let mut place = seat.try_take();
        while waits && place.is_none() {
            place = seat.insist();
            if place.is_none() {
                park_timeout(EAGER_LOOK);
            }
        }
        self.refused = place.is_none();
        place
    }

    /// False: it was stopped.
    fn turns(&mut self, reactor: &mut Reactor<Forward>) -> io::Result<bool> {
        reactor.begin_loop_turn(None);
        let (mut network, mut turns) = (Duration::ZERO, 0);
        let mut window = self.sample(0, 0);
        let mut before = Instant::now();
        loop {
            reactor.run_once(Some(if self.eager { LOOK } else { WINDOW }))?;
            if reactor.is_stopping() {
                reactor.close();
                return Ok(false);
            }
            let (now, (vain, waited)) = (Instant::now(), reactor.last_wait());
            if !vain {
                network += now.duration_since(before).saturating_sub(waited);
                turns += 1;
            }
            before = now;
            // The command to stop is in the queue.
            if self.drive.stops.load(Ordering::Acquire) {
                continue;
            }
            if self.eager {
                return Ok(true);
            }
            if now.duration_since(window.at) >= WINDOW {
                let sample = self.sample(nanos(network), turns);
                let usage = mem::replace(&mut window, sample).until(&sample, false);
                if self.balance.leaves_thread(&usage, Duration::from_nanos(self.drive.now())) {
                    return Ok(true);
                }
            }
        }
    }

    /// `network`, `turns`: of the thread.
    fn sample(&self, network: u64, turns: u64) -> Sample {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Sample {
            at: Instant::now(),
            idle: self.clock.idle(),
            looking: of(&self.drive.looking),
            network: of(&self.drive.network) + network,
            turns: of(&self.drive.turns) + turns,
        }
    }
}

impl Sample {
    fn until(&self, now: &Self, by_loop: bool) -> Usage {
        let wall = now.at.duration_since(self.at);
        let [looking, network] =
            [now.looking - self.looking, now.network - self.network].map(Duration::from_nanos);
        let elsewhere = if by_loop { network } else { Duration::ZERO };
        let consumer = wall.saturating_sub(now.idle.saturating_sub(self.idle) + looking + elsewhere);
        Usage { wall, consumer, network, turns: now.turns - self.turns }
    }
}

pub(super) fn waiting_failed(error: &io::Error) -> String {
    format!("waiting for events failed: {error}")
}
