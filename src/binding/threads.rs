//! Reactors in threads of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::Function;
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::room::Lent;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure};

use super::inline::waiting_failed;
use super::lingering::Lingering;
use super::listen::system_error;
use super::wake::{Ring, Wake};

/// The threads of one environment and the ways to their reactors.
pub(super) struct Threads {
    handles: Vec<Handle>,
    running: Arc<Running>,
    ring: Ring,
    /// The ring calls the event loop itself, and not a threadsafe function.
    has_bell: bool,
}

/// Whether the flush succeeds or not.
pub(super) struct Flushed {
    /// The arena to be filled next, from its beginning on.
    pub(super) next: Box<dyn Lent>,
    /// More arenas are needed: the records had to be copied.
    pub(super) wanting: bool,
    pub(super) outcome: Result<()>,
}

/// The threads that must be stopped and joined.
#[derive(Default)]
struct Running {
    /// Kept until that is done.
    threads: Mutex<Vec<(Handle, JoinHandle<()>)>>,
    /// The number of threads that have not ended.
    count: AtomicUsize,
    /// No thread waits for the others: the last to end rings.
    retired: AtomicBool,
}

impl Threads {
    /// A thread for each link. `config`: of each reactor. Without `lingering` they ring `function`.
    pub(super) fn start(
        env: &Env,
        function: &Function<'_, (), ()>,
        wake: &Rc<Wake>,
        links: &[Arc<Link>],
        config: ReactorConfig,
        lingering: Option<Lingering>,
    ) -> Result<Self> {
        let running: Arc<Running> = Arc::default();
        let ring = lingering.and_then(|lingering| bell(env, wake, &running, lingering));
        let has_bell = ring.is_some();
        let ring = ring.map_or_else(|| Ring::threadsafe_function(function), Ok)?;
        let mut threads = Self { handles: Vec::new(), running, ring, has_bell };
        threads.run(links, config).inspect_err(|_| {
            threads.stop();
            wake.hang_up(());
        })?;
        Ok(threads)
    }

    fn run(&mut self, links: &[Arc<Link>], config: ReactorConfig) -> Result<()> {
        let forwards = links.iter().map(|link| {
            let ring = self.ring.clone();
            Forward::new(link.clone(), &config, Box::new(move || ring.ring())).in_thread()
        });
        let reactors = reactors(forwards.collect(), config).map_err(|error| system_error(&error))?;
        self.handles = reactors.iter().map(Reactor::handle).collect();
        reactors.into_iter().zip(links).try_for_each(|(reactor, link)| self.spawn(reactor, link.clone()))
    }

    fn spawn(&self, reactor: Reactor<Forward>, link: Arc<Link>) -> Result<()> {
        let (handle, ring, running) = (reactor.handle(), self.ring.clone(), self.running.clone());
        self.running.count.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::Builder::new()
            .name("reactor-ws".to_owned())
            .spawn(move || run(reactor, &link, &ring, &running))
            .map_err(|error| {
                self.running.count.fetch_sub(1, Ordering::SeqCst);
                system_error(&error)
            })?;
        self.running.lock().push((handle, thread));
        Ok(())
    }

    pub(super) fn count(&self) -> usize {
        self.handles.len()
    }

    /// The number of the reactor that a slot belongs to.
    pub(super) fn of_slot(&self, slot: u32) -> usize {
        slot as usize & (self.count().next_power_of_two() - 1)
    }

    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        self.handle(number)?.submit(command).map_err(|error| system_error(&error))
    }

    /// Hands the records of an arena over to the one reactor.
    pub(super) fn flush(&self, arena: Arena) -> Flushed {
        let Some(handle) = self.handles.first() else {
            return Flushed { next: arena.memory, wanting: false, outcome: Ok(()) };
        };
        let (next, wanting, command) = match handle.arena() {
            Some(next) => (next, false, Command::Arena(arena)),
            // The reactor has all others: it gets a copy.
            None => {
                let mut bytes = handle.buffer();
                bytes.extend_from_slice(arena.bytes());
                let chunk = Chunk { bytes, large: arena.large, ..Chunk::default() };
                (arena.memory, true, Command::Chunk(chunk))
            }
        };
        Flushed { next, wanting, outcome: self.submit(0, command) }
    }

    /// Memory for a chunk of the reactor of that number.
    pub(super) fn buffer(&self, number: usize) -> Vec<u8> {
        self.handles.get(number).map(Handle::buffer).unwrap_or_default()
    }

    pub(super) fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        match self.handles.first() {
            Some(handle) => handle.exchange(arena),
            None => arena,
        }
    }

    pub(super) fn lend_arena(&self, memory: Box<dyn Lent>) {
        if let Some(handle) = self.handles.first() {
            handle.lend_arena(memory);
        }
    }

    pub(super) fn give_credit(&self, number: usize) -> Result<()> {
        self.handle(number)?.wake().map_err(|error| system_error(&error))
    }

    fn handle(&self, number: usize) -> Result<&Handle> {
        self.handles.get(number).ok_or_else(|| Error::new(Status::InvalidArg, "no reactor of this number"))
    }

    /// Waits for the threads to end.
    pub(super) fn stop(&self) {
        self.running.stop();
    }

    /// Lets the threads end. Returns whether the event loop is called when they have, which then cuts
    /// `Wake`.
    pub(super) fn retire(&self) -> bool {
        self.running.retired.store(true, Ordering::SeqCst);
        for handle in &self.handles {
            // A reactor that cannot be woken does not run.
            let _stopped = handle.submit(Command::Stop);
        }
        if self.has_bell && self.running.count.load(Ordering::SeqCst) == 0 {
            self.ring.ring();
        }
        self.has_bell
    }
}

/// A bell of libuv's own. `None` where there is no libuv.
fn bell(env: &Env, wake: &Rc<Wake>, running: &Arc<Running>, lingering: Lingering) -> Option<Ring> {
    let (called, threads) = (wake.clone(), running.clone());
    wake.bell(env, move |event_loop| {
        if threads.have_retired() {
            threads.stop();
            called.cut(());
        } else {
            lingering.deliver(&called, event_loop);
        }
    })
}

/// The body of the thread. Its end is reported to the environment, whatever the cause.
fn run(mut reactor: Reactor<Forward>, link: &Link, ring: &Ring, running: &Running) {
    let ended = catch_unwind(AssertUnwindSafe(|| reactor.run()));
    // All sockets close with it.
    drop(reactor);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report_failure(link, 0, &waiting_failed(&error), &|| ring.ring()),
        Err(_) => report_failure(link, 0, "the reactor thread panicked", &|| ring.ring()),
    }
    // `retire` has the opposite order: one of the two observes the other.
    running.count.fetch_sub(1, Ordering::SeqCst);
    if running.have_retired() {
        ring.ring();
    }
}

impl Running {
    fn stop(&self) {
        let threads = std::mem::take(&mut *self.lock());
        // All get the command before one is waited for. A thread that cannot be woken does not run:
        // then there is nothing to wait for either.
        let sent: Vec<_> = threads.iter().map(|(handle, _)| handle.submit(Command::Stop).is_ok()).collect();
        for ((_, thread), sent) in threads.into_iter().zip(sent) {
            if sent || thread.is_finished() {
                let _panicked_and_reported = thread.join();
            }
        }
    }

    /// Whether all have ended and no thread waits for that.
    fn have_retired(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0 && self.retired.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Handle, JoinHandle<()>)>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
