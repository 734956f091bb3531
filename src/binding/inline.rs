//! The reactor without a thread: the environment's event loop runs its turns, on the JavaScript
//! thread.
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
use crate::bridge::read_buffer::Lent;
use crate::reactor::{Command, Due, Forward, Link, Reactor, ReactorConfig, StreamOps, report_failure, until};

use super::uv::watch::{Reason, Watch};
use super::wake::Wake;

/// Turns in a row with something to report, before others on the loop get theirs.
const MOST_TURNS: u32 = 16;

pub(super) struct Inline {
    /// `None` once the reactor has ended. Borrowed during a turn, in which no JavaScript runs.
    reactor: RefCell<Option<Reactor<Forward>>>,
    link: Arc<Link>,
    pub(super) stream_ops: StreamOps,
    /// The bell rang, and `wake` has not been called for it.
    rung: Arc<AtomicBool>,
    /// Calls of `turn_alone`.
    turns: Cell<u32>,
    waking: Cell<bool>,
    /// `wake` is to be called in the next turn of the loop.
    is_wanted: Cell<bool>,
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
        let inline = Rc::new(Self {
            reactor: RefCell::new(Some(Reactor::without_sockets(forward, config))),
            link,
            stream_ops: StreamOps::new(),
            rung,
            turns: Cell::new(0),
            waking: Cell::new(false),
            is_wanted: Cell::new(false),
            armed: Cell::new(Due::Never),
            wake: Wake::new(env, wake, memory)?,
            watch: RefCell::new(None),
        });
        if has_libuv {
            let target = inline.clone();
            *inline.watch.borrow_mut() = Watch::start(env, Rc::new(move |why| target.on_loop(why)));
        }
        Ok(inline)
    }

    pub(super) fn close<T: 'static>(&self, until_closed: &Rc<T>) {
        self.stop();
        if let Some(watch) = self.watch.take() {
            watch.close(until_closed);
        }
    }

    fn act(&self, step: impl FnOnce(&mut Reactor<Forward>)) {
        self.run(|reactor| {
            step(reactor);
            Ok(())
        });
        self.report_later();
    }

    /// Lets it have sockets. False: no event loop can watch them.
    ///
    /// # Errors
    /// The system's: out of descriptors.
    pub(super) fn take_sockets(&self, env: &Env) -> Result<bool> {
        let (watch, mut reactor) = (self.watch.borrow(), self.reactor.borrow_mut());
        let (Some(watch), Some(reactor)) = (&*watch, &mut *reactor) else { return Ok(false) };
        reactor.take_sockets().map_err(|error| super::listen::thrown(env, &error, None))?;
        Ok(reactor.descriptor().is_some_and(|descriptor| watch.watch(env, descriptor)))
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

    fn run_once(&self, loop_turn: u32) {
        self.run(|reactor| {
            reactor.begin_loop_turn(loop_turn);
            reactor.run_once(Some(Duration::ZERO))
        });
    }

    pub(super) fn configure(&self, config: ReactorConfig) {
        self.act(|reactor| reactor.configure(config));
    }

    /// The caller takes the records.
    pub(super) fn on_streams<T>(&self, step: impl FnOnce(&mut Reactor<Forward>) -> T) -> Option<T> {
        let turn = if self.is_driven() { self.loop_turn() } else { self.turns.get() };
        let mut result = None;
        self.run(|reactor| {
            reactor.begin_loop_turn(turn);
            result = Some(step(reactor));
            Ok(())
        });
        self.rung.store(false, Ordering::Relaxed);
        result
    }

    /// The command has been applied when this returns.
    pub(super) fn submit(&self, command: Command) {
        self.act(|reactor| reactor.serve(command));
    }

    /// The records have been applied when this returns, so the arena can be filled again. `last`
    /// can be the payload of the last record.
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>) -> Box<dyn Lent> {
        let large = std::mem::take(&mut arena.large);
        self.act(|reactor| reactor.serve_records(arena.bytes(), large, last));
        arena.memory
    }

    pub(super) fn give_credit(&self) {
        self.act(Reactor::serve_credit);
    }

    pub(super) fn stop(&self) {
        self.run(|reactor| {
            reactor.close();
            Ok(())
        });
        self.end();
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
            turns += u32::from(self.turn());
            if !self.is_spinning() {
                break;
            }
        }
        self.report_later();
    }

    /// A turn of the reactor, then of JavaScript if there is something to report. Returns whether
    /// there was.
    fn turn(&self) -> bool {
        self.run_once(self.loop_turn());
        if !self.rung.swap(false, Ordering::Relaxed) && !self.stream_ops.is_waiting() {
            return false;
        }
        self.call();
        true
    }

    fn call(&self) {
        // A handler can run the event loop, which comes here again.
        let outer = self.waking.replace(true);
        self.wake.call();
        self.waking.set(outer);
    }

    /// Whether to look again at once, because the loop has nothing else to do.
    fn is_spinning(&self) -> bool {
        let spinning = self.reactor.borrow_mut().as_mut().is_some_and(Reactor::is_spinning);
        spinning && self.watch.borrow().as_ref().is_some_and(|watch| !watch.event_loop().is_busy())
    }

    /// If the bell rang outside of a turn of the loop, the next turn reports.
    fn report_later(&self) {
        if self.rung.load(Ordering::Relaxed) && !self.waking.get() {
            self.arm(Due::Now);
        }
    }

    fn run(&self, step: impl FnOnce(&mut Reactor<Forward>) -> io::Result<()>) {
        let Ok(mut place) = self.reactor.try_borrow_mut() else { return };
        let Some(reactor) = place.as_mut() else { return };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            step(reactor)?;
            Ok(reactor.rest())
        }));
        let why = match ended {
            Ok(Ok(due)) => return self.arm(due),
            Ok(Err(error)) => waiting_failed(&error),
            Err(_) => "the reactor panicked".to_owned(),
        };
        drop(place);
        self.end();
        report_failure(&self.link, PIPE_SLOTS, &why, &|| self.rung.store(true, Ordering::Relaxed));
        self.arm(Due::Now);
    }

    /// All sockets close.
    fn end(&self) {
        if let Some(watch) = &*self.watch.borrow() {
            watch.stop();
        }
        self.armed.set(Due::Never);
        // After the watch has stopped, which needs the descriptor.
        self.reactor.take();
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

pub(super) fn waiting_failed(error: &io::Error) -> String {
    format!("waiting for events failed: {error}")
}
