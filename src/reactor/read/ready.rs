//! Connections that have something to read and wait for their share of a turn.
//!
//! A connection that used little of its last share is modest and comes first: its ping does not
//! wait until a hundred floods have had a share each. While greedy connections wait, half of every
//! turn is theirs, however many modest ones there are.

use std::collections::VecDeque;

use crate::reactor::config::READ_BUDGET;
use crate::reactor::connection::id::ConnectionId;

/// Whether the socket has something to read, and whether its connection waits for a share of a
/// turn.
///
/// ```text
///            an edge                 push, where it may be read
///   Empty -------------> Unread -----------------------------------> Queued
///     ^                  |    ^                                        |
///     '-- read to its ---'    '------------ pop, to be read -----------'
///         end
/// ```
///
/// Bytes that the consumer has fed are read although the socket may be empty: then `Empty` becomes
/// `Queued` too. While a connection is queued, neither an edge nor a read to the end changes that.
#[derive(Default)]
pub(in crate::reactor) struct ReadState(State);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// An edge will come.
    #[default]
    Empty,
    /// The edge has been seen and not been read to its end.
    Unread,
    /// In one of the queues of [`Ready`], which alone set and leave this state.
    Queued,
}

impl ReadState {
    /// There is something to read.
    pub(in crate::reactor) fn on_edge(&mut self) {
        if self.0 == State::Empty {
            self.0 = State::Unread;
        }
    }

    /// There is nothing more for now.
    pub(in crate::reactor) fn on_drained(&mut self) {
        if self.0 == State::Unread {
            self.0 = State::Empty;
        }
    }

    /// Whether data may be waiting in the kernel.
    pub(in crate::reactor) fn is_unread(&self) -> bool {
        self.0 != State::Empty
    }

    /// Whether it waits for a share of a turn.
    pub(in crate::reactor) fn is_queued(&self) -> bool {
        self.0 == State::Queued
    }
}

/// The queues, each in the order in which connections are read. A connection is in one at most.
#[derive(Default)]
pub(in crate::reactor) struct Ready {
    modest: Line,
    greedy: Line,
    /// Connections that have had a share of this turn and want more, and whether they are greedy:
    /// they come last in the next turn.
    served: Vec<(ConnectionId, bool)>,
}

#[derive(Default)]
struct Line {
    ids: VecDeque<ConnectionId>,
    /// The number of connections that have left it.
    left: u64,
}

/// A moment: the connections that waited then are the first so many of each queue.
#[derive(Clone, Copy)]
pub(in crate::reactor) struct Waited {
    modest: u64,
    greedy: u64,
}

impl Ready {
    /// Puts a connection at the end of its queue.
    pub(in crate::reactor) fn push(&mut self, id: ConnectionId, state: &mut ReadState, greedy: bool) {
        if state.0 != State::Queued {
            state.0 = State::Queued;
            if greedy { &mut self.greedy } else { &mut self.modest }.ids.push_back(id);
        }
    }

    /// Queues a connection that has had its share of this turn for the next one.
    pub(in crate::reactor) fn push_served(&mut self, id: ConnectionId, state: &mut ReadState, greedy: bool) {
        if state.0 != State::Queued {
            state.0 = State::Queued;
            self.served.push((id, greedy));
        }
    }

    /// Takes the first modest connection that still exists, to be read. `state` finds its state in
    /// `all`.
    pub(in crate::reactor) fn pop_modest<T>(
        &mut self,
        all: &mut T,
        state: impl Fn(&mut T, ConnectionId) -> Option<&mut ReadState>,
    ) -> Option<ConnectionId> {
        pop(&mut self.modest, all, state)
    }

    /// As `pop_modest`, for the first greedy connection.
    pub(in crate::reactor) fn pop_greedy<T>(
        &mut self,
        all: &mut T,
        state: impl Fn(&mut T, ConnectionId) -> Option<&mut ReadState>,
    ) -> Option<ConnectionId> {
        pop(&mut self.greedy, all, state)
    }

    /// Whether no connection waits.
    pub(in crate::reactor) fn is_empty(&self) -> bool {
        self.modest.ids.is_empty() && self.greedy.ids.is_empty() && self.served.is_empty()
    }

    /// The connections that wait for their share now. Those that have had a share of this turn are
    /// none of them.
    pub(in crate::reactor) fn waited(&self) -> Waited {
        let count = |line: &Line| line.left + line.ids.len() as u64;
        Waited { modest: count(&self.modest), greedy: count(&self.greedy) }
    }

    /// Whether each of those has had its share.
    pub(in crate::reactor) fn has_served(&self, waited: Waited) -> bool {
        self.modest.left >= waited.modest && self.greedy.left >= waited.greedy
    }

    /// Every connection may have a share again. Returns the bytes of the turn that are reserved for
    /// greedy ones.
    pub(in crate::reactor) fn begin_turn(&mut self) -> usize {
        let Self { modest, greedy, served } = self;
        for (id, is_greedy) in served.drain(..) {
            if is_greedy { &mut *greedy } else { &mut *modest }.ids.push_back(id);
        }
        if greedy.ids.is_empty() { 0 } else { READ_BUDGET }
    }
}

fn pop<T>(
    line: &mut Line,
    all: &mut T,
    state: impl Fn(&mut T, ConnectionId) -> Option<&mut ReadState>,
) -> Option<ConnectionId> {
    loop {
        let id = line.ids.pop_front()?;
        line.left += 1;
        if let Some(state) = state(all, id) {
            state.0 = State::Unread;
            return Some(id);
        }
    }
}
