//! Reactors in threads of their own.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};

use crate::bridge::chunk::{Arena, Chunk, Outbox};
use crate::bridge::read_buffer::Lent;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, reactors, report_failure};

use super::inline::waiting_failed;
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
}

/// Wakes the JavaScript thread.
type Ring = Arc<dyn Fn() + Send + Sync>;

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
    ) -> Result<Self> {
        let wake = wake.clone();
        let signal = poll_spin
            .and_then(|poll_spin| Signal::start(env, move |event_loop| poll_spin.deliver(&wake, event_loop)));
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
        let mut threads = Self { handles: Vec::new(), running: RefCell::default(), signal, ring };
        threads.run(env, links, config).inspect_err(|_| threads.close(()))?;
        Ok(threads)
    }

    fn run(&mut self, env: &Env, links: &[Arc<Link>], config: ReactorConfig) -> Result<()> {
        let forwards = links.iter().map(|link| {
            let ring = self.ring.clone();
            Forward::new(link.clone(), &config, Box::new(move || ring())).in_thread()
        });
        let reactors = reactors(forwards.collect(), config).map_err(|error| thrown(env, &error, None))?;
        self.handles = reactors.iter().map(Reactor::handle).collect();
        reactors.into_iter().zip(links).try_for_each(|(reactor, link)| self.spawn(env, reactor, link.clone()))
    }

    fn spawn(&self, env: &Env, reactor: Reactor<Forward>, link: Arc<Link>) -> Result<()> {
        let ring = self.ring.clone();
        let thread = std::thread::Builder::new()
            .name("reactor-ws".to_owned())
            .spawn(move || run(reactor, &link, &ring))
            .map_err(|error| thrown(env, &error, None))?;
        self.running.borrow_mut().push(thread);
        Ok(())
    }

    pub(super) fn count(&self) -> usize {
        self.handles.len()
    }

    pub(super) fn of_slot(&self, slot: u32) -> usize {
        slot as usize & (self.count().next_power_of_two() - 1)
    }

    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        self.handle(number)?.submit(command).map_err(|error| system_error(&error))
    }

    pub(super) fn flush(&self, arena: Arena) -> Flushed {
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
        Flushed { next, wanting, outcome: self.submit(0, command) }
    }

    pub(super) fn buffer(&self, number: usize) -> Vec<u8> {
        self.handles.get(number).map(|handle| handle.outbox().buffer()).unwrap_or_default()
    }

    /// Settings of the first reactor.
    pub(super) fn outbox(&self) -> Option<&Outbox<Command>> {
        self.handles.first().map(Handle::outbox)
    }

    pub(super) fn give_credit(&self, number: usize) -> Result<()> {
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
        for (thread, sent) in threads.into_iter().zip(sent) {
            if sent || thread.is_finished() {
                let _panicked_and_reported = thread.join();
            }
        }
    }

    /// For good. `until_closed` is dropped once the loop has closed the bell.
    pub(super) fn close(&self, until_closed: impl Any) {
        self.stop();
        if let Some(signal) = &self.signal {
            signal.close(until_closed);
        }
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
