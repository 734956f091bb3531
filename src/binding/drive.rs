//! What runs the reactor: a thread of its own, or the event loop of its environment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Result};

use crate::bridge::chunk::Chunk;
use crate::reactor::{Command, Forward, Handle, Link, Reactor, ReactorConfig, report_failure};

use super::inline::{Inline, waiting_failed};
use super::reactor::system_error;

/// The way to the reactor.
pub(super) enum Drive {
    /// It runs in a thread.
    Thread(Handle, Thread),
    /// It runs on the JavaScript thread.
    Inline(Rc<Inline>),
}

/// The reactor's thread, until somebody has joined it.
type Thread = Arc<Mutex<Option<JoinHandle<()>>>>;

impl Drive {
    /// Starts a reactor that calls `wake`, never re-entrantly, when `link` has something; inline if that is wanted and
    /// can be.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        link: &Arc<Link>,
        config: ReactorConfig,
        inline: bool,
    ) -> Result<Self> {
        if inline && let Some(inline) = Inline::start(env, wake, link.clone(), config)? {
            return Ok(Self::Inline(inline));
        }
        start_thread(env, wake, link, config)
    }

    /// Whether there is no thread.
    pub(super) fn is_inline(&self) -> bool {
        matches!(self, Self::Inline(_))
    }

    /// Asks something of the reactor.
    pub(super) fn submit(&self, command: Command) -> Result<()> {
        match self {
            Self::Thread(handle, _) => handle.submit(command).map_err(|error| system_error(&error)),
            Self::Inline(inline) => {
                inline.serve(command);
                Ok(())
            }
        }
    }

    /// Hands records and their large payloads over.
    pub(super) fn flush(&self, records: &[u8], large: Vec<Vec<u8>>) -> Result<()> {
        match self {
            Self::Thread(handle, _) => {
                let mut bytes = handle.buffer();
                bytes.extend_from_slice(records);
                self.submit(Command::Chunk(Chunk { bytes, large }))
            }
            Self::Inline(inline) => {
                inline.flush(records, large);
                Ok(())
            }
        }
    }

    /// Credit has been given back that the reactor waits for.
    pub(super) fn wake(&self) -> Result<()> {
        match self {
            Self::Thread(handle, _) => handle.wake().map_err(|error| system_error(&error)),
            Self::Inline(inline) => {
                inline.reclaim();
                Ok(())
            }
        }
    }

    /// Ends the reactor after what is queued has been tried to write.
    pub(super) fn stop(&self) {
        match self {
            Self::Thread(handle, thread) => stop_thread(handle, thread),
            Self::Inline(inline) => inline.stop(),
        }
    }
}

fn start_thread(
    env: &Env,
    wake: &Function<'_, (), ()>,
    link: &Arc<Link>,
    config: ReactorConfig,
) -> Result<Drive> {
    let thread: Thread = Arc::default();
    let stopper: Arc<Mutex<Option<Handle>>> = Arc::default();
    // Before the threadsafe function, whose own hook then runs first: it refuses calls when this one joins.
    env.add_env_cleanup_hook((stopper.clone(), thread.clone()), |(stopper, thread)| {
        if let Some(handle) = stopper.lock().unwrap_or_else(PoisonError::into_inner).take() {
            stop_thread(&handle, &thread);
        }
    })?;
    let bell = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
    let ring: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        // Refused only when the environment is going away, and then nobody is left to be told.
        let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
    });
    let rung = ring.clone();
    let forward = Forward::new(link.clone(), config.total_mark, Box::new(move || rung()));
    let reactor = Reactor::new(forward, config).map_err(|error| system_error(&error))?;
    let handle = reactor.handle();
    let failed = link.clone();
    let running = std::thread::Builder::new()
        .name("reactor-ws".to_owned())
        .spawn(move || run(reactor, &failed, &*ring))
        .map_err(|error| system_error(&error))?;
    *thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    *stopper.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.clone());
    Ok(Drive::Thread(handle, thread))
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

fn stop_thread(handle: &Handle, thread: &Thread) {
    let Some(thread) = thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    // Not woken means not running: then there is nothing to wait for either.
    if handle.submit(Command::Stop).is_ok() || thread.is_finished() {
        let _panicked_and_reported = thread.join();
    }
}
