//! Reactors in threads of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::large::Large;
use crate::bridge::room::Lent;
use crate::bridge::split::split;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure};

use super::drive::{Drive, Flushed};
use super::inline::waiting_failed;
use super::lingering::{Delivered, Lingering};
use super::listen::system_error;
use super::wake::{Ring, Wake};

/// The threads of one environment and the ways to their reactors.
pub(super) struct Threads {
    handles: Vec<Handle>,
    running: Arc<Running>,
    ring: Ring,
    /// `None` where there is no libuv.
    wake: Option<Rc<Wake>>,
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
        let running: Arc<Running> = Arc::default();
        let bell = match has_libuv {
            true => bell(
                env,
                wake,
                memory,
                &running,
                Lingering::new(links.to_vec(), delivered.clone(), config.spin),
            )?,
            false => None,
        };
        let (ring, wake) = match bell {
            Some((ring, wake)) => (ring, Some(wake)),
            None => {
                // Before the threadsafe function, whose own hook then runs first: it refuses calls
                // when this one joins.
                env.add_env_cleanup_hook(running.clone(), |running| running.stop())?;
                (Ring::threadsafe_function(wake)?, None)
            }
        };
        let mut threads = Self { handles: Vec::new(), running, ring, wake };
        // Ends the threads that run, and those that nothing refers to any more.
        threads.run(links, config).inspect_err(|_| threads.retire())?;
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

    /// Memory for a chunk of the reactor of that number.
    pub(super) fn buffer(&self, number: usize) -> Vec<u8> {
        self.handles.get(number).map(Handle::buffer).unwrap_or_default()
    }

    /// Gives each reactor the records of its own slots.
    fn split(&self, bytes: &[u8], large: Vec<Large>) -> Result<()> {
        let chunks =
            split(bytes, large, self.count(), |slot| self.number(slot), |number| self.buffer(number));
        for (number, chunk) in chunks.into_iter().enumerate() {
            if !chunk.bytes.is_empty() {
                self.submit(number, Command::Chunk(chunk))?;
            }
        }
        Ok(())
    }

    /// The way to one reactor.
    fn handle(&self, number: usize) -> Result<&Handle> {
        self.handles.get(number).ok_or_else(|| Error::new(Status::InvalidArg, "no reactor of this number"))
    }
}

impl Drive for Threads {
    fn count(&self) -> usize {
        self.handles.len()
    }

    fn submit(&self, number: usize, command: Command) -> Result<()> {
        self.handle(number)?.submit(command).map_err(|error| system_error(&error))
    }

    fn flush(&self, mut arena: Arena, _last: Option<&[u8]>) -> Flushed {
        let [handle] = self.handles.as_slice() else {
            let large = std::mem::take(&mut arena.large);
            let outcome = self.split(arena.bytes(), large);
            return Flushed { next: arena.memory, wanting: false, outcome };
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
        let outcome = handle.submit(command).map_err(|error| system_error(&error));
        Flushed { next, wanting, outcome }
    }

    fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        match self.handles.first() {
            Some(handle) => handle.exchange(arena),
            None => arena,
        }
    }

    fn lend_arena(&self, memory: Box<dyn Lent>) {
        if let Some(handle) = self.handles.first() {
            handle.lend_arena(memory);
        }
    }

    fn give_credit(&self, number: usize) -> Result<()> {
        self.handle(number)?.wake().map_err(|error| system_error(&error))
    }

    fn wake(&self) -> Option<&Wake> {
        self.wake.as_deref()
    }

    fn stop(&self) {
        self.running.stop();
    }

    /// The event loop is called when the threads have ended, and closes their handles.
    fn retire(&self) {
        self.running.retired.store(true, Ordering::SeqCst);
        for handle in &self.handles {
            // A reactor that cannot be woken does not run.
            let _stopped = handle.submit(Command::Stop);
        }
        if self.wake.is_some() && self.running.count.load(Ordering::SeqCst) == 0 {
            self.ring.ring();
        }
    }
}

/// A bell of libuv's own, and the end of it that calls `function`. `None` where there is no libuv.
fn bell(
    env: &Env,
    function: &Function<'_, (), ()>,
    memory: &Array<'_>,
    running: &Arc<Running>,
    lingering: Lingering,
) -> Result<Option<(Ring, Rc<Wake>)>> {
    let wake = Wake::new(env, function, memory)?;
    let (called, threads) = (wake.clone(), running.clone());
    let Some(ring) = wake.bell(env, move |event_loop| {
        if threads.have_retired() {
            threads.stop();
            called.cut(());
        } else {
            lingering.deliver(&called, event_loop);
        }
    }) else {
        return Ok(None);
    };
    let threads = running.clone();
    let hung_up = wake.on_cleanup(env, move |wake, cleanup| {
        threads.stop();
        wake.cut(cleanup);
    });
    hung_up.inspect_err(|_| wake.cut(()))?;
    Ok(Some((ring, wake)))
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
