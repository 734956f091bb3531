//! The reactors of a Node environment, which look like one to JavaScript.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Function, Uint8ArraySlice, Uint32ArraySlice};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::gauges::Gauges;
use crate::bridge::large::Large;
use crate::bridge::layout::DRAINED_WORDS;
use crate::engine::{MessageKind, Prepared};
use crate::reactor::{Adoption, Command, ConnectionId, Link, ListenerConfig};

use super::adopt;
use super::crossing::{Crossing, flush_with, function, lend};
use super::deflate::NegotiatedDeflate;
use super::drive::Drive;
use super::listen::{self, ConnectionOptions, ListenOptions, Listening, system_error};
use super::payload::{LentMemory, LentWords, bytes_mut};
use super::running::admission::JsAdmission;
use super::running::metrics::{ReactorMetrics, metrics};
use super::running::rates::{self, JsRates};
use super::start::{ReactorOptions, start};

/// The reactors of this environment. Each copy of lib makes one.
#[napi(js_name = "Reactor")]
pub struct JsReactor {
    links: Vec<Arc<Link>>,
    drive: Rc<dyn Drive>,
    crossing: Rc<RefCell<Crossing>>,
    next_listener: u32,
    /// The options of the last connection that JavaScript has answered: mostly those of the next.
    served_config: Arc<ListenerConfig>,
}

/// The connection that a socket becomes.
#[napi(object)]
pub struct Place {
    /// Its slot.
    pub slot: u32,
    /// The number of earlier connections in the slot.
    pub generation: u32,
}

/// The id of a listener for adopted sockets, which have none.
const NO_LISTENER: u32 = u32::MAX;

#[napi]
impl JsReactor {
    /// Starts them. `wake` is called, never re-entrantly, when `drain` would bring a batch; by
    /// itself it does not keep the event loop alive. `words` is the array of records:
    /// `DRAINED_WORDS` long, all of its ArrayBuffer, and touched by the caller alone, which keeps
    /// it for as long as any function of this object exists. `memory` is an array of the
    /// lists in which the caller keeps all memory that it lends. The lists stay until the reactors
    /// have ended: with the environment, or some time after nothing refers to this object.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        wake: Function<'_, (), ()>,
        options: ReactorOptions,
        mut words: Uint32ArraySlice<'_>,
        memory: Array<'_>,
    ) -> Result<Self> {
        if words.len() < DRAINED_WORDS {
            return Err(Error::new(Status::InvalidArg, format!("{DRAINED_WORDS} words are needed")));
        }
        let words = LentWords::new(&mut words);
        let config = options.config();
        let delivered = Rc::default();
        let (drive, links) = start(&env, &wake, &memory, config, &delivered, &options)?;
        let crossing = Crossing::new(links.clone(), drive.clone(), words, delivered);
        Ok(Self {
            links,
            drive,
            crossing: Rc::new(RefCell::new(crossing)),
            next_listener: 0,
            served_config: Arc::default(),
        })
    }

    /// Whether `wake`, and all that it refers to, stays although nothing else refers to it; at
    /// first it does not.
    #[napi(catch_unwind)]
    pub fn hold(&self, does: bool) {
        if let Some(wake) = self.drive.wake() {
            wake.hold(does);
        }
    }

    /// Binds and listens at once; connections are accepted after `accept`. `admission`: which
    /// clients may connect; null: all. `limits`: the rates at which they may send; null: none.
    #[napi(catch_unwind)]
    pub fn listen(
        &mut self,
        env: Env,
        options: ListenOptions,
        admission: Option<&JsAdmission>,
        limits: Option<&JsRates>,
    ) -> Result<Listening> {
        let listener = listen::bind(&env, &options)?;
        let id = self.next_listener;
        let listening = listen::listening(id, &listener, options.fd);
        self.next_listener += 1;
        self.set_ask(id, options.ask);
        let admission = admission.map(|admission| admission.shared.clone());
        let config = listen::config(&options, admission, rates::shared(limits));
        let owner = self.owner(id);
        for other in (0..self.drive.count()).filter(|&other| other != owner) {
            self.drive.submit(other, Command::Join { id, config: config.clone() })?;
        }
        self.drive.submit(owner, Command::Listen { id, listener, config })?;
        Ok(listening)
    }

    /// Lets a listener accept.
    #[napi(catch_unwind)]
    pub fn accept(&self, id: u32) -> Result<()> {
        self.drive.submit(self.owner(id), Command::Accept(id))
    }

    /// Closes a listener; a record of each reactor reports that it is closed there.
    #[napi(catch_unwind)]
    pub fn close_listener(&self, id: u32) -> Result<()> {
        self.submit_all(|| Command::CloseListener(id))
    }

    /// Another process may have its socket. `leaves`: it accepts what waits, then none.
    #[napi(catch_unwind)]
    pub fn share_listener(&self, id: u32, leaves: bool) -> Result<()> {
        self.drive.submit(self.owner(id), if leaves { Command::Leave(id) } else { Command::Share(id) })
    }

    /// Serves the socket with the descriptor `fd` from now on, under a descriptor of its own:
    /// writes `response`, and takes `prefix` for the first bytes that were read. `slot`, from
    /// `ADOPTED_SLOTS` on, is free until a CLOSED record names it again; its lowest bits are those
    /// of a reactor's number. Throws when the descriptor cannot be duplicated; nothing has changed
    /// then.
    #[napi(catch_unwind)]
    pub fn adopt(
        &mut self,
        fd: i32,
        place: Place,
        response: &[u8],
        prefix: &[u8],
        options: ConnectionOptions,
        limits: Option<&JsRates>,
    ) -> Result<()> {
        let Place { slot, generation } = place;
        let stream = adopt::duplicate(fd).map_err(|error| system_error(&error))?;
        let config = self.served_config(&options, limits);
        // Before the reactor knows the connection: `taken` answers at once.
        let (number, link) = self.home(slot)?;
        link.gauges.open(slot, generation);
        let adoption = Adoption {
            stream: stream.into(),
            id: Some(ConnectionId { slot, generation }),
            response: response.to_vec(),
            prefix: prefix.to_vec(),
            listener: NO_LISTENER,
            config,
            deflate: options.deflate.as_ref().map(NegotiatedDeflate::params),
        };
        self.drive.submit(number, Command::Adopt(Box::new(adoption)))
    }

    /// Sets the options of a connection whose REQUEST record has come, if it is accepted later.
    #[napi(catch_unwind)]
    pub fn serve(
        &mut self,
        slot: u32,
        generation: u32,
        options: ConnectionOptions,
        limits: Option<&JsRates>,
    ) -> Result<()> {
        let (number, _link) = self.home(slot)?;
        let id = ConnectionId { slot, generation };
        let deflate = options.deflate.as_ref().map(NegotiatedDeflate::params);
        let config = self.served_config(&options, limits);
        self.drive.submit(number, Command::Serve { id, config, deflate })
    }

    /// Sets the handshakes of a listener that need JavaScript: bit 0 those that pass the native
    /// checks, bit 1 refusals.
    #[napi(catch_unwind)]
    pub fn set_ask(&self, id: u32, ask: u32) {
        for link in &self.links {
            link.set_ask(id, ask);
        }
    }

    /// The function that flushes, and moves the oldest batch to JavaScript: its records to the
    /// array, and the place of its bytes to the `DRAINED_` words behind them. `FLUSHED_NEXT` then
    /// says which arena is filled next, with nothing to flush too. It returns the number of
    /// records; 0 when nothing waits.
    #[napi(catch_unwind)]
    pub fn drain<'env>(&self, env: &'env Env) -> Result<Function<'env, (), u32>> {
        function(env, "drain", &self.crossing, Crossing::drain)
    }

    /// The function that notes that JavaScript has dealt with the first `DELIVERED_RECORDS` records
    /// of the batch that it drained last, and goes on with the others later: peers that wait for
    /// the former wait no longer.
    #[napi(catch_unwind)]
    pub fn deliver<'env>(&self, env: &'env Env) -> Result<Function<'env, (), ()>> {
        function(env, "deliver", &self.crossing, Crossing::deliver)
    }

    /// The function that makes the reactors hand over the bytes that have come to their sockets by
    /// now, if that does not take too long. It returns whether `drain` would bring a batch.
    #[napi(catch_unwind)]
    pub fn settle<'env>(&self, env: &'env Env) -> Result<Function<'env, (), bool>> {
        function(env, "settle", &self.crossing, Crossing::settle)
    }

    /// The function that returns the number of the event loop's turn, as in `DRAINED_TURN`.
    #[napi(catch_unwind)]
    pub fn loop_turn<'env>(&self, env: &'env Env) -> Result<Function<'env, (), u32>> {
        function(env, "loopTurn", &self.crossing, Crossing::loop_turn)
    }

    /// The function that schedules `wake` for the event loop's next turn, before that reads any
    /// socket. It returns false if that is impossible.
    #[napi(catch_unwind)]
    pub fn call_next<'env>(&self, env: &'env Env) -> Result<Function<'env, (), bool>> {
        function(env, "callNext", &self.crossing, Crossing::call_next)
    }

    /// The function that hands the first `FLUSHED_BYTES` bytes of the arena, and the payloads that
    /// `add_large` collected, to the reactor. `FLUSHED_NEXT` then says which arena is filled next.
    #[napi(catch_unwind)]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Function<'env, (), ()>> {
        function(env, "flush", &self.crossing, |crossing| crossing.flush(None))
    }

    /// The function that does the same, and takes its argument for the payload of the last record,
    /// which is a large one: from where it is, without a copy. Null where that cannot be.
    #[napi(catch_unwind)]
    pub fn flush_with<'env>(&self, env: &'env Env) -> Result<Option<Function<'env, (), ()>>> {
        self.drive.is_inline().then(|| flush_with(env, &self.crossing)).transpose()
    }

    /// Copies the bytes of the batch that was drained last, which are in no lent memory.
    #[napi(catch_unwind)]
    pub fn copy_bytes(&self, mut into: Uint8ArraySlice<'_>, offset: u32) -> Result<()> {
        let crossing = self.crossing.borrow();
        let into = bytes_mut(&mut into).get_mut(offset as usize..).unwrap_or_default();
        let bytes = crossing.current().and_then(|batch| batch.bytes.get(..batch.used));
        match bytes.and_then(|bytes| Some((bytes, into.get_mut(..bytes.len())?))) {
            Some((bytes, into)) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(Error::new(Status::InvalidArg, "copyBytes: no batch that fits")),
        }
    }

    /// The function that lends its argument for batches: a whole ArrayBuffer of `LENT_BYTES` or
    /// more that JavaScript does not touch before a drain hands it over under the number in the
    /// word `LENT_ID`.
    #[napi(catch_unwind)]
    pub fn lend<'env>(&self, env: &'env Env) -> Result<Function<'env, (), ()>> {
        lend(env, &self.crossing)
    }

    /// Lends an arena: a whole ArrayBuffer. The caller fills the first at once, the others when
    /// `FLUSHED_NEXT` names them by `id`, and touches none between a flush and that.
    #[napi(catch_unwind)]
    pub fn lend_arena(&self, id: u32, mut memory: Uint8ArraySlice<'_>) {
        self.crossing.borrow_mut().lend_arena(Box::new(LentMemory::new(id, &mut memory)));
    }

    /// Copies a large payload of the last drained batch.
    #[napi(catch_unwind)]
    pub fn take_large(&self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let crossing = self.crossing.borrow();
        let payload = crossing.current().and_then(|batch| batch.large.get(index as usize));
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
        let prepared = Prepared::new(kind, data, compress);
        self.submit_all(|| Command::Prepare(id, Box::new(prepared.clone())))
    }

    /// Frees the message; no record that names it may come after this.
    #[napi(catch_unwind)]
    pub fn forget(&self, id: u32) -> Result<()> {
        self.submit_all(|| Command::Forget(id))
    }

    /// Copies a large payload for the next flush, whose arena has a record that refers to it.
    #[napi(catch_unwind)]
    pub fn add_large(&self, data: &[u8]) {
        self.crossing.borrow_mut().large.push(Large::copy(data));
    }

    /// Whether the large payload that was added last, since the last flush, is these bytes.
    #[napi(catch_unwind)]
    pub fn is_last_large(&self, data: &[u8]) -> bool {
        let crossing = self.crossing.borrow();
        crossing.large.last().is_some_and(|payload| **payload == *data)
    }

    /// The function that returns, for the connection in the `ASKED_` words, the bytes of its sends
    /// that the kernel has, minus bytes of its topics that wait; infinite when it is gone.
    #[napi(catch_unwind)]
    pub fn bytes_settled<'env>(&self, env: &'env Env) -> Result<Function<'env, (), f64>> {
        function(env, "bytesSettled", &self.crossing, Crossing::settled)
    }

    /// Bytes that were read from the connection, or -1 when it is gone.
    #[napi(catch_unwind)]
    pub fn bytes_given(&self, slot: u32, generation: u32) -> f64 {
        self.gauges()
            .and_then(|gauges| gauges.read_given(slot, generation))
            .map_or(-1.0, |bytes| bytes as f64)
    }

    /// Bytes that the kernel has of the connection, those of its topics included, or -1 when it is
    /// gone.
    #[napi(catch_unwind)]
    pub fn bytes_taken(&self, slot: u32, generation: u32) -> f64 {
        self.gauges().and_then(|gauges| gauges.read(slot, generation)).map_or(-1.0, |bytes| bytes as f64)
    }

    /// Seconds for which bytes have waited that the kernel does not take; the slot is taken.
    #[napi(catch_unwind)]
    pub fn full_for(&self, slot: u32) -> Result<f64> {
        Ok(self.home(slot)?.1.meters.full_for(slot).as_secs_f64())
    }

    /// The metrics of the reactors.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> ReactorMetrics {
        metrics(&self.links, &self.crossing.borrow())
    }

    /// Writes the queued bytes as far as the kernel takes them, closes all connections, and waits
    /// for the threads to end.
    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        self.drive.stop();
    }

    /// The number of reactors.
    #[napi(getter, catch_unwind)]
    pub fn count(&self) -> u32 {
        self.drive.count() as u32
    }

    fn submit_all(&self, command: impl Fn() -> Command) -> Result<()> {
        (0..self.drive.count()).try_for_each(|number| self.drive.submit(number, command()))
    }

    /// The number of the reactor that has the listener.
    fn owner(&self, id: u32) -> usize {
        id as usize % self.drive.count()
    }

    /// The options in the form of the reactor; mostly those of the last connection.
    fn served_config(
        &mut self,
        options: &ConnectionOptions,
        limits: Option<&JsRates>,
    ) -> Arc<ListenerConfig> {
        let rates = rates::shared(limits);
        let config = ListenerConfig { rates, ..listen::connection_config(options) };
        if *self.served_config != config {
            self.served_config = Arc::new(config);
        }
        self.served_config.clone()
    }

    /// The number of the reactor of a slot.
    fn home(&self, slot: u32) -> Result<(usize, &Link)> {
        let number = self.drive.number(slot);
        match self.links.get(number) {
            Some(link) => Ok((number, link)),
            None => Err(Error::new(Status::InvalidArg, "there is no reactor of this number")),
        }
    }

    fn gauges(&self) -> Option<&Gauges> {
        self.links.first().map(|link| &*link.gauges)
    }
}

impl Drop for JsReactor {
    fn drop(&mut self) {
        self.drive.retire();
    }
}
