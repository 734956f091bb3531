//! The reactor without a thread: the event loop of the environment runs its turns, on the
//! JavaScript thread.
//!
//! The loop watches the reactor's descriptor. A turn with something to report ends with a call
//! of `wake`, and the reactor does what JavaScript asks for at once, inside the call
//! that asks.

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
use crate::reactor::{Command, Due, Forward, Link, Reactor, ReactorConfig, report_failure, until};

use super::descriptor::is_readable;
use super::drive::{Drive, Flushed};
use super::uv::watch::{Reason, Watch};
use super::wake::Wake;

/// Turns with something to report before others on the loop have theirs.
const MOST_TURNS: u32 = 16;

/// A reactor on the JavaScript thread.
pub(super) struct Inline {
    /// `None` when the reactor has ended. Borrowed for a turn, in which no JavaScript runs.
    reactor: RefCell<Option<Reactor<Forward>>>,
    link: Arc<Link>,
    /// Readable when a socket has something.
    descriptor: i32,
    /// The bell was rung, and `wake` has not been called for it.
    rung: Arc<AtomicBool>,
    /// `wake` is on the stack.
    waking: Cell<bool>,
    /// The time for which the timer has been started.
    armed: Cell<Due>,
    wake: Rc<Wake>,
    watch: RefCell<Option<Watch>>,
}

impl Inline {
    /// A reactor that the loop of `env` drives; `None` where that cannot be, and then it takes a
    /// thread.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        memory: &Array<'_>,
        link: Arc<Link>,
        config: ReactorConfig,
    ) -> Result<Option<Rc<Self>>> {
        let rung = Arc::new(AtomicBool::new(false));
        let ring = rung.clone();
        let ring = Box::new(move || ring.store(true, Ordering::Relaxed));
        let forward = Forward::new(link.clone(), &config, ring);
        let reactor = Reactor::new(forward, config).map_err(|error| super::listen::system_error(&error))?;
        let Some(descriptor) = reactor.descriptor() else { return Ok(None) };
        let inline = Rc::new(Self {
            reactor: RefCell::new(Some(reactor)),
            link,
            descriptor,
            rung,
            waking: Cell::new(false),
            armed: Cell::new(Due::Never),
            wake: Wake::new(env, wake, memory)?,
            watch: RefCell::new(None),
        });
        let target = inline.clone();
        let Some(watch) = Watch::start(env, descriptor, Box::new(move |why| target.on_loop(why))) else {
            return Ok(None);
        };
        *inline.watch.borrow_mut() = Some(watch);
        let target = inline.clone();
        inline.wake.on_cleanup(env, move |_, cleanup| target.close(cleanup))?;
        Ok(Some(inline))
    }

    /// `until_closed` is dropped when the loop has closed its handles.
    fn close<T: 'static>(&self, until_closed: T) {
        let until_closed = Rc::new(until_closed);
        self.stop();
        self.wake.cut(until_closed.clone());
        if let Some(watch) = self.watch.take() {
            watch.close(Box::new(move || drop(until_closed)));
        }
    }

    /// Does what JavaScript asks for, inside its call.
    fn act(&self, step: impl FnOnce(&mut Reactor<Forward>)) {
        self.run(|reactor| {
            step(reactor);
            Ok(())
        });
        self.report_later();
    }

    fn on_loop(&self, why: Reason) {
        if why == Reason::Time {
            self.armed.set(Due::Never);
        }
        // Most of what a message costs when there is little traffic is the way into sleep and back.
        let mut turns = 0;
        while turns < MOST_TURNS {
            turns += u32::from(self.turn());
            if !self.is_spinning() {
                break;
            }
        }
        self.report_later();
    }

    /// A turn of the reactor, and of JavaScript if there is something to report. Returns whether
    /// there was.
    fn turn(&self) -> bool {
        self.run(|reactor| reactor.run_once(Some(Duration::ZERO)));
        if !self.rung.swap(false, Ordering::Relaxed) {
            return false;
        }
        // A handler may run the event loop, which comes here again.
        let outer = self.waking.replace(true);
        self.wake.call();
        self.waking.set(outer);
        true
    }

    /// Whether to look again ahead of the loop, which has nothing else to do at the moment.
    fn is_spinning(&self) -> bool {
        let spinning = self.reactor.borrow_mut().as_mut().is_some_and(Reactor::is_spinning);
        spinning && self.watch.borrow().as_ref().is_some_and(|watch| !watch.event_loop().is_busy())
    }

    /// The bell was rung outside of a turn of the loop: the next turn reports.
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
        report_failure(&self.link, &why, &|| self.rung.store(true, Ordering::Relaxed));
        self.arm(Due::Now);
    }

    /// All sockets close.
    fn end(&self) {
        if let Some(watch) = &*self.watch.borrow() {
            watch.stop();
        }
        self.armed.set(Due::Never);
        // After the end of the watch, which needs the descriptor.
        self.reactor.take();
    }

    /// Sees to it that the next turn comes in time; an earlier one does no harm.
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

impl Drive for Inline {
    fn count(&self) -> usize {
        1
    }

    /// Does what the command says before it returns.
    fn submit(&self, _number: usize, command: Command) -> Result<()> {
        self.act(|reactor| reactor.serve(command));
        Ok(())
    }

    fn is_inline(&self) -> bool {
        true
    }

    /// The records have been applied when this returns, so the arena can be filled again.
    fn flush(&self, mut arena: Arena, last: Option<&[u8]>) -> Flushed {
        let large = std::mem::take(&mut arena.large);
        self.act(|reactor| reactor.serve_records(arena.bytes(), large, last));
        Flushed { next: arena.memory, wanting: false, outcome: Ok(()) }
    }

    fn give_credit(&self, _number: usize) -> Result<()> {
        self.act(Reactor::serve_credit);
        Ok(())
    }

    /// Runs a turn, if there is something to be read. The caller takes the records.
    fn settle(&self) -> bool {
        if is_readable(self.descriptor) {
            self.run(|reactor| reactor.run_once(Some(Duration::ZERO)));
            self.rung.store(false, Ordering::Relaxed);
        }
        true
    }

    fn wake(&self) -> Option<&Wake> {
        Some(&self.wake)
    }

    fn stop(&self) {
        self.run(|reactor| {
            reactor.close();
            Ok(())
        });
        self.end();
    }

    /// Gives back all that the reactor has, as `stop` does, and what ties it to the environment.
    fn retire(&self) {
        self.close(());
    }
}

/// The report to an environment whose reactor cannot go on.
pub(super) fn waiting_failed(error: &io::Error) -> String {
    format!("waiting for events failed: {error}")
}
