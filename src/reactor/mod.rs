//! One thread, one `mio::Poll`, all sockets and timers.
//!
//! This layer knows nothing of JavaScript: events go to a [`Consumer`], which is [`Forward`] if they
//! cross to another thread.
//!
//! ```text
//! serve_commands -> wait -> serve_commands
//! -> on_modest -> on_events: accept, read -> on_greedy
//! -> on_timers -> write_unwritten -> on_turn_end -> on_handshakes
//! ```

#![deny(unsafe_code)]
#![expect(missing_docs, reason = "a name that says all needs no sentence")]
#![expect(clippy::disallowed_methods, reason = "the one layer that has a clock")]

mod barrier;
mod command;
mod config;
mod conn;
mod connections;
mod consume;
mod group;
pub mod handover;
mod idling;
mod inline;
mod listen;
mod metrics;
mod queue;
mod read;
#[cfg(test)]
mod tests;
mod timers;
pub mod tls;
mod topics;
mod transport;
mod upgrade;
mod wait;
mod write;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mio::{Poll, Registry, Token, Waker};

use crate::bridge::gauges::MAX_SLOTS;

pub use crate::bridge::layout::Cause;
pub use command::handle::{Adoption, Command, Handle};
pub use config::{DeflateConfig, Http, ListenerConfig, ReactorConfig, SMALL_ALLOWANCE};
pub use conn::origin::Asked;
pub use conn::{Conn, ConnectionId};
pub use consume::consumer::{Consumer, Events, Flow, Memory};
pub use consume::forward::{Forward, Passed, report_failure};
pub use consume::link::Link;
pub use group::reactors;
pub use handover::parcel::{Heads, Parcel};
pub use handover::{Copied, Packed, Packs, Told};
pub use inline::{Due, PipeEvent, Pumped, until};
pub use listen::bind::{BoundListener, ListenAddress, TcpOptions};
pub use listen::door::Closer;
pub use tls::steps::{Choice, Export};
pub use tls::stream::Hello;
pub use transport::pipe::{Pipe, StreamOp, StreamOps};
pub use transport::{Descriptor, Transport};
pub use upgrade::routes::{Route, Routes};
pub use upgrade::{HandshakeInfo, Verdict};

use barrier::DeliveryBarrier;
use command::CommandQueue;
use command::messages::Messages;
use conn::Connection;
use conn::teardown::Teardown;
use connections::{Connections, Share};
use group::Shard;
use handover::Handovers;
use idling::Idling;
use listen::Listeners;
use metrics::Metrics;
use read::Reader;
use timers::Timers;
use topics::Topics;
pub use wait::balance::{Balance, TurnCount, Usage};
pub use wait::spin::{Spin, Spinner};
use write::Writer;

/// All sockets of one thread. Make it, keep a [`Handle`], and let a thread `run` it.
pub struct Reactor<C: Consumer> {
    /// `None`: no sockets.
    poll: Option<Poll>,
    events: mio::Events,
    handle: Handle,
    config: ReactorConfig,
    consumer: C,
    connections: Connections,
    listeners: Listeners,
    handovers: Handovers,
    messages: Messages,
    topics: Topics,
    shard: Shard,
    commands: CommandQueue,
    timers: Timers,
    reader: Reader,
    writer: Writer,
    barrier: DeliveryBarrier,
    teardown: Teardown,
    metrics: Metrics,
    idling: Idling,
    spinner: Spinner,
    stopping: bool,
    /// The last turn found nothing to do; how long it had waited.
    last_wait: (bool, Duration),
    /// The current turn of another program's loop, if that runs the reactor.
    loop_turn: Option<u32>,
    /// The loop's turn that the budget for reading is for.
    read_in: Option<u32>,
    /// The loop's turn in which deadlines were found to have passed.
    swept_in: Option<u32>,
}

/// Tokens above all slots.
const WAKER: Token = Token(usize::MAX);
const LISTENERS: usize = 1 << 31;
/// Most events taken with one system call: a turn that closed 1,024 sockets took 10 ms.
const EVENTS: usize = 512;

impl<C: Consumer> Reactor<C> {
    pub fn new(consumer: C, config: ReactorConfig) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        Ok(Self::over(Some(poll), Some(waker), consumer, config))
    }

    fn over(poll: Option<Poll>, waker: Option<Waker>, consumer: C, config: ReactorConfig) -> Self {
        let (now, meters) = (Instant::now(), consumer.meters());
        Self {
            poll,
            events: mio::Events::with_capacity(EVENTS),
            handle: Handle::new(waker),
            config,
            consumer,
            connections: Connections::new(MAX_SLOTS, Share::ALL),
            listeners: Listeners::default(),
            handovers: Handovers::default(),
            messages: Messages::default(),
            topics: Topics::new(config.history_budget),
            shard: Shard::alone(),
            commands: CommandQueue::default(),
            timers: Timers::new(now),
            reader: Reader::new(config.unfinished_budget, now),
            writer: Writer::new(&config),
            barrier: DeliveryBarrier::default(),
            teardown: Teardown::default(),
            metrics: Metrics::new(meters),
            idling: Idling::new(config.give_back, now),
            spinner: Spinner::new(config.spin),
            stopping: false,
            last_wait: (false, Duration::ZERO),
            loop_turn: None,
            read_in: None,
            swept_in: None,
        }
    }

    fn registry(&self) -> io::Result<&Registry> {
        self.poll.as_ref().map(Poll::registry).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Includes those in their handshake.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Runs turns until `Command::Stop`, then closes all sockets.
    pub fn run(&mut self) -> io::Result<()> {
        while !self.stopping {
            self.run_once(None)?;
        }
        self.close();
        Ok(())
    }

    /// One turn: waits for events, at most `timeout` (`None`: without a limit), and handles
    /// them.
    pub fn run_once(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // Queued frames leave before the wait, so the answers of peers come with the same wait.
        if self.serve_commands() {
            self.consumer.on_turn_end();
            self.barrier.close_known();
        }
        if self.stopping {
            return Ok(());
        }
        self.wait(timeout)?;
        self.begin_reading();
        self.writer.begin_turn();
        // Deferred sends come first, or new ones would use up the budget.
        self.on_deferred();
        self.serve_commands();
        self.resume_limited();
        self.retry();
        self.on_modest();
        self.on_events();
        self.on_greedy();
        self.on_timers();
        self.end_turn(Some(self.timers.now()));
        // Records of this turn do not wait for them; their reports are not left until the next turn.
        if self.on_handshakes() {
            self.end_turn(None);
        }
        Ok(())
    }

    /// Writes the frames queued in the turn, and hands over its records. `began`: `None` for a step
    /// between two turns.
    fn end_turn(&mut self, began: Option<Instant>) {
        self.release_contexts();
        self.give_up_unfinished();
        self.write_unwritten();
        self.end_slow();
        self.end_draining();
        self.metrics.failures = 0;
        self.end_topics();
        self.consumer.on_turn_end();
        self.barrier.close_known();
        self.metrics.tally.unfinished_bytes = self.reader.unfinished_bytes() as u64;
        [self.metrics.tally.history_bytes, self.metrics.tally.history_budget] =
            self.topics.history().map(|bytes| bytes as u64);
        self.consumer.on_tally(&self.metrics.tally, began);
        self.connections.end_turn(self.consumer.progress().map_or(u64::MAX, |progress| progress.delivered));
        self.writer.end_turn();
        self.idling.rest(self.timers.now());
    }

    fn on_events(&mut self) {
        let events = std::mem::replace(&mut self.events, mio::Events::with_capacity(0));
        for event in &events {
            match event.token() {
                WAKER => {}
                Token(token) if token >= LISTENERS => self.accept((token - LISTENERS) as u32),
                Token(slot) => self.step_at(slot as u32, |conn, consumer| conn.on_event(consumer, event)),
            }
        }
        self.events = events;
        self.retry_listeners();
    }

    /// The connection and the parts that its steps need: it is found once for all of them.
    #[inline(always)]
    fn conn_at(&mut self, slot: u32) -> Option<(Conn<'_>, &mut C, &mut Messages)> {
        let (id, state) = self.connections.find(slot)?;
        let conn = Conn {
            id,
            state,
            config: &self.config,
            poll: self.poll.as_ref(),
            topics: &mut self.topics,
            timers: &mut self.timers,
            reader: &mut self.reader,
            writer: &mut self.writer,
            barrier: &mut self.barrier,
            teardown: &mut self.teardown,
            handovers: &mut self.handovers,
            metrics: &mut self.metrics,
        };
        Some((conn, &mut self.consumer, &mut self.messages))
    }

    #[inline]
    fn conn_of(&mut self, id: ConnectionId) -> Option<(Conn<'_>, &mut C, &mut Messages)> {
        self.conn_at(id.slot).filter(|(conn, ..)| conn.id == id)
    }

    fn step_at(&mut self, slot: u32, step: impl FnOnce(&mut Conn<'_>, &mut C)) {
        self.guarded(slot, |reactor| {
            if let Some((mut conn, consumer, _)) = reactor.conn_at(slot) {
                step(&mut conn, consumer);
            }
        });
    }

    fn step(&mut self, id: ConnectionId, step: impl FnOnce(&mut Conn<'_>, &mut C)) {
        self.step_at(id.slot, |conn, consumer| {
            if conn.id == id {
                step(conn, consumer);
            }
        });
    }

    /// Runs a step of one connection; a panic in it ends that connection and no other.
    fn guarded(&mut self, slot: u32, step: impl FnOnce(&mut Self)) {
        let panicked = catch_unwind(AssertUnwindSafe(|| step(self))).is_err();
        if panicked {
            // With 1011; only its end is reported.
            let give_up = || self.conn_at(slot).is_some_and(|(mut conn, ..)| conn.give_up());
            if !catch_unwind(AssertUnwindSafe(give_up)).unwrap_or(false) {
                self.destroy(slot, Cause::Panic);
            }
        }
        self.end_due();
    }

    /// Tries once to write the queued bytes, then closes every socket. It compresses no more than
    /// one turn's share: the end of the process must not wait for more. The reactor is of no use
    /// afterwards.
    pub fn close(&mut self) {
        self.writer.begin_turn();
        self.writer.allow(usize::MAX);
        self.on_commands();
        self.open_barrier(u64::MAX);
        self.on_deferred();
        while !self.writer.has_written() {
            self.write_unwritten();
        }
        for slot in self.connections.slots() {
            self.destroy(slot, Cause::ReactorFailed);
        }
        for id in self.listeners.take_all() {
            self.consumer.on_listener_closed(id);
        }
        self.consumer.on_turn_end();
        self.barrier.close_known();
        self.open_barrier(u64::MAX);
    }
}

/// Perhaps by a panic.
impl<C: Consumer> Drop for Reactor<C> {
    fn drop(&mut self) {
        self.handle.outbox().end();
    }
}
