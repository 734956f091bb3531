//! Reactors in threads of their own, and the one that the event loop shares with a thread.

use std::cell::{OnceCell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk, Outbox};
use crate::bridge::read_buffer::Lent;
use crate::engine::Large;
use crate::reactor::{
    Balance, Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure,
};

use super::adopt;
use super::drive::{Companion, Drive, Ring, waiting_failed};
use super::inline::Inline;
use super::listen::{system_error, thrown};
use super::poll_spin::PollSpin;
use super::uv::signal::Signal;
use super::wake::Wake;

pub(super) struct Threads {
    handles: Vec<Handle>,
    /// Empty once they are stopped.
    running: RefCell<Vec<JoinHandle<()>>>,
    signal: Option<Signal>,
    ring: Ring,
    /// The event loop, which also drives the one reactor.
    home: Rc<OnceCell<Home>>,
}

struct Home {
    inline: Rc<Inline>,
    drive: Arc<Drive>,
}

pub(super) struct SharedOptions {
    /// Nanoseconds that the loop has looked in vain.
    pub(super) looking: Arc<AtomicU64>,
    /// For tests: the thread takes every other turn.
    pub(super) eager: bool,
}

/// Valid even if the flush failed.
pub(super) struct Flushed {
    /// The arena to fill next, from its beginning on.
    pub(super) next: Box<dyn Lent>,
    /// More arenas are needed: the records were copied.
    pub(super) wanting: bool,
    pub(super) outcome: Result<()>,
}

impl Threads {
    /// A thread for each link; each reactor gets `config`. Without `poll_spin` they ring
    /// `function`.
    pub(super) fn start(
        env: &Env,
        function: &Function<'_, (), ()>,
        wake: &Rc<Wake>,
        links: &[Arc<Link>],
        config: ReactorConfig,
        poll_spin: Option<PollSpin>,
        shared: Option<SharedOptions>,
    ) -> Result<Self> {
        let home: Rc<OnceCell<Home>> = Rc::default();
        let (waking, at_home) = (wake.clone(), home.clone());
        let signal = poll_spin.and_then(|poll_spin| {
            Signal::start(env, move |event_loop| {
                // What the thread has left comes before what the loop finds.
                poll_spin.deliver(&waking, event_loop);
                if let Some(home) = at_home.get() {
                    home.inline.come_back();
                }
            })
        });
        let ring: Ring = if let Some(signal) = signal.clone() {
            // Unlike Node-API's bell it takes no lock that the loop takes: on one CPU the loop would block
            // on that lock at once.
            Arc::new(move || signal.ring())
        } else {
            // It keeps its function as long as the environment lives.
            let bell =
                function.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
            Arc::new(move || {
                // Refused only when the environment is ending; then nothing is left to call.
                let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
            })
        };
        let mut threads = Self { handles: Vec::new(), running: RefCell::default(), signal, ring, home };
        let begun = match (shared, links) {
            (Some(shared), [link]) => threads.share(env, link, config, wake, shared),
            _ => threads.run(env, links, config),
        };
        begun.inspect_err(|_| threads.close(&Rc::new(())))?;
        Ok(threads)
    }

    fn run(&mut self, env: &Env, links: &[Arc<Link>], config: ReactorConfig) -> Result<()> {
        let forwards = links.iter().map(|link| {
            let ring = self.ring.clone();
            Forward::new(link.clone(), &config, Box::new(move || ring())).in_thread()
        });
        let reactors = reactors(forwards.collect(), config).map_err(|error| thrown(env, &error, None))?;
        self.handles = reactors.iter().map(Reactor::handle).collect();
        reactors.into_iter().zip(links).try_for_each(|(reactor, link)| {
            let (link, ring) = (link.clone(), self.ring.clone());
            self.spawn(env, move || run(reactor, &link, &ring))
        })
    }

    fn spawn(&self, env: &Env, run: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new()
            .name("reactor-ws".to_owned())
            .spawn(run)
            .map_err(|error| thrown(env, &error, None))?;
        self.running.borrow_mut().push(thread);
        Ok(())
    }

    /// The loop drives the reactor, and the thread while that is better.
    fn share(
        &mut self,
        env: &Env,
        link: &Arc<Link>,
        config: ReactorConfig,
        wake: &Rc<Wake>,
        SharedOptions { looking, eager }: SharedOptions,
    ) -> Result<()> {
        let [by_loop, rung] = [false, false].map(|flag| Arc::new(AtomicBool::new(flag)));
        let (ring, is_by_loop, at_home) = (self.ring.clone(), by_loop.clone(), rung.clone());
        let ring = move || match is_by_loop.load(Ordering::Relaxed) {
            true => at_home.store(true, Ordering::Relaxed),
            false => ring(),
        };
        let forward = Forward::new(link.clone(), &config, Box::new(ring)).in_thread();
        let failed = |error| thrown(env, &error, None);
        let mut reactors = reactors(vec![forward], config).map_err(failed)?;
        let Some(reactor) = reactors.pop() else { return Ok(()) };
        let watched = reactor.descriptor().map(adopt::owned).transpose().map_err(failed)?.map(Arc::new);
        self.handles = vec![reactor.handle()];
        let (bell, rings) = std::io::pipe().map_err(failed)?;
        let drive = Arc::new(Drive::new(reactor, Some(rings), by_loop, looking));
        let (drives, link, ring) = (drive.clone(), link.clone(), self.ring.clone());
        let inline = watched
            .clone()
            .and_then(|watched| Inline::share(env, drive.clone(), watched, link.clone(), rung, wake.clone()));
        let clock = inline.as_ref().and_then(|inline| inline.idle_clock());
        let (Some(descriptor), Some(inline), Some(clock)) = (watched, inline, clock) else {
            // The loop cannot drive it.
            let reactor = drives.seat.try_take().and_then(|mut place| place.end());
            return reactor.map_or(Ok(()), |reactor| self.spawn(env, move || run(reactor, &link, &ring)));
        };
        let balance = Balance::new();
        let companion =
            Companion { drive: drives, link, ring, clock, descriptor, bell, balance, eager, refused: false };
        let _first = self.home.set(Home { inline, drive });
        self.spawn(env, move || companion.run())
    }

    pub(super) fn count(&self) -> usize {
        self.handles.len()
    }

    #[cfg(unix)]
    pub(super) fn handles(&self) -> Vec<Handle> {
        self.handles.clone()
    }

    pub(super) fn of_slot(&self, slot: u32) -> usize {
        slot as usize & (self.count().next_power_of_two() - 1)
    }

    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        let command = match self.home.get() {
            Some(home) => home.inline.submit(command),
            None => Some(command),
        };
        let Some(command) = command else { return Ok(()) };
        self.handle(number)?.submit(command).map_err(|error| system_error(&error))
    }

    /// As [`Backends::flush`](super::backends::Backends::flush).
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>) -> Flushed {
        if self.home.get().is_some_and(|home| home.inline.flush(&mut arena, last)) {
            return Flushed { next: arena.memory, wanting: false, outcome: Ok(()) };
        }
        arena.large.extend(last.map(Large::copy));
        let Some(handle) = self.handles.first() else {
            return Flushed { next: arena.memory, wanting: false, outcome: Ok(()) };
        };
        let (next, wanting, command) = match handle.outbox().arena() {
            Some(next) => (next, false, Command::Arena(arena)),
            // The reactor has all other arenas, so it gets a copy.
            None => {
                let mut bytes = handle.outbox().buffer();
                bytes.extend_from_slice(arena.bytes());
                let chunk = Chunk { bytes, large: arena.large, ..Chunk::default() };
                (arena.memory, true, Command::Chunk(chunk))
            }
        };
        let outcome = handle.submit(command).map_err(|error| system_error(&error));
        Flushed { next, wanting, outcome }
    }

    pub(super) fn buffer(&self, number: usize) -> Vec<u8> {
        self.handles.get(number).map(|handle| handle.outbox().buffer()).unwrap_or_default()
    }

    /// Settings of the first reactor.
    pub(super) fn outbox(&self) -> Option<&Outbox<Command>> {
        self.handles.first().map(Handle::outbox)
    }

    pub(super) fn give_credit(&self, number: usize) -> Result<()> {
        if self.home.get().is_some_and(|home| home.inline.give_credit()) {
            return Ok(());
        }
        self.handle(number)?.wake().map_err(|error| system_error(&error))
    }

    fn handle(&self, number: usize) -> Result<&Handle> {
        self.handles.get(number).ok_or_else(|| Error::new(Status::InvalidArg, "no reactor of this number"))
    }

    pub(super) fn stop(&self) {
        let threads = self.running.take();
        // All get the command before any is waited for. A thread that cannot be woken does not run,
        // so there is nothing to wait for.
        let stop = |handle: &Handle| handle.submit(Command::Stop).is_ok();
        let sent: Vec<_> = self.handles.iter().take(threads.len()).map(stop).collect();
        if let (Some(home), Some(thread)) = (self.home.get(), threads.first()) {
            home.drive.stop();
            thread.thread().unpark();
        }
        for (thread, sent) in threads.into_iter().zip(sent) {
            if sent || thread.is_finished() {
                let _panicked_and_reported = thread.join();
            }
        }
    }

    /// For good. `until_closed` is dropped once the loop has closed the bell.
    pub(super) fn close<T: 'static>(&self, until_closed: &Rc<T>) {
        self.stop();
        if let Some(home) = self.home.get() {
            home.inline.close(until_closed);
        }
        if let Some(signal) = &self.signal {
            signal.close(until_closed.clone());
        }
    }

    /// Whether the loop drives the reactor now: then a large payload is used in place.
    pub(super) fn is_here(&self) -> bool {
        self.home.get().is_some_and(|home| home.inline.is_here())
    }

    /// As [`Drive::report`].
    pub(super) fn drive(&self) -> Option<[u64; 4]> {
        self.home.get().map(|home| home.drive.report())
    }
}

/// The body of the thread. If it ends without having been stopped, the environment gets a report.
fn run(mut reactor: Reactor<Forward>, link: &Link, ring: &Ring) {
    let ended = catch_unwind(AssertUnwindSafe(|| reactor.run()));
    // All sockets close with it.
    drop(reactor);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report_failure(link, 0, &waiting_failed(&error), &**ring),
        Err(_) => report_failure(link, 0, "the reactor thread panicked", &**ring),
    }
}
