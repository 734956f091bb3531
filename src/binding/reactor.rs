//! The one reactor of a Node environment, as JavaScript sees it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::{Function, Uint8ArraySlice, Uint32ArraySlice};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::layout::DRAINED_WORDS;
use crate::bridge::limits::BATCH_BYTES;
use crate::engine::{MessageKind, Prepared};
use crate::reactor::{
    Adoption, Command, ConnectionId, Forward, HEADROOM, Handle, Link, ListenerConfig, Reactor, ReactorConfig,
    Spin, report_failure,
};

use super::adopt;
use super::crossing::{Crossing, function};
use super::listen::{self, ConnectionOptions, ListenOptions, Listening};
use super::payload::{LentMemory, LentWords, bytes_mut};

/// Settings of the reactor thread.
#[napi(object)]
pub struct ReactorOptions {
    /// Microseconds to poll without blocking after traffic; -1 = automatic, 0 = never.
    pub spin: i32,
}

/// The reactor of this environment. Make one only.
#[napi(js_name = "Reactor")]
pub struct JsReactor {
    link: Arc<Link>,
    handle: Handle,
    thread: Thread,
    crossing: Rc<RefCell<Crossing>>,
    next_listener: u32,
    /// How the last adopted socket is served: the next one is mostly served alike.
    adopted_config: Arc<ListenerConfig>,
}

/// What adopted sockets have in the place of a listener's id.
const NO_LISTENER: u32 = u32::MAX;

/// The reactor's thread, until somebody has joined it.
type Thread = Arc<Mutex<Option<JoinHandle<()>>>>;

#[napi]
impl JsReactor {
    /// Starts the thread. `wake` is called, never re-entrantly, when `drain` has something to give; by itself it does
    /// not keep the event loop alive. `words` is the array of records: `DRAINED_WORDS` long, all of its ArrayBuffer, and
    /// touched by nobody but the caller for as long as the environment lives.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        wake: Function<'_, (), ()>,
        options: ReactorOptions,
        mut words: Uint32ArraySlice<'_>,
    ) -> Result<Self> {
        if words.len() < DRAINED_WORDS {
            return Err(Error::new(Status::InvalidArg, format!("{DRAINED_WORDS} words are needed")));
        }
        let words = LentWords::new(&mut words);
        let thread: Thread = Arc::default();
        let stopper: Arc<Mutex<Option<Handle>>> = Arc::default();
        // Before the threadsafe function, whose own hook then runs first: it refuses calls when this one joins.
        env.add_env_cleanup_hook((stopper.clone(), thread.clone()), |(stopper, thread)| {
            if let Some(handle) = stopper.lock().unwrap_or_else(PoisonError::into_inner).take() {
                stop(&handle, &thread);
            }
        })?;
        let bell = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let ring: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            // Refused only when the environment is going away, and then nobody is left to be told.
            let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        });

        let config = ReactorConfig { spin: spin(options.spin), ..ReactorConfig::default() };
        let link = Arc::new(Link::new());
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
        let crossing = Crossing::new(link.clone(), handle.clone(), words);
        Ok(Self {
            link,
            handle,
            thread,
            crossing: Rc::new(RefCell::new(crossing)),
            next_listener: 0,
            adopted_config: Arc::default(),
        })
    }

    /// Binds and listens at once; connections are accepted after `accept`.
    #[napi(catch_unwind)]
    pub fn listen(&mut self, env: Env, options: ListenOptions) -> Result<Listening> {
        let listener = listen::bind(&env, &options)?;
        let address = listener.address();
        let id = self.next_listener;
        self.next_listener += 1;
        self.link.set_ask(id, options.ask);
        self.submit(Command::Listen { id, listener, config: listen::config(&options) })?;
        Ok(Listening {
            id,
            address: address.ip().to_string(),
            port: address.port().into(),
            family: if address.is_ipv4() { "IPv4" } else { "IPv6" }.to_owned(),
        })
    }

    /// Lets a listener accept.
    #[napi(catch_unwind)]
    pub fn accept(&self, id: u32) -> Result<()> {
        self.submit(Command::Accept(id))
    }

    /// Closes a listener; a record says when it is done.
    #[napi(catch_unwind)]
    pub fn close_listener(&self, id: u32) -> Result<()> {
        self.submit(Command::CloseListener(id))
    }

    /// Serves the socket with the descriptor `fd` from now on, under a descriptor of its own: writes `response`, and takes
    /// `prefix` for the first bytes that were read. `slot`, from `ADOPTED_SLOTS` on, is free until a CLOSED record names
    /// it again. Throws when the descriptor cannot be duplicated; nothing has changed then.
    #[napi(catch_unwind)]
    pub fn adopt(
        &mut self,
        fd: i32,
        slot: u32,
        generation: u32,
        response: &[u8],
        prefix: &[u8],
        options: ConnectionOptions,
    ) -> Result<()> {
        let stream = adopt::duplicate(fd).map_err(|error| system_error(&error))?;
        let config = listen::connection_config(&options);
        if *self.adopted_config != config {
            self.adopted_config = Arc::new(config);
        }
        // Before the reactor knows of it: `bytesTaken` answers at once.
        self.link.gauges.open(slot, generation);
        self.submit(Command::Adopt(Box::new(Adoption {
            stream,
            id: Some(ConnectionId { slot, generation }),
            response: response.to_vec(),
            prefix: prefix.to_vec(),
            listener: NO_LISTENER,
            config: self.adopted_config.clone(),
            deflate: None,
        })))
    }

    /// Which handshakes of a listener need JavaScript: bit 0 those that pass the native checks, bit 1 refusals.
    #[napi(catch_unwind)]
    pub fn set_ask(&self, id: u32, ask: u32) {
        self.link.set_ask(id, ask);
    }

    /// The function that flushes, and moves the oldest batch to JavaScript: its records to the array, and what became of its
    /// bytes to the `DRAINED_` words behind them. It returns how many records; 0 when nothing waits.
    #[napi(catch_unwind)]
    pub fn drain<'env>(&self, env: &'env Env) -> Result<Function<'env, (), u32>> {
        function(env, "drain", &self.crossing, Crossing::drain)
    }

    /// The function that hands the first `FLUSHED_BYTES` bytes of the arena, and what `add_large` collected, to the reactor.
    /// `FLUSHED_NEXT` then says which arena is filled next.
    #[napi(catch_unwind)]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Function<'env, (), ()>> {
        function(env, "flush", &self.crossing, Crossing::flush)
    }

    /// Copies the bytes of the batch that was drained last, which are in no lent memory.
    #[napi(catch_unwind)]
    pub fn copy_bytes(&self, mut into: Uint8ArraySlice<'_>, offset: u32) -> Result<()> {
        let crossing = self.crossing.borrow();
        let into = bytes_mut(&mut into).get_mut(offset as usize..).unwrap_or_default();
        let bytes = crossing.current.as_ref().and_then(|batch| batch.bytes.get(..batch.used));
        match bytes.and_then(|bytes| Some((bytes, into.get_mut(..bytes.len())?))) {
            Some((bytes, into)) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(Error::new(Status::InvalidArg, "copyBytes: no batch that fits")),
        }
    }

    /// Lends memory for batches: a whole ArrayBuffer of `LENT_BYTES` that nobody touches before a drain hands it over
    /// under `id`.
    #[napi(catch_unwind)]
    pub fn lend(&self, id: u32, mut memory: Uint8ArraySlice<'_>) -> Result<()> {
        if memory.len() < BATCH_BYTES {
            return Err(Error::new(
                Status::InvalidArg,
                format!("lend: at least {BATCH_BYTES} bytes are needed"),
            ));
        }
        self.link.inbox.lend(Box::new(LentMemory::new(id, &mut memory)));
        Ok(())
    }

    /// Lends an arena: a whole ArrayBuffer. The caller fills the first at once, the others when `FLUSHED_NEXT` names them by
    /// `id`, and touches none between a flush and that.
    #[napi(catch_unwind)]
    pub fn lend_arena(&self, id: u32, mut memory: Uint8ArraySlice<'_>) {
        self.crossing.borrow_mut().lend_arena(Box::new(LentMemory::new(id, &mut memory)));
    }

    /// Copies a large payload of the last drained batch.
    #[napi(catch_unwind)]
    pub fn take_large(&self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let crossing = self.crossing.borrow();
        let payload = crossing.current.as_ref().and_then(|batch| batch.large.get(index as usize));
        let into = bytes_mut(&mut into);
        match payload {
            Some(payload) if payload.len() == into.len() => {
                into.copy_from_slice(payload);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "takeLarge: no payload of this number and length")),
        }
    }

    /// Copies a message that records of the kind `OUT_PREPARED` refer to by `id`.
    #[napi(catch_unwind)]
    pub fn prepare(&self, id: u32, is_text: bool, compress: bool, data: &[u8]) -> Result<()> {
        let kind = if is_text { MessageKind::Text } else { MessageKind::Binary };
        self.submit(Command::Prepare(id, Box::new(Prepared::new(kind, data, compress))))
    }

    /// Frees the message; no record that names it may come after this.
    #[napi(catch_unwind)]
    pub fn forget(&self, id: u32) -> Result<()> {
        self.submit(Command::Forget(id))
    }

    /// Copies a large payload for the next flush, whose arena has a record that refers to it.
    #[napi(catch_unwind)]
    pub fn add_large(&self, data: &[u8]) {
        let mut payload = Vec::with_capacity(HEADROOM + data.len());
        payload.resize(HEADROOM, 0);
        payload.extend_from_slice(data);
        self.crossing.borrow_mut().large.push(payload);
    }

    /// Bytes of the connection's sends that wait no more, or -1 when the connection is gone.
    #[napi(catch_unwind)]
    pub fn bytes_taken(&self, slot: u32, generation: u32) -> f64 {
        self.link.gauges.read(slot, generation).map_or(-1.0, |bytes| bytes as f64)
    }

    /// Bytes that were read from the connection, or -1 when it is gone.
    #[napi(catch_unwind)]
    pub fn bytes_given(&self, slot: u32, generation: u32) -> f64 {
        self.link.gauges.read_given(slot, generation).map_or(-1.0, |bytes| bytes as f64)
    }

    /// Writes what is queued as far as the kernel takes it, closes all, and waits for the thread to end.
    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        stop(&self.handle, &self.thread);
    }

    /// Live figures.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> HashMap<String, f64> {
        HashMap::from([("inboundBytesQueued".to_owned(), self.link.inbox.weight() as f64)])
    }

    fn submit(&self, command: Command) -> Result<()> {
        self.handle.submit(command).map_err(|error| system_error(&error))
    }
}

/// The thread: whatever ends it, the environment is told.
fn run(mut reactor: Reactor<Forward>, link: &Link, ring: &dyn Fn()) {
    let ended = catch_unwind(AssertUnwindSafe(|| reactor.run()));
    // All sockets close with it.
    drop(reactor);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report_failure(link, &format!("waiting for events failed: {error}"), ring),
        Err(_) => report_failure(link, "the reactor thread panicked", ring),
    }
}

fn stop(handle: &Handle, thread: &Thread) {
    let Some(thread) = thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    // Not woken means not running: then there is nothing to wait for either.
    if handle.submit(Command::Stop).is_ok() || thread.is_finished() {
        let _panicked_and_reported = thread.join();
    }
}

fn spin(micros: i32) -> Spin {
    match u32::try_from(micros) {
        Ok(0) => Spin::Never,
        Ok(micros) => Spin::Micros(micros),
        Err(_) => Spin::Automatic,
    }
}

pub(super) fn system_error(error: &std::io::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_string())
}
