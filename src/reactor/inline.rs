//! A reactor without a thread of its own: the loop of another program runs its turns.
//!
//! That loop watches [`Reactor::descriptor`] and calls `run_once(Some(Duration::ZERO))` when the
//! descriptor is readable, or at the time from [`Reactor::rest`]. Commands go through
//! [`Reactor::serve`], which acts at once, after those that were queued while a thread ran it.

use std::io;
use std::time::{Duration, Instant};

use mio::{Poll, Waker};

use crate::bridge::layout::Cause;
use crate::bridge::read_buffer::Lent;
use crate::engine::Large;

use super::command::records::Rest;
use super::conn::life::Life;
use super::read::{PeerSide, ReadClass};
use crate::reactor::{
    Command, Conn, ConnectionId, Consumer, Forward, Handle, Passed, Reactor, ReactorConfig, WAKER,
};

/// When a reactor wants its next turn, if no socket brings one sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As soon as the loop has served others.
    Now,
    At(Instant),
    Never,
}

/// From this many bytes on it costs less to hand an unfinished message over in its own memory than
/// to copy the chunk with its end.
const MIN_OWNED_BYTES: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipeEvent {
    Full,
    Drained,
    /// Its peer has ended its side, and chunks before that end can still come.
    HungUp,
    Ended,
    Closed,
}

pub enum Pumped {
    /// The chunk was read where it is, and the caller has its records.
    Read(Passed),
    /// The records wait like others. `whole`: nothing of the chunk is left. Else the stream must
    /// not be read before [`StreamOp::Resume`](super::StreamOp::Resume).
    Copied { whole: bool },
}

pub fn until(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}

impl<C: Consumer> Reactor<C> {
    /// A reactor for streams of the program, which needs no descriptor.
    pub fn without_sockets(consumer: C, config: ReactorConfig) -> Self {
        Self::over(None, None, consumer, config)
    }

    pub fn take_sockets(&mut self) -> io::Result<()> {
        let poll = Poll::new()?;
        self.handle = Handle::new(Some(Waker::new(poll.registry(), WAKER)?));
        self.poll = Some(poll);
        Ok(())
    }

    /// The poll's descriptor, readable when a socket has something. `None` where the system has
    /// none.
    pub fn descriptor(&self) -> Option<i32> {
        #[cfg(unix)]
        return self.poll.as_ref().map(std::os::fd::AsRawFd::as_raw_fd);
        #[cfg(not(unix))]
        None
    }

    /// Does not look at the sockets.
    pub fn serve(&mut self, command: Command) {
        self.between_turns(|reactor| {
            reactor.on_commands();
            reactor.on_command(command);
        });
    }

    /// Applies the records of a chunk. `last` is the payload of the last large record; what the
    /// kernel does not take at once is copied.
    pub fn serve_records(&mut self, bytes: &[u8], large: Vec<Large>, last: Option<&[u8]>) {
        self.between_turns(|reactor| {
            reactor.on_commands();
            // All records are applied: this budget has no end.
            reactor.on_records(bytes, Rest::all(large, Vec::new()), last);
        });
    }

    /// The consumer has dealt with some records: serves sockets that waited for that.
    pub fn serve_credit(&mut self) {
        self.between_turns(Self::reclaim);
    }

    pub fn pipe_event(&mut self, id: ConnectionId, event: PipeEvent) {
        self.between_turns(|reactor| {
            reactor.step(id, |conn, consumer| conn.on_pipe_event(consumer, event));
        });
    }

    pub fn serve_ops(&mut self, waiting: Vec<ConnectionId>) {
        self.between_turns(|reactor| {
            for id in waiting {
                if let Some((mut conn, ..)) = reactor.conn_of(id) {
                    conn.on_writable();
                }
            }
        });
    }

    /// From now on calls are made in this turn of the loop; `None`: by a thread.
    pub fn begin_loop_turn(&mut self, number: Option<u32>) {
        self.loop_turn = number;
    }

    /// Whether the last turn found nothing to do, and how long it had waited.
    pub fn last_wait(&self) -> (bool, Duration) {
        self.last_wait
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// When the next turn is due; called before the loop serves others.
    pub fn rest(&mut self) -> Due {
        self.request_wake();
        if self.is_behind() {
            return Due::Now;
        }
        self.deadline().map_or(Due::Never, Due::At)
    }

    /// Whether the loop should look again at once, instead of serving others and perhaps sleeping.
    pub fn is_spinning(&mut self) -> bool {
        self.spinner.is_on() && self.spinner.spinning(Instant::now())
    }

    /// Takes a server's settings, if it was made without.
    pub fn configure(&mut self, config: ReactorConfig) {
        self.reader.set_budget(config.unfinished_budget);
        self.writer.set_budget(config.send_budget);
        self.config = config;
    }

    fn between_turns(&mut self, step: impl FnOnce(&mut Self)) {
        self.timers.begin_turn();
        self.last_wait = (false, Duration::ZERO);
        self.begin_reading();
        // The memory that was handed over is the caller's again when this returns.
        self.writer.allow(usize::MAX);
        self.writer.begin_turn();
        step(self);
        self.on_deferred();
        self.end_turn(None);
    }
}

impl Reactor<Forward> {
    /// Reads a chunk of a connection's stream. With `records` it can be read where it is, and its
    /// records go there.
    pub fn pump(&mut self, id: ConnectionId, chunk: Box<dyn Lent>, records: Option<&mut [u32]>) -> Pumped {
        let mut whole = true;
        self.between_turns(|reactor| {
            let len = chunk.bytes().len();
            let mut conn = reactor.conn_of(id).filter(|_| records.is_some());
            if conn.as_mut().is_some_and(|(conn, consumer, _)| conn.is_to_itself(consumer, len)) {
                reactor.step(id, |conn, consumer| conn.on_whole_chunk(consumer, chunk));
                let (connections, reader) = (&mut reactor.connections, &mut reactor.reader);
                reactor.consumer.discharge(|credit| reader.release(connections, credit));
            } else {
                reactor.step(id, |conn, consumer| whole = conn.copy_chunk(consumer, chunk.bytes()));
            }
        });
        match records.and_then(|records| self.consumer.end_chunk(records)) {
            Some(passed) => Pumped::Read(passed),
            None => Pumped::Copied { whole },
        }
    }
}

impl Conn<'_> {
    fn on_pipe_event<C: Consumer>(&mut self, consumer: &mut C, event: PipeEvent) {
        let Some(pipe) = self.state.transport.as_pipe() else { return };
        let seen = match event {
            PipeEvent::Full => return pipe.set_taking(false),
            PipeEvent::Drained => {
                pipe.set_taking(true);
                return self.on_writable();
            }
            PipeEvent::HungUp | PipeEvent::Ended => PeerSide::HungUp,
            PipeEvent::Closed => PeerSide::Dead,
        };
        if event != PipeEvent::HungUp {
            pipe.on_end(event == PipeEvent::Closed);
        }
        self.on_hang_up();
        self.on_peer(consumer, seen);
        if event != PipeEvent::Closed {
            return;
        }
        if self.state.read.peer == PeerSide::Ended {
            // Nothing is read that would find that the stream is gone.
            self.schedule_close(Cause::Reset);
        } else if matches!(self.state.life, Life::Closing { .. }) {
            self.arm_close();
        }
    }

    /// Copies a chunk of the stream. False: some of it must not be read yet, and the stream must not be
    /// read before [`StreamOp::Resume`](super::StreamOp::Resume).
    fn copy_chunk<C: Consumer>(&mut self, consumer: &mut C, chunk: &[u8]) -> bool {
        self.reader.keep(self.id.slot, chunk);
        self.count(consumer, chunk.len());
        self.on_peer(consumer, PeerSide::Open);
        let is_whole = self.state.life.is_gone() || !self.reader.keeps(self.id.slot);
        if let Some(pipe) = self.state.transport.as_pipe()
            && !is_whole
        {
            pipe.throttle();
        }
        is_whole
    }

    /// Whether the whole chunk can be read at once. Short messages that are put together or
    /// inflated would need an allocation each.
    fn is_to_itself(&mut self, consumer: &Forward, len: usize) -> bool {
        let connection = &*self.state;
        let is_free = connection.transport.as_tcp().is_none()
            && !self.reader.keeps(self.id.slot)
            && !connection.read.is_queued()
            && !connection.may_inflate()
            && connection.config.rates.is_none()
            && !(1..MIN_OWNED_BYTES).contains(&connection.engine.buffered());
        let shortest = connection.shortest_frame();
        is_free && consumer.can_pass(len, shortest) && self.allowance(consumer) == Some(usize::MAX)
    }

    fn on_whole_chunk(&mut self, consumer: &mut Forward, chunk: Box<dyn Lent>) {
        let len = chunk.bytes().len();
        self.state.pinged = false;
        self.state.read.class = ReadClass::Modest;
        consumer.begin_chunk(chunk);
        self.count(consumer, len);
        self.on_bytes(consumer, 0, len, false);
    }
}
