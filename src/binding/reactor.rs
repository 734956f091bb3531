//! The one reactor of a Node environment, as JavaScript sees it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use napi::bindgen_prelude::{Function, Uint8ArraySlice, Uint32ArraySlice};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::batch::Batch;
use crate::bridge::chunk::Chunk;
use crate::bridge::layout::DRAINED_BYTES;
use crate::bridge::limits::{BATCH_BYTES, HAND_OVER_BYTES};
use crate::reactor::{
    Adoption, Command, ConnectionId, Forward, HEADROOM, Handle, Link, ListenerConfig, Reactor, ReactorConfig,
    Spin, report_failure,
};

use super::adopt;
use super::listen::{self, ConnectionOptions, ListenOptions, Listening};
use super::payload::{LentMemory, bytes_mut, words_mut};

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
    /// What the next flush moves.
    large: Vec<Vec<u8>>,
    /// Taken from the inbox; its large payloads may still be asked for.
    current: Option<Current>,
    next_listener: u32,
    /// How the last adopted socket is served: the next one is mostly served alike.
    adopted_config: Arc<ListenerConfig>,
}

/// A batch on this side.
struct Current {
    batch: Box<Batch>,
    /// Whether JavaScript has it; if not, there was no room for it yet.
    copied: bool,
}

/// What adopted sockets have in the place of a listener's id.
const NO_LISTENER: u32 = u32::MAX;

/// The reactor's thread, until somebody has joined it.
type Thread = Arc<Mutex<Option<JoinHandle<()>>>>;

#[napi]
impl JsReactor {
    /// Starts the thread. `wake` is called, never re-entrantly, when `drain` has something to give; by itself it does
    /// not keep the event loop alive.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, wake: Function<'_, (), ()>, options: ReactorOptions) -> Result<Self> {
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
        Ok(Self {
            link,
            handle,
            thread,
            large: Vec::new(),
            current: None,
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

    /// Moves the oldest batch to JavaScript: its bytes to `slab` from `offset` on, or with the memory that was lent for
    /// them; its records to `records`, and what became of the bytes to the `DRAINED_` words behind them. Returns how many
    /// records; 0 when nothing waits; -n when the slab must have n bytes left for it.
    #[napi(catch_unwind)]
    pub fn drain(
        &mut self,
        mut slab: Uint8ArraySlice<'_>,
        offset: u32,
        mut records: Uint32ArraySlice<'_>,
    ) -> Result<i32> {
        if self.current.as_ref().is_some_and(|current| current.copied) {
            self.give_back()?;
        }
        let Some(mut current) = self.current.take().or_else(|| self.next_batch()) else { return Ok(0) };
        let batch = &mut current.batch;
        let large = batch.used >= HAND_OVER_BYTES;
        let lent = if large { batch.bytes.lent_id() } else { None };
        if lent.is_some() {
            drop(std::mem::take(&mut batch.bytes));
        } else {
            let room =
                bytes_mut(&mut slab).get_mut(offset as usize..).and_then(|slab| slab.get_mut(..batch.used));
            let (Some(room), Some(bytes)) = (room, batch.bytes.get(..batch.used)) else {
                let wanted = batch.used.max(1);
                self.current = Some(current);
                return Ok(-(wanted as i32));
            };
            room.copy_from_slice(bytes);
        }
        let words = words_mut(&mut records);
        let count = batch.copy_records(words);
        let filled = if lent.is_some() { 0 } else { batch.used as u32 };
        let outcome = [filled, lent.map_or(0, |id| id + 1), u32::from(large)];
        for (word, value) in words.iter_mut().skip(DRAINED_BYTES).zip(outcome) {
            *word = value;
        }
        current.copied = true;
        self.current = Some(current);
        Ok(count as i32)
    }

    /// Copies the bytes of the last drained batch once more, to the start of `slab`: the memory of the first copy was
    /// detached. False: they were handed over with the memory that was lent for them, and there is no copy.
    #[napi(catch_unwind)]
    pub fn copy_again(&mut self, mut slab: Uint8ArraySlice<'_>) -> bool {
        let Some(batch) = self.current.as_ref().map(|current| &current.batch) else { return false };
        let (room, bytes) = (bytes_mut(&mut slab).get_mut(..batch.used), batch.bytes.get(..batch.used));
        let (Some(room), Some(bytes)) = (room, bytes) else { return false };
        room.copy_from_slice(bytes);
        true
    }

    /// Lends memory for large batches: a whole ArrayBuffer of `LENT_BYTES` that nobody touches before a drain hands it over
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

    /// Copies a large payload of the last drained batch.
    #[napi(catch_unwind)]
    pub fn take_large(&mut self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let payload = self.current.as_ref().and_then(|current| current.batch.large.get(index as usize));
        let into = bytes_mut(&mut into);
        match payload {
            Some(payload) if payload.len() == into.len() => {
                into.copy_from_slice(payload);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "takeLarge: no payload of this number and length")),
        }
    }

    /// Hands the first `length` bytes of the arena, and what `add_large` collected, to the reactor.
    #[napi(catch_unwind)]
    pub fn flush(&mut self, arena: &[u8], length: u32) -> Result<()> {
        let mut bytes = self.handle.buffer();
        bytes.extend_from_slice(arena.get(..length as usize).unwrap_or_default());
        let large = std::mem::take(&mut self.large);
        self.submit(Command::Chunk(Chunk { bytes, large }))
    }

    /// Copies a large payload for the next flush, whose arena has a record that refers to it.
    #[napi(catch_unwind)]
    pub fn add_large(&mut self, data: &[u8]) {
        let mut payload = Vec::with_capacity(HEADROOM + data.len());
        payload.resize(HEADROOM, 0);
        payload.extend_from_slice(data);
        self.large.push(payload);
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

    fn next_batch(&self) -> Option<Current> {
        let batch = self.link.inbox.take().or_else(|| {
            // Answered before the last look: what comes after it rings again.
            self.link.inbox.bell().answer();
            self.link.inbox.take()
        });
        batch.map(|batch| Current { batch, copied: false })
    }

    fn give_back(&mut self) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        if self.link.inbox.give_back(current.batch) {
            self.handle.wake().map_err(|error| system_error(&error))?;
        }
        Ok(())
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

fn system_error(error: &std::io::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_string())
}
