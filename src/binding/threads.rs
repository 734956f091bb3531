//! Reactors in threads of their own.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::{Array, Function};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::room::Lent;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure};

use super::inline::waiting_failed;
use super::lingering::{Delivered, Lingering};
use super::listen::system_error;
use super::ties::Ties;
use super::uv::{EventLoop, Signal};

/// What a flush leads to, however it goes.
pub(super) struct Flushed {
    /// The arena to be filled next, from its beginning on.
    pub(super) next: Box<dyn Lent>,
    /// There should be more arenas: the records had to be copied.
    pub(super) wanting: bool,
    pub(super) outcome: Result<()>,
}

/// The threads of one environment and the ways to their reactors.
pub(super) struct Threads {
    handles: Vec<Handle>,
    running: Arc<Running>,
    ring: Ring,
    /// `None` where there is no libuv: a threadsafe function holds what it calls for as long as the environment lives.
    ties: Option<Rc<Ties>>,
}

/// What must be stopped and joined.
#[derive(Default)]
struct Running {
    /// Until somebody does.
    threads: Mutex<Vec<(Handle, JoinHandle<()>)>>,
    /// How many have not ended.
    count: AtomicUsize,
    /// Nobody waits for them: the last to end rings.
    retired: AtomicBool,
}

impl Threads {
    /// A thread for each link.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        memory: &Array<'_>,
        links: &[Arc<Link>],
        config: ReactorConfig,
        delivered: &Rc<Delivered>,
        has_libuv: bool,
    ) -> Result<Self> {
        let config = config.shared_by(links.len());
        let lingering = Lingering::new(links.to_vec(), delivered.clone(), config.spin);
        let running: Arc<Running> = Arc::default();
        // What may fail comes first: a threadsafe function stays as long as the environment.
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
        let signal = match has_libuv {
            true => signal(env, Ties::new(env, wake, memory)?, &running, lingering)?,
            false => None,
        };
        let (ring, ties) = match signal {
            Some((ring, ties)) => (ring, Some(ties)),
            None => (threadsafe_function(env, wake, &running)?, None),
        };
        let ring = bell.get_or_init(|| ring).clone();
        let handles: Vec<_> = reactors.iter().map(Reactor::handle).collect();
        let threads = Self { handles, running, ring, ties };
        for (reactor, link) in reactors.into_iter().zip(links) {
            // What was hung up, and those that run, are not wanted any more.
            threads.spawn(reactor, link.clone()).inspect_err(|_| threads.retire())?;
        }
        Ok(threads)
    }

    fn spawn(&self, reactor: Reactor<Forward>, link: Arc<Link>) -> Result<()> {
        let (handle, ring, running) = (reactor.handle(), self.ring.clone(), self.running.clone());
        self.running.count.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::Builder::new()
            .name("reactor-ws".to_owned())
            .spawn(move || run(reactor, &link, &*ring, &running))
            .map_err(|error| {
                self.running.count.fetch_sub(1, Ordering::SeqCst);
                system_error(&error)
            })?;
        self.running.lock().push((handle, thread));
        Ok(())
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
        self.running.stop();
    }

    /// Whether JavaScript has to be called although nobody there refers to anything of the reactors.
    pub(super) fn hold(&self, does: bool) {
        if let Some(ties) = &self.ties {
            ties.hold(does);
        }
    }

    /// Ends them without waiting for that. The event loop is called when they have ended, and gives back what they had of it.
    pub(super) fn retire(&self) {
        self.running.retired.store(true, Ordering::SeqCst);
        for handle in &self.handles {
            // One that cannot be woken does not run.
            let _stopped = handle.submit(Command::Stop);
        }
        if self.ties.is_some() && self.running.count.load(Ordering::SeqCst) == 0 {
            (self.ring)();
        }
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
    ties: Rc<Ties>,
    running: &Arc<Running>,
    lingering: Lingering,
) -> Result<Option<(Ring, Rc<Ties>)>> {
    let place: Rc<RefCell<Option<Signal>>> = Rc::default();
    let (tied, among, own) = (ties.clone(), running.clone(), place.clone());
    let called = move |event_loop: EventLoop| {
        if among.have_retired() {
            among.stop();
            tied.cut();
            close(&own, || {});
        } else {
            lingering.deliver(|| tied.wake(), || event_loop.is_busy());
        }
    };
    let Some(signal) = Signal::start(env, Box::new(called)) else { return Ok(None) };
    let (ringer, running) = (signal.ringer(), running.clone());
    *place.borrow_mut() = Some(signal);
    ties.on_cleanup(env, move |ties, cleanup| {
        running.stop();
        ties.cut();
        close(&place, move || drop(cleanup));
    })?;
    Ok(Some((Arc::new(move || ringer.ring()), ties)))
}

/// `on_closed` is called by the loop when it has given the signal back.
fn close(signal: &RefCell<Option<Signal>>, on_closed: impl FnOnce() + 'static) {
    if let Some(signal) = signal.take() {
        signal.close(Box::new(on_closed));
    }
}

/// The bell of Node-API, which is there everywhere.
fn threadsafe_function(env: &Env, wake: &Function<'_, (), ()>, running: &Arc<Running>) -> Result<Ring> {
    // Before the threadsafe function, whose own hook then runs first: it refuses calls when this one joins.
    env.add_env_cleanup_hook(running.clone(), |running| running.stop())?;
    let bell = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
    Ok(Arc::new(move || {
        // Refused only when the environment is going away, and then nobody is left to be told.
        let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }))
}

/// The thread: whatever ends it, the environment is told.
fn run(mut reactor: Reactor<Forward>, link: &Link, ring: &dyn Fn(), running: &Running) {
    let ended = catch_unwind(AssertUnwindSafe(|| reactor.run()));
    // All sockets close with it.
    drop(reactor);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report_failure(link, &waiting_failed(&error), ring),
        Err(_) => report_failure(link, "the reactor thread panicked", ring),
    }
    // The other way round in `retire`: one of the two sees what the other has done.
    running.count.fetch_sub(1, Ordering::SeqCst);
    if running.have_retired() {
        ring();
    }
}

impl Running {
    fn stop(&self) {
        let threads = std::mem::take(&mut *self.lock());
        // All are told before one is waited for. Not woken means not running: then there is nothing to wait for either.
        let told: Vec<_> = threads.iter().map(|(handle, _)| handle.submit(Command::Stop).is_ok()).collect();
        for ((_, thread), told) in threads.into_iter().zip(told) {
            if told || thread.is_finished() {
                let _panicked_and_reported = thread.join();
            }
        }
    }

    /// Whether all have ended and nobody waits for that.
    fn have_retired(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0 && self.retired.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Handle, JoinHandle<()>)>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
