//! The progress of a connection, from the first byte of its request to its last.

use std::collections::{HashMap, VecDeque};

use crate::bridge::admission::Ticket;
use crate::bridge::layout::Cause;

use crate::reactor::config::MOST_LINGERING;
use crate::reactor::upgrade::head::{Head, Question};
use crate::reactor::{Connection, ConnectionId};

/// `reported`: the consumer knows of the connection, so its end must be reported too.
///
/// ```text
///              the consumer decides             accepts
///   Opening -----------------------> Asked ----------------.
///     | '------- 101, without a question |-------------.   |
///     |                                  |             v   v     close frame,
///     | refused                          | refused     Open ----- end of a side -----> Closing
///     v                                  v              |                                 |
///   Draining <---------------------------'-- a panic ---'---------------------------------'
///
///   Opening, Asked -- the request is for the consumer's HTTP server --> Relayed, or out of the reactor
///   Relayed -- an upgrade comes, which the consumer accepts --> Asked -> Open
///
///   From each of them to Gone: a dead socket, a deadline, both sides have ended, terminate().
/// ```
pub(in crate::reactor) enum Life {
    /// Reading the upgrade request. Deadline: `handshake_timeout`.
    Opening(Box<Head>),
    /// The consumer decides about the upgrade; nothing is read. No deadline, unless the peer has
    /// ended its side.
    Asked(Box<Question>),
    /// The consumer gets the bytes, and writes bytes. No deadline.
    Relayed,
    /// Frames go both ways. Deadline: silence, where that matters.
    Open,
    /// As `Open`, as far as frames may still be sent and read. Deadline: `close_timeout`. `cause`:
    /// what began it, if that is known.
    Closing { cause: Option<Cause> },
    /// The answer is written, then the socket is closed; what the peer still sends is thrown away.
    Draining { reported: bool, cause: Option<Cause> },
    /// About to be destroyed: nothing is read, and only the end is reported.
    Gone(Doom),
}

/// Only [`Ends`] makes one.
pub(in crate::reactor) struct Doom {
    reported: bool,
    cause: Cause,
}

impl Life {
    #[inline]
    pub(in crate::reactor) fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Closing { .. })
    }

    pub(in crate::reactor) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    pub(in crate::reactor) fn is_relayed(&self) -> bool {
        matches!(self, Self::Relayed)
    }

    #[inline]
    pub(in crate::reactor) fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Closing { cause } | Self::Draining { cause, .. } => *cause,
            Self::Gone(Doom { cause, .. }) => Some(*cause),
            Self::Opening(_) | Self::Asked(_) | Self::Relayed | Self::Open => None,
        }
    }

    /// If it is about to end, this is why, unless another cause came first.
    pub(in crate::reactor) fn blame(&mut self, first: Cause) {
        if let Self::Closing { cause } | Self::Draining { cause, .. } = self {
            cause.get_or_insert(first);
        }
    }

    pub(in crate::reactor) fn is_reported(&self) -> bool {
        match self {
            Self::Opening(head) => head.known,
            Self::Draining { reported, .. } | Self::Gone(Doom { reported, .. }) => *reported,
            Self::Asked(_) | Self::Relayed | Self::Open | Self::Closing { .. } => true,
        }
    }
}

#[derive(Default)]
pub(in crate::reactor) struct Ends {
    /// To be destroyed at the end of this step, or to leave the reactor; each is [`Life::Gone`].
    doomed: Vec<(ConnectionId, bool)>,
    /// Refused connections, oldest first; some have ended.
    lingering: VecDeque<ConnectionId>,
    /// By slot: what a connection counts for in its server's limits until it ends.
    tickets: HashMap<u32, Ticket>,
}

impl Ends {
    pub(in crate::reactor) fn doom(&mut self, id: ConnectionId, connection: &mut Connection, cause: Cause) {
        if !connection.life.is_gone() {
            if cause == Cause::Fin {
                connection.transport.leave_when_dropped(connection.write.state.is_ended());
            }
            let cause = connection.cause_of_end(cause);
            connection.life = Life::Gone(Doom { reported: connection.life.is_reported(), cause });
            self.doomed.push((id, false));
        }
    }

    /// The connection is the consumer's, which gets the socket after this step.
    pub(in crate::reactor) fn let_go(&mut self, id: ConnectionId, connection: &mut Connection) {
        connection.life = Life::Gone(Doom { reported: true, cause: Cause::Reset });
        self.doomed.push((id, true));
    }

    /// The next one, and whether it leaves.
    pub(in crate::reactor) fn pop(&mut self) -> Option<(ConnectionId, bool)> {
        self.doomed.pop()
    }

    pub(in crate::reactor) fn is_due(&self) -> bool {
        !self.doomed.is_empty()
    }

    pub(in crate::reactor) fn linger(&mut self, id: ConnectionId) {
        self.lingering.push_back(id);
    }

    /// The oldest one, if there are too many.
    pub(in crate::reactor) fn pop_lingering(&mut self) -> Option<ConnectionId> {
        if self.lingering.len() > MOST_LINGERING { self.lingering.pop_front() } else { None }
    }

    pub(in crate::reactor) fn set_ticket(&mut self, slot: u32, ticket: Option<Ticket>) {
        // The slot of its settings may belong to another server by the time it ends.
        match ticket {
            Some(ticket) => drop(self.tickets.insert(slot, ticket)),
            None if self.tickets.is_empty() => {}
            None => drop(self.tickets.remove(&slot)),
        }
    }
}
