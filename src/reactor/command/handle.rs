//! The way to a reactor from other threads.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use mio::Waker;

use crate::bridge::chunk::{Arena, Chunk, Outbox};
use crate::engine::deflate::Params;
use crate::reactor::{
    Asked, BoundListener, Choice, ConnectionId, Copied, Export, ListenerConfig, Packs, Parcel, Told,
    Transport,
};

pub enum Command {
    /// Records: frames, and everything else for single connections.
    Chunk(Chunk),
    /// Records in memory that goes back to its producer.
    Arena(Arena),
    /// Takes a bound listener under the number `id`; it accepts after `Accept`.
    Listen {
        /// A number that no other listener of this reactor has had.
        id: u32,
        listener: BoundListener,
        config: Arc<ListenerConfig>,
    },
    /// Takes connections of the listener `id`, which another reactor of the group has.
    Join {
        id: u32,
        config: Arc<ListenerConfig>,
    },
    /// A connection that another reactor of the group has accepted for this one.
    Take {
        listener: u32,
        stream: Transport,
    },
    Accept(u32),
    /// Closes a listener; connections that have not finished their handshake get 503.
    CloseListener(u32),
    /// Serves a socket after its upgrade was answered elsewhere.
    Adopt(Box<Adoption>),
    /// The settings of a connection: the consumer accepts its upgrade after this command.
    Serve {
        id: ConnectionId,
        config: Arc<ListenerConfig>,
        /// The negotiated parameters of permessage-deflate; `config` has the other settings.
        deflate: Option<Params>,
        /// If the connection was relayed, and can move.
        asked: Option<Asked>,
    },
    /// Goes on with a handshake for which the consumer was asked.
    Choose {
        id: ConnectionId,
        choice: Choice,
    },
    /// Asks for key material of a connection.
    Export {
        id: ConnectionId,
        export: Export,
    },
    /// Tells of some connections of a listener. `left`: the slots to look at; `None`: all.
    Tell {
        listener: u32,
        left: Option<Vec<u32>>,
        most: usize,
        to: Sender<Told>,
    },
    /// Copies some of their queued output.
    Copy {
        listener: u32,
        left: Option<Vec<u32>>,
        to: Sender<Copied>,
    },
    /// The listener stops accepting, and its connections are not read, until `Thaw`.
    Freeze(u32),
    /// Packs the connections of a frozen listener that can move.
    Pack {
        listener: u32,
        to: Sender<Packs>,
    },
    /// Another process has these connections.
    Given(Vec<ConnectionId>),
    /// They leave.
    Moved(Vec<ConnectionId>),
    Thaw {
        listener: u32,
        accepts: bool,
    },
    /// Takes connections of another process, which are not read before `Thaw`.
    Import {
        listener: u32,
        parcels: Vec<(Transport, Parcel)>,
    },
    /// Ends `run` after one attempt to write the queued bytes.
    Stop,
}

/// A socket that is a WebSocket already.
pub struct Adoption {
    pub stream: Transport,
    /// The connection's id, with a free slot from `ADOPTED_SLOTS` on. The thread that chose it knows the
    /// connection, so only the end is reported, even if the socket cannot be taken. `None`: the
    /// reactor chooses, and reports both.
    pub id: Option<ConnectionId>,
    /// Written before anything else: the 101 response, unless it was written already.
    pub response: Vec<u8>,
    pub prefix: Vec<u8>,
    pub listener: u32,
    pub config: Arc<ListenerConfig>,
    /// As in [`Command::Serve`].
    pub deflate: Option<Params>,
    /// `None`: it cannot move.
    pub asked: Option<Asked>,
}

struct Mailbox {
    outbox: Outbox<Command>,
    /// `None`: it has no sockets, and no other thread has a handle.
    waker: Option<Waker>,
}

impl Mailbox {
    fn wake(&self) -> io::Result<()> {
        self.waker.as_ref().map_or(Ok(()), Waker::wake)
    }
}

/// Any thread can use it. It outlives the reactor; commands are then dropped, with their sockets.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Mailbox>,
}

impl Handle {
    pub(in crate::reactor) fn new(waker: Option<Waker>) -> Self {
        Self { shared: Arc::new(Mailbox { outbox: Outbox::new(), waker }) }
    }

    /// Queues a command and wakes the reactor if it sleeps.
    ///
    /// # Errors
    /// The system's, when the waker cannot be written to; the command stays queued.
    pub fn submit(&self, command: Command) -> io::Result<()> {
        if self.shared.outbox.send(command) { self.shared.wake() } else { Ok(()) }
    }

    /// As `submit`, from a thread that is neither the reactor's nor its consumer's: an event loop that drives
    /// the reactor announces no sleep.
    #[cfg(unix)]
    pub fn call(&self, command: Command) -> io::Result<()> {
        let _announced = self.shared.outbox.send(command);
        self.shared.wake()
    }

    /// Wakes the reactor, if it sleeps, without a command: a batch that it waits for was given
    /// back.
    pub fn wake(&self) -> io::Result<()> {
        if self.shared.outbox.should_wake() { self.shared.wake() } else { Ok(()) }
    }

    /// For the memory of records.
    pub fn outbox(&self) -> &Outbox<Command> {
        &self.shared.outbox
    }
}
