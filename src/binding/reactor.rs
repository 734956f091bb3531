//! The reactors of a Node environment, which look like one to JavaScript.
#![expect(clippy::too_many_arguments, reason = "an object of JavaScript would cost a read for each field")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use napi::bindgen_prelude::{Array, Buffer, Function, Uint8Array, Uint8ArraySlice, Uint32ArraySlice};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::gauges::Gauges;
use crate::bridge::layout::DRAINED_WORDS;
use crate::bridge::rates::Rates;
use crate::engine::Large;
use crate::engine::Role;
use crate::reactor::{
    Adoption, Choice, Closer, Command, ConnectionId, Export, Link, ListenerConfig, Parcel, Pipe, Route,
    Transport,
};

#[cfg(unix)]
use crate::reactor::{Descriptor, Handle};

use super::adopt;
use super::backends::{Backends, INLINE};
use super::deflate::{NegotiatedDeflate, millis};
use super::exchange::{Calls, Exchange};
use super::inline::Inline;
use super::limits::{JsAdmission, JsRates};
use super::listen::{self, AskedOptions, ConnectionOptions, ListenOptions, Listening, system_error};
use super::metrics::{ReactorMetrics, metrics};
use super::payload::{LentMemory, LentWords, bytes_mut};
use super::poll_spin::{Delivered, PollSpin};
use super::start::{self, ReactorOptions};
use super::threads::{SharedOptions, Threads};
use super::tls::{self, JsSecureContext, JsTlsServer};

/// Each copy of lib makes one.
#[napi(js_name = "Reactor")]
pub struct JsReactor {
    backends: Rc<Backends>,
    delivered: Rc<Delivered>,
    has_libuv: bool,
    exchange: Rc<RefCell<Exchange>>,
    next_listener: u32,
    /// Ids of the open listeners.
    closers: HashMap<u32, Closer>,
    /// Those with an HTTP server, and the listeners without a socket that can be their routes.
    beside_http: HashMap<u32, Arc<ListenerConfig>>,
    /// The options of the last connection that JavaScript answered; mostly the next one has the
    /// same.
    served_config: Arc<ListenerConfig>,
}

#[napi(object, object_from_js = false)]
pub struct TakenSocket {
    /// The caller must close it.
    pub fd: i32,
    /// Bytes that came after those that the reactor has read.
    pub waiting: Option<Buffer>,
}

#[napi(object)]
pub struct Place {
    pub slot: u32,
    /// The number of earlier connections in the slot.
    pub generation: u32,
}

/// More than any hash can give (RFC 5869).
const MOST_KEYING_MATERIAL: u32 = 255 * 48;
/// Longer than any turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// The listener of adopted sockets, which have none.
const NO_LISTENER: u32 = u32::MAX;

#[napi]
impl JsReactor {
    /// Makes the reactor for streams, on this thread.
    ///
    /// - `wake` is called, never re-entrantly, when `drain` would bring a batch. By itself it does
    ///   not keep the event loop alive.
    /// - `libuv`: whether the event loop is libuv's; others might have functions of its names.
    /// - `words`: the array of records, `DRAINED_WORDS` long and all of its ArrayBuffer. Only the
    ///   caller touches it, and keeps it while any function of this object exists.
    /// - `memory`: the lists in which the caller keeps all memory that it lends. They stay until
    ///   the reactors have ended: with the environment, or after this object was collected.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        wake: Function<'_, (), ()>,
        libuv: bool,
        mut words: Uint32ArraySlice<'_>,
        memory: Array<'_>,
    ) -> Result<Self> {
        if words.len() < DRAINED_WORDS {
            return Err(Error::new(Status::InvalidArg, format!("{DRAINED_WORDS} words are needed")));
        }
        let words = LentWords::new(&mut words);
        let delivered: Rc<Delivered> = Rc::default();
        let link = Arc::new(Link::new());
        let inline = Inline::start(&env, &wake, &memory, link.clone(), start::config(), libuv)?;
        let backends = Rc::new(Backends::new(inline));
        let ended = backends.clone();
        backends.inline.wake.on_cleanup(&env, move |cleanup| ended.close(cleanup))?;
        let exchange = Exchange::new(vec![link], backends.clone(), words, delivered.clone());
        Ok(Self {
            backends,
            delivered,
            has_libuv: libuv,
            exchange: Rc::new(RefCell::new(exchange)),
            next_listener: 0,
            closers: HashMap::new(),
            beside_http: HashMap::new(),
            served_config: Arc::default(),
        })
    }

    /// Starts the reactors that have sockets, in threads or on this thread. Called once.
    #[napi(catch_unwind)]
    pub fn start(&self, env: Env, wake: Function<'_, (), ()>, options: ReactorOptions) -> Result<()> {
        let config = options.config();
        self.backends.inline.configure(config);
        if options.reactors == 0 && self.backends.inline.take_sockets(&env)? {
            return Ok(());
        }
        let mut exchange = self.exchange.borrow_mut();
        let Some(inline) = exchange.links.get(INLINE).cloned() else { return Ok(()) };
        let links = Link::group((options.reactors as usize).max(1), &inline);
        let config = config.shared_by(links.len());
        let looking: Arc<AtomicU64> = Arc::default();
        let poll_spin = self
            .has_libuv
            .then(|| PollSpin::new(links.clone(), self.delivered.clone(), config.spin, looking.clone()));
        let shared = (options.adaptive != 0 && self.backends.inline.is_driven())
            .then_some(SharedOptions { looking, eager: options.adaptive > 1 });
        let wakes = &self.backends.inline.wake;
        let threads = Threads::start(&env, &wake, wakes, &links, config, poll_spin, shared)?;
        exchange.links.extend(links);
        self.backends.start(threads);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn configure(&self, options: ReactorOptions) {
        self.backends.inline.configure(options.config());
    }

    /// Whether libuv's loop runs the due work of streams; if not, `turn` must be called now and
    /// then.
    #[napi(getter, catch_unwind)]
    pub fn is_driven(&self) -> bool {
        self.backends.inline.is_driven()
    }

    #[napi(catch_unwind)]
    pub fn turn(&self) {
        self.backends.inline.turn_alone();
        self.exchange.borrow_mut().take_ops();
    }

    #[napi(catch_unwind)]
    pub fn calls<'env>(&self, env: &'env Env) -> Result<Calls<'env>> {
        Calls::new(env, &self.exchange)
    }

    /// Serves a stream from now on. `slot`, from `PIPE_SLOTS` on, must be free; it is free again
    /// after a CLOSED record.
    #[napi(catch_unwind)]
    pub fn open_stream(
        &mut self,
        place: Place,
        is_server: bool,
        options: ConnectionOptions,
        limits: Option<&JsRates>,
    ) -> Result<()> {
        let id = ConnectionId { slot: place.slot, generation: place.generation };
        let role = if is_server { Role::Server } else { Role::Client };
        let config = self.served_config(&options, limits, role);
        let pipe = Pipe::new(id, self.backends.inline.stream_ops.clone());
        self.begin(Transport::Pipe(Box::new(pipe)), place, (&options, config, None), [&[], &[]])
    }

    /// Lends memory for what streams write: a whole ArrayBuffer, which replaces the one before.
    #[napi(catch_unwind)]
    pub fn lend_ops(&self, mut memory: Uint8ArraySlice<'_>) {
        self.exchange.borrow_mut().lend_ops(Box::new(LentMemory::new(0, &mut memory)));
    }

    /// Whether this keeps `wake`, and all that it refers to, alive when nothing else does; at first
    /// it does not.
    #[napi(catch_unwind)]
    pub fn set_ref(&self, does: bool) {
        self.backends.inline.wake.set_ref(does);
    }

    /// Binds and listens at once; connections are accepted after `accept`. `admission`: which
    /// clients can connect; `limits`: how fast they can send; null: no limit. `tls`: null: connections
    /// are not encrypted.
    #[napi(catch_unwind)]
    pub fn listen(
        &mut self,
        env: Env,
        options: ListenOptions,
        admission: Option<&JsAdmission>,
        limits: Option<&JsRates>,
        tls: Option<&JsTlsServer>,
    ) -> Result<Listening> {
        let listener = listen::bind(&env, &options)?;
        let id = self.next_listener;
        let listening = listen::listening(id, &listener);
        self.next_listener += 1;
        self.closers.insert(id, listener.closer());
        self.set_ask(id, options.ask);
        let admission = admission.map(|admission| admission.shared.clone());
        let tls = tls.map(|tls| tls.shared.clone());
        let movable = options.movable.then_some(id);
        let config = listen::config(&options, movable, admission, shared(limits), tls);
        if config.http.is_some() {
            self.beside_http.insert(id, config.clone());
        }
        let owner = self.owner(id);
        for other in self.backends.sockets().filter(|&other| other != owner) {
            self.backends.submit(other, Command::Join { id, config: config.clone() })?;
        }
        self.backends.submit(owner, Command::Listen { id, listener, config })?;
        Ok(listening)
    }

    /// A listener without a socket. `listener`: the one with an HTTP server whose upgrades it answers.
    #[napi(catch_unwind)]
    pub fn add_route(
        &mut self,
        listener: u32,
        options: ListenOptions,
        admission: Option<&JsAdmission>,
        limits: Option<&JsRates>,
    ) -> Result<u32> {
        let id = self.next_listener;
        self.next_listener += 1;
        let port = self.beside_http.get(&listener);
        let (tls, movable) = port.map(|config| (config.tls.clone(), config.movable)).unwrap_or_default();
        let admission = admission.map(|admission| admission.shared.clone());
        let config = listen::config(&options, movable, admission, shared(limits), tls);
        self.beside_http.insert(id, config.clone());
        self.backends.submit_to_sockets(|| Command::Join { id, config: config.clone() })?;
        Ok(id)
    }

    /// The upgrades that a listener with an HTTP server answers from now on, by `add_route`.
    #[napi(catch_unwind)]
    pub fn set_routes(&self, listener: u32, routes: Vec<u32>) {
        let find = |id: u32| self.beside_http.get(&id).cloned().map(|config| Route { listener: id, config });
        if let Some(http) = self.beside_http.get(&listener).and_then(|config| config.http.as_ref()) {
            http.routes.set(routes.into_iter().filter_map(find).collect());
        }
    }

    /// The listener stops accepting and its connections are not read, until `thaw` or the end of a handover. A
    /// record of each reactor reports that.
    #[napi(catch_unwind)]
    pub fn freeze(&self, id: u32) -> Result<()> {
        self.backends.submit_to_sockets(|| Command::Freeze(id))
    }

    /// A frozen listener gets a connection back from its HTTP server: a duplicate of the socket, which waits for a request.
    /// `client`: as a proxy has named it; `kept`: milliseconds.
    #[napi(catch_unwind)]
    pub fn give_back(&self, id: u32, fd: i32, client: Option<String>, kept: f64) -> Result<()> {
        let stream = adopt::duplicate(fd).map_err(|error| system_error(&error))?;
        let idle = Parcel::idle(client.and_then(|client| client.parse().ok()), millis(kept));
        let parcels = vec![(stream.into(), idle)];
        self.backends.submit(self.owner(id), Command::Import { listener: id, parcels })
    }

    #[napi(catch_unwind)]
    pub fn thaw(&self, id: u32) -> Result<()> {
        self.backends.submit_to_sockets(|| Command::Thaw { listener: id, accepts: true })
    }

    #[napi(catch_unwind)]
    pub fn accept(&self, id: u32) -> Result<()> {
        self.backends.submit(self.owner(id), Command::Accept(id))
    }

    /// Its port is free when this returns. A record of each reactor reports that the listener is closed there.
    #[napi(catch_unwind)]
    pub fn close_listener(&mut self, id: u32) -> Result<()> {
        if let Some(closer) = self.closers.remove(&id) {
            closer.close();
        }
        self.beside_http.remove(&id);
        self.backends.submit_to_sockets(|| Command::CloseListener(id))
    }

    /// Serves a duplicate of the socket `fd`: writes `response`, and takes `prefix` for the first
    /// bytes read. `slot`, from `ADOPTED_SLOTS` on, must be free; it is free again after a CLOSED
    /// record. Its lowest bits are a reactor's number. Throws if the descriptor cannot be
    /// duplicated; nothing has changed then. `asked`: null: it cannot move to another process.
    #[napi(catch_unwind)]
    pub fn adopt(
        &mut self,
        fd: i32,
        place: Place,
        response: &[u8],
        prefix: &[u8],
        options: ConnectionOptions,
        limits: Option<&JsRates>,
        asked: Option<AskedOptions>,
    ) -> Result<()> {
        let stream = adopt::duplicate(fd).map_err(|error| system_error(&error))?;
        let config = self.served_config(&options, limits, Role::Server);
        self.begin(stream.into(), place, (&options, config, asked), [response, prefix])
    }

    /// The socket that an IN_HANDOFF record has brought. None if it was taken.
    #[napi(catch_unwind)]
    pub fn take_socket(&self, slot: u32) -> Result<Option<TakenSocket>> {
        let socket = self.link(slot)?.take_socket(slot);
        Ok(socket.map(|socket| TakenSocket {
            waiting: adopt::read_waiting(&socket).map(Buffer::from),
            fd: adopt::number(socket),
        }))
    }

    /// Sets the options of a connection after its REQUEST record, in case it is accepted; of a
    /// relayed one, that its upgrade is accepted next; `asked`: of one that can move to another process.
    #[napi(catch_unwind)]
    pub fn serve(
        &mut self,
        slot: u32,
        generation: u32,
        options: ConnectionOptions,
        limits: Option<&JsRates>,
        asked: Option<AskedOptions>,
    ) -> Result<()> {
        let id = ConnectionId { slot, generation };
        let asked = asked.map(|asked| asked.asked());
        let deflate = options.deflate.as_ref().map(NegotiatedDeflate::params);
        let config = self.served_config(&options, limits, Role::Server);
        self.backends.submit(self.backends.of_slot(slot), Command::Serve { id, config, deflate, asked })
    }

    /// Answers an `IN_HELLO` record. `context`: null: that of the host, or the server's; `alpn`: null: by
    /// the server's list. `refuse`: the number of the alert that ends the handshake; 0: none.
    #[napi(catch_unwind)]
    pub fn secure(
        &self,
        slot: u32,
        generation: u32,
        context: Option<&JsSecureContext>,
        alpn: Option<String>,
        refuse: u8,
    ) -> Result<()> {
        let id = ConnectionId { slot, generation };
        let choice = match refuse {
            0 => Choice::Go {
                context: context.map(|context| context.shared.clone()),
                alpn: alpn.as_deref().map(tls::protocol),
            },
            alert => Choice::Refuse(alert),
        };
        self.backends.submit(self.backends.of_slot(slot), Command::Choose { id, choice })
    }

    /// Key material of a connection (RFC 8446, section 7.5); null if it has ended, or has none of this
    /// length. The one call that waits for a reactor: for a turn of it.
    #[napi(catch_unwind)]
    pub fn export_keying_material(
        &self,
        slot: u32,
        generation: u32,
        length: u32,
        label: String,
        context: Option<Uint8Array>,
    ) -> Result<Option<Buffer>> {
        if length > MOST_KEYING_MATERIAL {
            return Ok(None);
        }
        let (reply, answer) = sync_channel(1);
        let export = Export {
            len: length as usize,
            label: label.into_bytes(),
            context: context.map(|context| context.to_vec()),
            reply,
        };
        let id = ConnectionId { slot, generation };
        self.backends.submit(self.backends.of_slot(slot), Command::Export { id, export })?;
        // A reactor that has died answers by dropping its end.
        Ok(answer.recv_timeout(PATIENCE).ok().flatten().map(Buffer::from))
    }

    /// Sets which handshakes of a listener need JavaScript: the bits `ASK_`.
    #[napi(catch_unwind)]
    pub fn set_ask(&self, id: u32, ask: u32) {
        for link in &self.exchange.borrow().links {
            link.set_ask(id, ask);
        }
    }

    /// Copies the bytes of a batch that is in no lent memory.
    #[napi(catch_unwind)]
    pub fn copy_bytes(&self, mut into: Uint8ArraySlice<'_>, offset: u32) -> Result<()> {
        let exchange = self.exchange.borrow();
        let into = bytes_mut(&mut into).get_mut(offset as usize..).unwrap_or_default();
        let bytes = exchange.current.as_ref().and_then(|batch| batch.bytes.get(..batch.used));
        match bytes.and_then(|bytes| Some((bytes, into.get_mut(..bytes.len())?))) {
            Some((bytes, into)) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(Error::new(Status::InvalidArg, "copyBytes: no batch that fits")),
        }
    }

    /// Lends an arena: a whole ArrayBuffer. The caller fills the first at once, the others when
    /// `FLUSHED_NEXT` names them by `id`, and touches none between its flush and then.
    #[napi(catch_unwind)]
    pub fn lend_arena(&self, id: u32, mut memory: Uint8ArraySlice<'_>) {
        self.exchange.borrow_mut().lend_arena(Box::new(LentMemory::new(id, &mut memory)));
    }

    /// Copies a large payload of the batch drained last, or of a chunk read since.
    #[napi(catch_unwind)]
    pub fn take_large(&self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let exchange = self.exchange.borrow();
        let payload = exchange.large_payload(index as usize);
        let into = bytes_mut(&mut into);
        match payload {
            Some(payload) if payload.len() == into.len() => {
                into.copy_from_slice(payload);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "takeLarge: no payload of this number and length")),
        }
    }

    /// Copies a large payload for the next flush: its arena has a record that refers to it.
    #[napi(catch_unwind)]
    pub fn add_large(&self, data: &[u8]) {
        self.exchange.borrow_mut().large.push(Large::copy(data));
    }

    /// Whether the large payload added last, since the last flush, is these bytes.
    #[napi(catch_unwind)]
    pub fn is_last_large(&self, data: &[u8]) -> bool {
        let exchange = self.exchange.borrow();
        exchange.large.last().is_some_and(|payload| **payload == *data)
    }

    /// Bytes read from the connection, or -1 when it has ended.
    #[napi(catch_unwind)]
    pub fn bytes_read(&self, slot: u32, generation: u32) -> f64 {
        self.gauge(|gauges| gauges.bytes_read(slot, generation))
    }

    /// Bytes of the connection that the kernel has, its topics' included, or -1 when it has ended.
    #[napi(catch_unwind)]
    pub fn bytes_written(&self, slot: u32, generation: u32) -> f64 {
        self.gauge(|gauges| gauges.written(slot, generation))
    }

    /// Seconds for which bytes have waited that the kernel does not take. The slot must be in use.
    #[napi(catch_unwind)]
    pub fn full_for(&self, slot: u32) -> Result<f64> {
        Ok(self.link(slot)?.meters.full_for(slot).as_secs_f64())
    }

    #[napi(catch_unwind)]
    pub fn metrics(&self) -> ReactorMetrics {
        let exchange = self.exchange.borrow();
        metrics(&exchange.links, &exchange, self.backends.drive())
    }

    /// Writes the queued bytes as far as the kernel takes them, closes all connections, and waits
    /// for the threads to end.
    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        self.backends.stop();
    }

    /// As `shutdown`, for the threads after one of them has died.
    #[napi(catch_unwind)]
    pub fn end_threads(&self) {
        self.backends.end_threads();
    }

    /// The number of all reactors, including the one for streams.
    #[napi(getter, catch_unwind)]
    pub fn links(&self) -> u32 {
        if self.backends.is_inline() { 1 } else { self.exchange.borrow().links.len() as u32 }
    }

    /// Of the reactors that have sockets, for other threads.
    #[cfg(unix)]
    pub(super) fn handles(&self) -> Result<Vec<Handle>> {
        self.backends.handles()
    }

    /// A duplicate of the socket of a listener.
    #[cfg(unix)]
    pub(super) fn port(&self, id: u32) -> Result<Descriptor> {
        let closed = || Error::new(Status::GenericFailure, "the listener has closed");
        self.closers.get(&id).ok_or_else(closed)?.duplicate().map_err(|error| system_error(&error))
    }

    fn owner(&self, id: u32) -> usize {
        let sockets = self.backends.sockets();
        sockets.start + id as usize % sockets.len()
    }

    /// `response` is written first; `prefix` was read before.
    fn begin(
        &self,
        stream: Transport,
        Place { slot, generation }: Place,
        (options, config, asked): (&ConnectionOptions, Arc<ListenerConfig>, Option<AskedOptions>),
        [response, prefix]: [&[u8]; 2],
    ) -> Result<()> {
        // Before the reactor knows the connection: `bytes_written` answers at once.
        self.link(slot)?.gauges.open(slot, generation);
        let adoption = Adoption {
            stream,
            id: Some(ConnectionId { slot, generation }),
            response: response.to_vec(),
            prefix: prefix.to_vec(),
            listener: NO_LISTENER,
            config,
            deflate: options.deflate.as_ref().map(NegotiatedDeflate::params),
            asked: asked.map(|asked| asked.asked()),
        };
        self.backends.submit(self.backends.of_slot(slot), Command::Adopt(Box::new(adoption)))
    }

    fn served_config(
        &mut self,
        options: &ConnectionOptions,
        limits: Option<&JsRates>,
        role: Role,
    ) -> Arc<ListenerConfig> {
        let mut config = ListenerConfig { rates: shared(limits), ..listen::connection_config(options) };
        config.engine.role = role;
        if *self.served_config != config {
            self.served_config = Arc::new(config);
        }
        self.served_config.clone()
    }

    fn link(&self, slot: u32) -> Result<Arc<Link>> {
        let link = self.exchange.borrow().links.get(self.backends.of_slot(slot)).cloned();
        link.ok_or_else(|| Error::new(Status::InvalidArg, "there is no reactor of this number"))
    }

    fn gauge(&self, read: impl Fn(&Gauges) -> Option<u64>) -> f64 {
        let exchange = self.exchange.borrow();
        exchange.links.first().and_then(|link| read(&link.gauges)).map_or(-1.0, |bytes| bytes as f64)
    }
}

fn shared(limits: Option<&JsRates>) -> Option<Arc<Rates>> {
    limits.map(|limits| limits.shared.clone())
}

impl Drop for JsReactor {
    fn drop(&mut self) {
        self.backends.close(());
    }
}
