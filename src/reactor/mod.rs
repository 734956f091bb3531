//! One thread, one `mio::Poll`, all sockets and timers.
//!
//! This layer knows nothing of JavaScript: events go to a [`Consumer`], which is a [`Handler`] on the same thread, or
//! [`Forward`] when they are to cross to another one.
//!
//! ```text
//! serve_commands -> wait -> serve_commands -> on_events: accept, read -> on_timers -> flush -> on_turn_end
//! ```

#![deny(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the one layer that has a clock")]

mod adoption;
mod commands;
mod config;
mod connection;
mod connections;
mod consumer;
mod deferred;
mod deflating;
mod forward;
mod handle;
mod handler;
mod listener;
mod opening;
mod outgoing;
mod reading;
mod session;
mod silence;
mod socket;
mod spin;
#[cfg(test)]
mod tests;
mod timers;
mod upgrade;
mod waiting;
mod writing;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::bridge::chunk::Outbox;
use crate::bridge::gauges::MAX_SLOTS;
use crate::engine::Prepared;

pub use config::{DeflateConfig, ListenerConfig, ReactorConfig, SMALL_ALLOWANCE, Spin};
pub use connection::HEADROOM;
pub use connections::ConnectionId;
pub use consumer::Consumer;
pub use forward::{ASK_ACCEPTED, ASK_REFUSED, Forward, Link, report_failure};
pub use handle::{Adoption, Command, Handle};
pub use handler::{Bytes, Handler, Local, Message};
pub use listener::{BoundListener, ListenAddress};
pub use opening::{Opening, Verdict};
pub use session::Session;

use connection::{Connection, Phase};
use connections::Connections;
use deflating::Compression;
use handle::Shared;
use listener::{Accepted, Listener};
use outgoing::Pool;
use session::Work;
use spin::Spinner;
use timers::Timers;

/// All sockets of one thread. Make it, keep a [`Handle`], and let a thread `run` it.
pub struct Reactor<C: Consumer> {
    poll: Poll,
    events: Events,
    shared: Arc<Shared>,
    config: ReactorConfig,
    consumer: C,
    connections: Connections,
    listeners: HashMap<u32, Listener>,
    /// Messages that may be sent to any connection, by the number that commands name them by.
    prepared: HashMap<u32, Box<Prepared>>,
    work: Work,
    spinner: Spinner,
    starving: bool,
    stopping: bool,
    /// Bytes that may still be read in this turn.
    turn_budget: usize,
}

/// Tokens above all slots.
const WAKER: Token = Token(usize::MAX);
const LISTENERS: usize = 1 << 31;
/// Events taken per call of the system.
const EVENTS: usize = 1024;

impl<H: Handler> Reactor<Local<H>> {
    /// A reactor that serves `handler` on its own thread.
    ///
    /// # Errors
    /// The system's: out of descriptors.
    pub fn with_handler(handler: H, config: ReactorConfig) -> io::Result<Self> {
        Self::new(Local::new(handler), config)
    }
}

impl<C: Consumer> Reactor<C> {
    /// A reactor without sockets.
    ///
    /// # Errors
    /// The system's: out of descriptors.
    pub fn new(consumer: C, config: ReactorConfig) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let now = Instant::now();
        let work = Work {
            now,
            timers: Timers::new(now),
            pool: Pool::default(),
            dirty: Vec::new(),
            ready: Vec::new(),
            starved: Vec::new(),
            doomed: Vec::new(),
            unfinished: 0,
            opened: false,
            compression: Compression::new(config.deflate_budget),
        };
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS),
            shared: Arc::new(Shared { outbox: Outbox::new(), waker }),
            config,
            consumer,
            connections: Connections::new(MAX_SLOTS),
            listeners: HashMap::new(),
            prepared: HashMap::new(),
            work,
            spinner: Spinner::new(config.spin),
            starving: false,
            stopping: false,
            turn_budget: config::TURN_BUDGET,
        })
    }

    /// The way to this reactor from other threads.
    pub fn handle(&self) -> Handle {
        Handle { shared: self.shared.clone() }
    }

    /// The consumer.
    pub fn consumer(&mut self) -> &mut C {
        &mut self.consumer
    }

    /// How many connections there are, those in their handshake included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Runs turns until `Command::Stop`, then closes all sockets.
    ///
    /// # Errors
    /// The system's, when waiting for events fails.
    pub fn run(&mut self) -> io::Result<()> {
        while !self.stopping {
            self.run_once(None)?;
        }
        self.close_all();
        Ok(())
    }

    /// One turn: waits for events, at most `timeout` (`None` = as long as it takes), and handles them.
    ///
    /// # Errors
    /// The system's, when waiting for events fails.
    pub fn run_once(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // What was sent leaves before the wait: peers answer meanwhile, and their answers come with the same wait.
        if self.serve_commands() {
            self.consumer.on_turn_end();
        }
        if self.stopping {
            return Ok(());
        }
        self.wait(timeout)?;
        self.turn_budget = config::TURN_BUDGET;
        self.work.compression.begin_turn();
        // Those who waited come first, or those who came would use the budget up.
        self.on_deferred();
        self.serve_commands();
        self.on_ready();
        self.on_events();
        self.on_timers();
        self.release_contexts();
        if std::mem::take(&mut self.work.opened) {
            // A client in the consumer's own process must not see the 101 before the consumer sees the connection.
            self.consumer.on_turn_end();
        }
        self.flush();
        self.work.compression.end_turn();
        self.consumer.on_turn_end();
        self.connections.end_turn();
        Ok(())
    }

    /// Does what other threads have asked for and writes what they have sent. False: they have asked for nothing.
    fn serve_commands(&mut self) -> bool {
        let asked = !self.shared.outbox.commands.is_empty();
        if asked {
            self.on_commands();
            self.on_deferred();
            self.flush();
        }
        asked
    }

    fn on_commands(&mut self) {
        for command in self.shared.outbox.commands.take_all() {
            match command {
                Command::Chunk(chunk) => self.on_chunk(chunk),
                Command::Arena(arena) => self.on_arena(arena),
                Command::Listen { id, listener, config } => self.on_listen(id, listener, config),
                Command::Accept(id) => {
                    if let Some(listener) = self.listeners.get_mut(&id) {
                        listener.accepting = true;
                        self.accept(id);
                    }
                }
                Command::CloseListener(id) => self.on_close_listener(id),
                Command::Adopt(adoption) => self.on_adopt(*adoption),
                Command::Prepare(id, prepared) => drop(self.prepared.insert(id, prepared)),
                Command::Forget(id) => drop(self.prepared.remove(&id)),
                Command::Stop => self.stopping = true,
            }
        }
    }

    fn on_events(&mut self) {
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            match event.token() {
                WAKER => {}
                Token(token) if token >= LISTENERS => self.accept((token - LISTENERS) as u32),
                Token(slot) => self.on_socket_event(slot as u32, event),
            }
        }
        self.events = events;
        let due = |listener: &Listener| listener.retry_at.is_some_and(|at| at <= self.work.now);
        let retries: Vec<u32> = self.listeners.iter().filter(|(_, l)| due(l)).map(|(&id, _)| id).collect();
        for id in retries {
            self.accept(id);
        }
    }

    fn on_socket_event(&mut self, slot: u32, event: &Event) {
        let (readable, closed) = (event.is_readable(), event.is_read_closed() || event.is_error());
        if event.is_writable()
            && let Some(connection) = self.connections.get_mut(slot)
            && std::mem::take(&mut connection.blocked)
        {
            self.guarded(slot, |reactor| reactor.flush_one(slot));
        }
        if readable || closed {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            connection.readable = true;
            connection.hung_up |= closed;
            connection.dead |= event.is_error();
            // Those on the list have had their share of this turn.
            if !connection.queued {
                self.guarded(slot, |reactor| reactor.read_and_tell(slot, closed));
            }
        }
    }

    /// Runs one connection's step; a panic in it closes that connection and nothing else.
    fn guarded(&mut self, slot: u32, step: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| step(self))).is_err() {
            self.work.doomed.push(slot);
        }
        while let Some(slot) = self.work.doomed.pop() {
            self.destroy(slot);
        }
    }

    /// Closes the socket and tells the consumer.
    fn destroy(&mut self, slot: u32) {
        let Some((id, mut connection)) = self.connections.remove(slot) else { return };
        self.work.unfinished = self.work.unfinished.saturating_sub(connection.engine.buffered());
        // Closing takes a socket out of the poll by itself, unless another process or thread holds a duplicate of it.
        let _already_out = self.poll.registry().deregister(&mut connection.stream);
        if connection.announced {
            // A panic must not go beyond the connection, and that is gone already.
            let _panicked = catch_unwind(AssertUnwindSafe(|| self.consumer.on_closed(id)));
        }
    }

    fn on_listen(&mut self, id: u32, listener: BoundListener, config: Arc<ListenerConfig>) {
        let mut socket = listener.socket;
        let token = Token(LISTENERS + id as usize);
        if self.poll.registry().register(&mut socket, token, Interest::READABLE).is_ok() {
            self.listeners.insert(id, Listener::new(socket, config));
        } else {
            self.consumer.on_listener_closed(id);
        }
    }

    fn on_close_listener(&mut self, id: u32) {
        let Some(mut listener) = self.listeners.remove(&id) else { return };
        let _closed_next = self.poll.registry().deregister(&mut listener.socket);
        // Before it is told: whoever hears of it may want the port.
        drop(listener);
        for slot in self.connections.slots() {
            if let Some(connection) = self.connections.get_mut(slot)
                && connection.listener == id
                && let Phase::Handshake(head) = &mut connection.phase
            {
                head.orphan = true;
                // Nothing of a request has come, or one has been answered: nobody waits for a 503.
                if head.bytes.is_empty() {
                    self.destroy(slot);
                }
            }
        }
        self.consumer.on_listener_closed(id);
    }

    fn accept(&mut self, id: u32) {
        // Connections that come and go leave records behind that no mark of their own limits.
        let (budget, pause) = match self.consumer.is_pressed(self.work.unfinished) {
            true => (0, config::PRESSED_ACCEPT),
            false => (config::ACCEPT_BUDGET, Duration::ZERO),
        };
        for _ in 0..budget {
            let Some(listener) = self.listeners.get_mut(&id).filter(|listener| listener.accepting) else {
                return;
            };
            match listener.accept(self.work.now) {
                Accepted::Connection(stream) => {
                    let config = listener.config.clone();
                    // Without a slot for it, the socket is closed.
                    if let Some(new) = self.connections.next_id() {
                        self.admit(new, stream, id, config, Phase::Handshake(Box::default()));
                    }
                }
                Accepted::Empty | Accepted::Exhausted => return,
            }
        }
        // The edge is used up but the queue is not.
        if let Some(listener) = self.listeners.get_mut(&id) {
            listener.retry_at = Some(self.work.now + pause);
        }
    }

    /// Takes a socket in. `None`: there are too many, or the poll is full; the socket is closed.
    fn admit(
        &mut self,
        id: ConnectionId,
        mut stream: mio::net::TcpStream,
        listener: u32,
        config: Arc<ListenerConfig>,
        phase: Phase,
    ) -> Option<u32> {
        // A socket that refuses this is dead and will say so on the first read.
        let _dead_anyway = stream.set_nodelay(true);
        let interest = Interest::READABLE.add(Interest::WRITABLE);
        self.poll.registry().register(&mut stream, Token(id.slot as usize), interest).ok()?;
        let mut connection = Connection::new(stream, listener, config, phase);
        if let Phase::Handshake(_) = connection.phase {
            let after = connection.config.handshake_timeout;
            self.work.timers.arm(id, &mut connection.deadline, self.work.now, after);
        }
        self.connections.insert(id, connection);
        Some(id.slot)
    }

    /// What is queued is tried to be written, then every socket is closed.
    fn close_all(&mut self) {
        self.on_commands();
        self.finish_deferred();
        while !self.work.dirty.is_empty() {
            self.flush();
        }
        for slot in self.connections.slots() {
            self.destroy(slot);
        }
        for id in self.listeners.drain().map(|(id, _)| id).collect::<Vec<_>>() {
            self.consumer.on_listener_closed(id);
        }
        self.consumer.on_turn_end();
    }
}
