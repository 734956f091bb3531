//! One thread, one `mio::Poll`, all sockets and timers.
//!
//! This layer knows nothing of JavaScript: events go to a [`Consumer`], which is a [`Handler`] on
//! the same thread, or [`Forward`] when they are to cross to another one.
//!
//! ```text
//! serve_commands -> wait -> serve_commands
//! -> on_modest -> on_events: accept, read -> on_greedy
//! -> on_timers -> write_unwritten -> on_turn_end
//! ```

#![deny(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the one layer that has a clock")]

mod command;
mod config;
mod connection;
mod consume;
mod group;
mod inline;
mod open;
mod read;
#[cfg(test)]
mod tests;
mod topics;
mod transport;
mod wait;
mod work;
mod write;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Poll, Token, Waker};

use crate::bridge::chunk::Outbox;
use crate::bridge::gauges::MAX_SLOTS;
use crate::bridge::layout::Cause;
use crate::engine::Prepared;

pub use command::handle::{Adoption, Command, Handle};
pub use config::{DeflateConfig, ListenerConfig, ReactorConfig, SMALL_ALLOWANCE};
pub use connection::id::ConnectionId;
pub use connection::session::Session;
pub use consume::consumer::Consumer;
pub use consume::forward::{Forward, report_failure};
pub use consume::link::Link;
pub use consume::local::{Handler, Local};
pub use consume::message::{Bytes, Message};
pub use consume::settling::Settling;
pub use group::reactors;
pub use inline::{Due, until};
pub use open::bind::{BoundListener, ListenAddress, TcpOptions};
pub use open::opening::{Opening, Verdict};
pub use transport::Transport;

use command::handle::Mailbox;
use command::serve::Asked;
use connection::table::{Connections, Share};
use group::Seat;
use open::leave::Leaving;
use open::listen::Listener;
use read::half::PeerSide;
use topics::registry::Topics;
pub use wait::spin::{Spin, Spinner};
use work::Work;
use write::half::Takes;

/// All sockets of one thread. Make it, keep a [`Handle`], and let a thread `run` it.
pub struct Reactor<C: Consumer> {
    poll: Poll,
    events: Events,
    shared: Arc<Mailbox>,
    config: ReactorConfig,
    consumer: C,
    connections: Connections,
    listeners: HashMap<u32, Listener>,
    leaving: Vec<Leaving>,
    /// Messages that may be sent to any connection, by the numbers that commands use.
    prepared: HashMap<u32, Box<Prepared>>,
    topics: Topics,
    seat: Seat,
    asked: Asked,
    work: Work,
    spinner: Spinner,
    stopping: bool,
    /// Bytes that may still be read in this turn.
    turn_budget: usize,
    /// Bytes of those that are reserved for greedy connections.
    reserved: usize,
}

/// Tokens above all slots.
const WAKER: Token = Token(usize::MAX);
const LISTENERS: usize = 1 << 31;
/// Most events taken with one system call: a turn that closed 1,024 sockets took 10 ms.
const EVENTS: usize = 512;

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
        let work = Work::new(&config, consumer.meters(), Instant::now());
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS),
            shared: Arc::new(Mailbox { outbox: Outbox::new(), waker }),
            config,
            consumer,
            connections: Connections::new(MAX_SLOTS, Share::ALL),
            listeners: HashMap::new(),
            leaving: Vec::new(),
            prepared: HashMap::new(),
            topics: Topics::new(config.history_budget),
            seat: Seat::alone(),
            asked: Asked::default(),
            work,
            spinner: Spinner::new(config.spin),
            stopping: false,
            turn_budget: config::TURN_BUDGET,
            reserved: 0,
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

    /// The number of connections, including those in their handshake.
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

    /// One turn: waits for events, at most `timeout` (`None` = as long as it takes), and handles
    /// them.
    ///
    /// # Errors
    /// The system's, when waiting for events fails.
    pub fn run_once(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // Queued frames leave before the wait, so the answers of peers come with the same wait.
        if self.serve_commands() {
            self.hand_over();
        }
        if self.stopping {
            return Ok(());
        }
        self.wait(timeout)?;
        self.begin_reading();
        self.work.compression.begin_turn();
        // Deferred sends come first, or new ones would use the budget up.
        self.on_deferred();
        self.serve_commands();
        self.resume_paced();
        self.retry();
        self.on_modest();
        self.on_events();
        self.on_greedy();
        self.on_timers();
        self.end_turn();
        Ok(())
    }

    /// Writes the bytes that the turn has queued, and hands over those that it has read.
    fn end_turn(&mut self) {
        self.release_contexts();
        self.give_up_unfinished();
        self.write_unwritten();
        self.end_slow();
        self.end_lingering();
        self.end_leaving();
        self.end_topics();
        self.work.compression.end_turn();
        self.hand_over();
        self.work.tally.unfinished_bytes = self.work.unfinished.bytes() as u64;
        self.work.tally.history_bytes = self.topics.histories.used as u64;
        self.work.tally.history_budget = self.topics.histories.budget as u64;
        self.consumer.on_tally(&self.work.tally, self.work.now);
        self.connections.end_turn(self.consumer.progress().map_or(u64::MAX, |progress| progress.delivered));
        self.work.remains.free();
        self.work.idling.rest(self.work.now);
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Chunk(chunk) => self.apply_records(chunk.into()),
            Command::Arena(arena) => self.apply_records(arena.into()),
            Command::Listen { id, listener, config } => self.on_listen(id, listener, config),
            Command::Join { id, config } => drop(self.listeners.insert(id, Listener::elsewhere(config))),
            Command::Take { listener, stream } => self.on_take(listener, stream, None),
            Command::Accept(id) => {
                if let Some(listener) = self.listeners.get_mut(&id) {
                    listener.accepting = true;
                    self.accept(id);
                }
            }
            Command::CloseListener(id) => self.on_close_listener(id),
            Command::Leave(id) => self.on_leave(id),
            Command::Share(id) => self.on_share(id),
            Command::Adopt(adoption) => self.on_adopt(*adoption),
            Command::Serve { id, config, deflate } => self.on_serve(id, config, deflate),
            Command::Prepare(id, prepared) => drop(self.prepared.insert(id, prepared)),
            Command::Forget(id) => drop(self.prepared.remove(&id)),
            Command::Stop => self.stopping = true,
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
        let due = |listener: &Listener| listener.due().is_some_and(|at| at <= self.work.now);
        let retries: Vec<u32> = self.listeners.iter().filter(|(_, l)| due(l)).map(|(&id, _)| id).collect();
        for id in retries {
            // One that another reactor accepts for, too.
            self.report_refused(id);
            self.accept(id);
        }
    }

    fn on_socket_event(&mut self, slot: u32, event: &Event) {
        let (readable, closed) = (event.is_readable(), event.is_read_closed() || event.is_error());
        if event.is_writable()
            && let Some(connection) = self.connections.get_mut(slot)
            && connection.write.state.go_on(Takes::AfterEdge)
            && let Some((mut session, _)) = self.session(slot)
        {
            session.touch();
        }
        if closed {
            self.on_hang_up(slot);
        }
        if readable || closed {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            let read = &mut connection.read;
            let seen = match (closed, event.is_error()) {
                (_, true) => PeerSide::Dead,
                (true, false) => PeerSide::HungUp,
                (false, false) => PeerSide::Open,
            };
            read.state.on_edge();
            read.peer = read.peer.max(seen);
            read.urgent |= event.is_priority();
            // Connections in a queue are read in their turn; greedy ones go into a queue.
            if read.state.is_queued() {
                return;
            }
            if read.greedy {
                return self.read_later(slot);
            }
            let to_end = closed || read.urgent;
            self.guarded(slot, |reactor| reactor.on_readable(slot, to_end));
        }
    }

    /// The connection in `slot` as a handler sees it, and the consumer.
    pub(in crate::reactor) fn session(&mut self, slot: u32) -> Option<(Session<'_>, &mut C)> {
        let id = self.connections.id(slot)?;
        let connection = self.connections.get_mut(slot)?;
        Some((Session { id, connection, work: &mut self.work }, &mut self.consumer))
    }

    /// Runs one connection's step; a panic in it closes that connection and nothing else.
    fn guarded(&mut self, slot: u32, step: impl FnOnce(&mut Self)) {
        let panicked = catch_unwind(AssertUnwindSafe(|| step(self))).is_err();
        if panicked && !catch_unwind(AssertUnwindSafe(|| self.give_up(slot))).unwrap_or(false) {
            self.destroy(slot, Cause::Panic);
        }
        while let Some(id) = self.work.doomed.pop() {
            self.destroy(id.slot, Cause::Reset);
        }
    }

    /// Closes a connection that has panicked with 1011; only its end is reported. False: it cannot
    /// send any more.
    fn give_up(&mut self, slot: u32) -> bool {
        self.session(slot).is_some_and(|(mut session, _)| session.give_up())
    }

    /// Closes the socket and reports that to the consumer, with this cause unless an earlier one is
    /// known.
    fn destroy(&mut self, slot: u32, cause: Cause) {
        let Some(id) = self.connections.id(slot) else { return };
        self.report_dropped(id);
        let Some((id, mut connection)) = self.connections.remove(slot) else { return };
        self.seat.left();
        // The slot of its settings may belong to another server by now.
        if !self.work.tickets.is_empty() {
            self.work.tickets.remove(&slot);
        }
        self.work.paced.gone(slot);
        self.work.watch.forget(slot);
        self.work.waiting.set(id, 0);
        self.work.idling.freed(connection.heap_bytes());
        self.work.unfinished.forget(slot);
        self.work.starved.forget(&mut connection);
        self.topics.on_gone(id);
        connection.transport.deregister(self.poll.registry());
        if connection.life.is_reported() {
            // A panic must not go beyond the connection, which is gone already.
            let _panicked = catch_unwind(AssertUnwindSafe(|| {
                // Bytes that the kernel has taken count as sent, even if the connection ends here.
                self.consumer.on_settled(id, connection.write.settled());
                match connection.take_sent() {
                    0 => {}
                    sent => self.consumer.on_sent(id, sent),
                }
                self.consumer.on_closed(id, connection.cause_of_end(cause));
            }));
            let is_known = connection.close_complete();
            self.hold_end(id.slot, connection.transport, is_known);
        }
        self.work.remains.push(connection.write.outgoing);
    }

    /// Makes one attempt to write the queued bytes, then closes every socket. Of messages to be
    /// compressed it takes one turn's share: the end of the process must not wait for more.
    fn close_all(&mut self) {
        self.work.compression.begin_turn();
        self.serve_all_commands();
        self.open_all_gates();
        self.on_deferred();
        while !self.work.unwritten.is_empty() {
            self.write_unwritten();
        }
        for slot in self.connections.slots() {
            self.destroy(slot, Cause::ReactorFailed);
        }
        for id in self.listeners.drain().map(|(id, _)| id).collect::<Vec<_>>() {
            self.consumer.on_listener_closed(id);
        }
        self.hand_over();
        self.open_all_gates();
    }
}
