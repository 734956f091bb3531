//! Reactors in threads of their own.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::room::Lent;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure};

use super::callback::{Callback, on_cleanup};
use super::crossing::Delivered;
use super::drive::Flushed;
use super::inline::waiting_failed;
use super::lingering::Lingering;
use super::reactor::system_error;
use super::uv::{EventLoop, Signal};

/// The threads of one environment and the ways to their reactors.
pub(super) struct Threads {
    handles: Vec<Handle>,
    running: Running,
}

/// What must be stopped and joined, until somebody does.
type Running = Arc<Mutex<Vec<(Handle, JoinHandle<()>)>>>;

impl Threads {
    /// A thread for each link.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        links: &[Arc<Link>],
        config: ReactorConfig,
        delivered: &Rc<Delivered>,
        has_libuv: bool,
    ) -> Result<Self> {
        let config = config.shared_by(links.len());
        let lingering = Lingering::new(links.to_vec(), delivered.clone(), config.spin);
        let running: Running = Arc::default();
        // What may fail comes first: a bell that was hung up stays as long as the environment.
        let bell: Arc<OnceLock<Ring>> = Arc::default();
        let forwards = links.iter().map(|link| {
            let bell = bell.clone();
            let ring = move || {
                if let Some(ring) = bell.get() {
                    ring();
                }
            };
            Forward::new(link.clone(), config.total_mark, Box::new(ring)).in_thread()
        });
        let reactors = reactors(forwards.collect(), config).map_err(|error| system_error(&error))?;
        let ring = match has_libuv {
            true => signal(env, wake, &running, lingering)?,
            false => None,
        };
        let ring = match ring {
            Some(ring) => ring,
            None => threadsafe_function(env, wake, &running)?,
        };
        let ring = bell.get_or_init(|| ring).clone();
        let handles: Vec<_> = reactors.iter().map(Reactor::handle).collect();
        for ((reactor, handle), link) in reactors.into_iter().zip(&handles).zip(links) {
            let (link, ring) = (link.clone(), ring.clone());
            let thread = std::thread::Builder::new()
                .name("reactor-ws".to_owned())
                .spawn(move || run(reactor, &link, &*ring))
                .map_err(|error| {
                    stop(&running);
                    system_error(&error)
                })?;
            lock(&running).push((handle.clone(), thread));
        }
        Ok(Self { handles, running })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.handles.len()
    }

    /// Asks something of one.
    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        self.handle(number)?.submit(command).map_err(|error| system_error(&error))
    }

    /// Hands an arena to the first, which is the only one.
    pub(super) fn flush(&self, arena: Arena) -> Flushed {
        let handle = match self.handle(0) {
            Ok(handle) => handle,
            Err(error) => return Flushed { next: arena.memory, wanting: false, outcome: Err(error) },
        };
        let (next, wanting, command) = match handle.arena() {
            Some(next) => (next, false, Command::Arena(arena)),
            // The reactor has all others: it gets a copy.
            None => {
                let mut bytes = handle.buffer();
                bytes.extend_from_slice(arena.bytes());
                (arena.memory, true, Command::Chunk(Chunk { bytes, large: arena.large }))
            }
        };
        Flushed { next, wanting, outcome: self.submit(0, command) }
    }

    /// The arena to be filled next instead of one that is empty.
    pub(super) fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        match self.handle(0) {
            Ok(handle) => handle.exchange(arena),
            Err(_) => arena,
        }
    }

    /// Lends memory for arenas.
    pub(super) fn lend_arena(&self, memory: Box<dyn Lent>) {
        if let Ok(handle) = self.handle(0) {
            handle.lend_arena(memory);
        }
    }

    /// An empty buffer for the next chunk of one.
    pub(super) fn buffer(&self, number: usize) -> Vec<u8> {
        self.handle(number).map(Handle::buffer).unwrap_or_default()
    }

    /// Wakes one.
    pub(super) fn wake(&self, number: usize) -> Result<()> {
        self.handle(number)?.wake().map_err(|error| system_error(&error))
    }

    /// Ends them and waits for that.
    pub(super) fn stop(&self) {
        stop(&self.running);
    }

    fn handle(&self, number: usize) -> Result<&Handle> {
        self.handles.get(number).ok_or_else(|| Error::new(Status::InvalidArg, "no reactor of this number"))
    }
}

/// Has the event loop call `wake`.
type Ring = Arc<dyn Fn() + Send + Sync>;

/// A bell of libuv's own. It takes no lock that the loop takes, as a threadsafe function does: on one CPU the loop would run into
/// it at once. `None` where there is no libuv.
fn signal(
    env: &Env,
    wake: &Function<'_, (), ()>,
    running: &Running,
    lingering: Lingering,
) -> Result<Option<Ring>> {
    let wake = Rc::new(RefCell::new(Some(Callback::new(env, wake, "REACTOR_WS")?)));
    let target = wake.clone();
    let called = move |event_loop: EventLoop| {
        if let Some(wake) = &*target.borrow() {
            lingering.deliver(|| wake.call(), || event_loop.is_busy());
        }
    };
    let Some(signal) = Signal::start(env, Box::new(called)) else { return Ok(None) };
    let (ringer, running) = (signal.ringer(), running.clone());
    on_cleanup(env, move |cleanup| {
        stop(&running);
        wake.take();
        signal.close(Box::new(move || drop(cleanup)));
    })?;
    Ok(Some(Arc::new(move || ringer.ring())))
}

/// The bell of Node-API, which is there everywhere.
fn threadsafe_function(env: &Env, wake: &Function<'_, (), ()>, running: &Running) -> Result<Ring> {
    // Before the threadsafe function, whose own hook then runs first: it refuses calls when this one joins.
    env.add_env_cleanup_hook(running.clone(), |running| stop(&running))?;
    let bell = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
    Ok(Arc::new(move || {
        // Refused only when the environment is going away, and then nobody is left to be told.
        let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }))
}

/// The thread: whatever ends it, the environment is told.
fn run(mut reactor: Reactor<Forward>, link: &Link, ring: &dyn Fn()) {
    let ended = catch_unwind(AssertUnwindSafe(|| reactor.run()));
    // All sockets close with it.
    drop(reactor);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report_failure(link, &waiting_failed(&error), ring),
        Err(_) => report_failure(link, "the reactor thread panicked", ring),
    }
}

fn stop(running: &Running) {
    let running = std::mem::take(&mut *lock(running));
    // All are told before one is waited for. Not woken means not running: then there is nothing to wait for either.
    let told: Vec<_> = running.iter().map(|(handle, _)| handle.submit(Command::Stop).is_ok()).collect();
    for ((_, thread), told) in running.into_iter().zip(told) {
        if told || thread.is_finished() {
            let _panicked_and_reported = thread.join();
        }
    }
}

fn lock(running: &Running) -> std::sync::MutexGuard<'_, Vec<(Handle, JoinHandle<()>)>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
