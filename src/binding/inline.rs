//! A reactor that the environment's event loop drives, on the JavaScript thread: it runs its turns.
//! Perhaps not always, see `drive.rs`.
//!
//! The loop watches the reactor's descriptor. A turn with something to report ends with a call of
//! `wake`. Requests of JavaScript are served inside their call.

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Result};

use crate::bridge::chunk::Arena;
use crate::bridge::layout::PIPE_SLOTS;
use crate::bridge::seat::Taken;
#[cfg(unix)]
use crate::reactor::Handle;
use crate::reactor::{
    Command, Descriptor, Due, Forward, Link, Reactor, ReactorConfig, StreamOps, TurnCount, report_failure,
    until,
};

use super::drive::{Drive, waiting_failed};
use super::uv::IdleClock;
use super::uv::watch::{Reason, Watch};
use super::wake::Wake;

/// Turns in a row with something to report, before others on the loop get theirs.
const MOST_TURNS: u32 = 16;

pub(super) struct Inline {
    /// Taken during a turn, in which no JavaScript runs.
    drive: Arc<Drive>,
    /// A thread can have it: the poll's descriptor.
    shared: Option<Arc<Descriptor>>,
    /// For the report of a failure.
    slot: u32,
    link: Arc<Link>,
    pub(super) stream_ops: StreamOps,
    /// The bell rang, and `wake` has not been called for it.
    rung: Arc<AtomicBool>,
    /// Calls of `turn_alone`.
    turns: Cell<u32>,
    count: RefCell<TurnCount>,
    waking: Cell<bool>,
    /// `wake` is to be called in the next turn of the loop.
    is_wanted: Cell<bool>,
    /// The descriptor is not watched: the thread has the reactor.
    paused: Cell<bool>,
    /// When the timer is due.
    armed: Cell<Due>,
    pub(super) wake: Rc<Wake>,
    watch: RefCell<Option<Watch>>,
}

impl Inline {
    /// Where the loop of `env` cannot drive it, `turn_alone` must be called now and then.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        memory: &Array<'_>,
        link: Arc<Link>,
        config: ReactorConfig,
        has_libuv: bool,
    ) -> Result<Rc<Self>> {
        let rung = Arc::new(AtomicBool::new(false));
        let ring = rung.clone();
        let ring = Box::new(move || ring.store(true, Ordering::Relaxed));
        let forward = Forward::new(link.clone(), &config, ring);
        let reactor = Reactor::without_sockets(forward, config);
        let drive = Arc::new(Drive::new(reactor, None, Arc::default(), Arc::default()));
        let wake = Wake::new(env, wake, memory)?;
        let inline = Self::new(drive, None, PIPE_SLOTS, link, rung, wake);
        if has_libuv {
            inline.watch(env);
        }
        Ok(inline)
    }

    /// For a reactor with sockets that a thread can take; its records set `rung` while the loop drives.
    /// `None`: no event loop can watch it.
    pub(super) fn share(
        env: &Env,
        drive: Arc<Drive>,
        descriptor: Arc<Descriptor>,
        link: Arc<Link>,
        rung: Arc<AtomicBool>,
        wake: Rc<Wake>,
    ) -> Option<Rc<Self>> {
        let number = number_of(&descriptor);
        let inline = Self::new(drive, Some(descriptor), 0, link, rung, wake);
        inline.watch(env);
        let watched = inline.watch.borrow().as_ref().is_some_and(|watch| watch.watch(env, number));
        if !watched {
            inline.close(&Rc::new(()));
        }
        watched.then_some(inline)
    }

    fn new(
        drive: Arc<Drive>,
        shared: Option<Arc<Descriptor>>,
        slot: u32,
        link: Arc<Link>,
        rung: Arc<AtomicBool>,
        wake: Rc<Wake>,
    ) -> Rc<Self> {
        Rc::new(Self {
            drive,
            shared,
            slot,
            link,
            stream_ops: StreamOps::new(),
            rung,
            turns: Cell::new(0),
            count: RefCell::default(),
            waking: Cell::new(false),
            is_wanted: Cell::new(false),
            paused: Cell::new(false),
            armed: Cell::new(Due::Never),
            wake,
            watch: RefCell::new(None),
        })
    }

    fn watch(self: &Rc<Self>, env: &Env) {
        let target = self.clone();
        *self.watch.borrow_mut() = Watch::start(env, Rc::new(move |why| target.on_loop(why)));
    }

    pub(super) fn close<T: 'static>(&self, until_closed: &Rc<T>) {
        if self.shared.is_none() {
            self.stop();
        }
        if let Some(watch) = self.watch.take() {
            watch.close(until_closed);
        }
    }

    /// False: the thread has the reactor.
    fn act(&self, step: impl FnOnce(&mut Reactor<Forward>)) -> bool {
        let acted = self.run(|reactor| {
            step(reactor);
            Ok(())
        });
        self.report_later();
        acted
    }

    /// Lets it have sockets. False: no event loop can watch them.
    ///
    /// # Errors
    /// The system's: out of descriptors.
    pub(super) fn take_sockets(&self, env: &Env) -> Result<bool> {
        let (watch, mut place) = (self.watch.borrow(), self.drive.seat.try_take());
        let reactor = place.as_mut().and_then(Taken::reactor);
        let (Some(watch), Some(reactor)) = (&*watch, reactor) else { return Ok(false) };
        reactor.take_sockets().map_err(|error| super::listen::thrown(env, &error, None))?;
        Ok(reactor.descriptor().is_some_and(|descriptor| watch.watch(env, descriptor)))
    }

    /// `None`: the reactor has ended, or has no sockets.
    #[cfg(unix)]
    pub(super) fn handle(&self) -> Option<Handle> {
        let mut place = self.drive.seat.try_take()?;
        let reactor = place.reactor()?;
        reactor.descriptor().map(|_| reactor.handle())
    }

    /// Whether the thread does not have the reactor, as far as this one knows.
    pub(super) fn is_here(&self) -> bool {
        !self.drive.seat.is_taken()
    }

    /// `None`: no event loop drives the reactor.
    pub(super) fn idle_clock(&self) -> Option<IdleClock> {
        self.watch.borrow().as_ref().map(Watch::idle_clock)
    }

    pub(super) fn is_driven(&self) -> bool {
        self.watch.borrow().is_some()
    }

    /// A turn, where no event loop drives the reactor.
    pub(super) fn turn_alone(&self) {
        self.turns.set(self.turns.get().wrapping_add(1));
        self.run_once(self.turns.get());
    }

    /// The number of the event loop's turn; 0 if the loop does not drive the reactor.
    pub(super) fn loop_turn(&self) -> u32 {
        self.watch.borrow().as_ref().map_or(0, Watch::turn)
    }

    /// Before any socket is read. False: that is impossible.
    pub(super) fn call_next(&self) -> bool {
        self.is_wanted.set(true);
        self.arm(Due::Now);
        self.is_driven()
    }

    fn run_once(&self, loop_turn: u32) -> bool {
        self.run_part(false, |reactor| {
            reactor.begin_loop_turn(Some(loop_turn));
            reactor.run_once(Some(Duration::ZERO))
        })
    }

    pub(super) fn configure(&self, config: ReactorConfig) {
        self.act(|reactor| reactor.configure(config));
    }

    /// The caller takes the records.
    pub(super) fn on_streams<T>(&self, step: impl FnOnce(&mut Reactor<Forward>) -> T) -> Option<T> {
        let turn = if self.is_driven() { self.loop_turn() } else { self.turns.get() };
        let mut result = None;
        self.run(|reactor| {
            reactor.begin_loop_turn(Some(turn));
            result = Some(step(reactor));
            Ok(())
        });
        self.rung.store(false, Ordering::Relaxed);
        result
    }

    /// The command has been applied when this returns. `Some`: the thread has the reactor.
    pub(super) fn submit(&self, command: Command) -> Option<Command> {
        let mut command = Some(command);
        let acted = self.act(|reactor| {
            if let Some(command) = command.take() {
                reactor.serve(command);
            }
        });
        command.filter(|_| !acted)
    }

    /// The records have been applied when this returns, so the arena can be filled again. `last`
    /// can be the payload of the last record. False: the thread has the reactor, and the records are
    /// untouched.
    pub(super) fn flush(&self, arena: &mut Arena, last: Option<&[u8]>) -> bool {
        self.act(|reactor| {
            let large = std::mem::take(&mut arena.large);
            reactor.serve_records(arena.bytes(), large, last);
        })
    }

    /// False: the thread has the reactor.
    pub(super) fn give_credit(&self) -> bool {
        self.act(Reactor::serve_credit)
    }

    pub(super) fn stop(&self) {
        self.run(|reactor| {
            reactor.close();
            Ok(())
        });
        if let Some(place) = self.drive.seat.try_take() {
            self.end(place);
        }
    }

    /// The thread has given the reactor back, unless it has taken it again.
    pub(super) fn come_back(&self) {
        if self.drive.seat.try_take().is_none() {
            return;
        }
        if self.paused.take()
            && let Some(watch) = &*self.watch.borrow()
        {
            watch.resume();
        }
        self.on_loop(Reason::Readable);
    }

    fn on_loop(&self, why: Reason) {
        if why != Reason::Readable {
            self.armed.set(Due::Never);
        }
        if why == Reason::Turn && self.is_wanted.take() {
            self.call();
        }
        // With little traffic, going to sleep and waking up is most of the cost of a message.
        let mut turns = 0;
        while turns < MOST_TURNS {
            let (driven, reported) = self.turn();
            if !driven {
                self.pause();
                break;
            }
            turns += u32::from(reported);
            if !self.is_spinning() {
                break;
            }
        }
        self.report_later();
    }

    /// A turn of the reactor, unless the thread has it, then of JavaScript if there is something to
    /// report. Returns whether there was each.
    fn turn(&self) -> (bool, bool) {
        let driven = self.run_once(self.loop_turn());
        let reports = self.rung.swap(false, Ordering::Relaxed) || self.stream_ops.is_waiting();
        if reports {
            self.call();
        }
        (driven, reports)
    }

    /// The thread has the reactor, and takes its events.
    fn pause(&self) {
        if !self.paused.replace(true)
            && let Some(watch) = &*self.watch.borrow()
        {
            watch.pause();
        }
    }

    fn call(&self) {
        // A handler can run the event loop, which comes here again.
        let outer = self.waking.replace(true);
        self.wake.call();
        self.waking.set(outer);
    }

    /// Whether to look again at once, because the loop has nothing else to do.
    fn is_spinning(&self) -> bool {
        let mut place = self.drive.seat.try_take();
        let reactor = place.as_mut().and_then(Taken::reactor);
        let spinning = reactor.is_some_and(Reactor::is_spinning);
        drop(place);
        spinning && self.watch.borrow().as_ref().is_some_and(|watch| !watch.event_loop().is_busy())
    }

    /// If the bell rang outside of a turn of the loop, the next turn reports.
    fn report_later(&self) {
        if self.rung.load(Ordering::Relaxed) && !self.waking.get() {
            self.arm(Due::Now);
        }
    }

    /// False: the thread has the reactor.
    fn run(&self, step: impl FnOnce(&mut Reactor<Forward>) -> io::Result<()>) -> bool {
        self.run_part(true, step)
    }

    fn run_part(&self, is_request: bool, step: impl FnOnce(&mut Reactor<Forward>) -> io::Result<()>) -> bool {
        let Some(mut place) = self.drive.seat.try_take() else { return false };
        let Some(reactor) = place.reactor() else {
            drop(place);
            if self.shared.is_some() {
                // An ended reactor's descriptor can stay readable.
                self.pause();
            }
            return true;
        };
        let began = self.shared.is_some().then(|| self.drive.begin_loop());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            step(reactor)?;
            Ok((reactor.last_wait().0, reactor.rest()))
        }));
        let why = match ended {
            Ok(Ok((vain, due))) => {
                if let Some(began) = began {
                    let turns = (!vain).then(|| self.count.borrow_mut().add(is_request, self.loop_turn()));
                    self.drive.on_part(turns, began.elapsed(), due);
                }
                drop(place);
                self.arm(due);
                return true;
            }
            Ok(Err(error)) => waiting_failed(&error),
            Err(_) => "the reactor panicked".to_owned(),
        };
        self.end(place);
        report_failure(&self.link, self.slot, &why, &|| self.rung.store(true, Ordering::Relaxed));
        self.arm(Due::Now);
        true
    }

    /// All sockets close.
    fn end(&self, mut place: Taken<'_, Reactor<Forward>>) {
        if let Some(watch) = &*self.watch.borrow() {
            watch.stop();
        }
        self.armed.set(Due::Never);
        // After the watch has stopped, which needs the descriptor.
        drop(place.end());
        drop(place);
        if self.is_wanted.get() {
            self.arm(Due::Now);
        }
    }

    /// Makes sure that the next turn comes in time; an earlier one does no harm.
    fn arm(&self, due: Due) {
        let Some(watch) = &*self.watch.borrow() else { return };
        match (due, self.armed.get()) {
            (Due::Never, _) | (_, Due::Now) => return,
            (Due::At(at), Due::At(armed)) if armed <= at => return,
            (Due::At(at), _) => watch.start_timer(until(at)),
            (Due::Now, _) => watch.call_next(),
        }
        self.armed.set(due);
    }
}

#[cfg(unix)]
fn number_of(descriptor: &Descriptor) -> i32 {
    std::os::fd::AsRawFd::as_raw_fd(descriptor)
}

#[cfg(not(unix))]
fn number_of(descriptor: &Descriptor) -> i32 {
    match *descriptor {}
}
