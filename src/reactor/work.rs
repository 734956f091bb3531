//! State that belongs to no single connection.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::admission::Ticket;
use crate::bridge::tally::{Meters, Tally};
use crate::reactor::config::{COST_OF_CALL, ReactorConfig};
use crate::reactor::connection::gate::Gates;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::life::Doomed;
use crate::reactor::connection::retries::Retries;
use crate::reactor::connection::sweep::Sweep;
use crate::reactor::connection::timers::Timers;
use crate::reactor::connection::watch::Watch;
use crate::reactor::read::paced::Paced;
use crate::reactor::read::ready::Ready;
use crate::reactor::read::starved::Starved;
use crate::reactor::read::unfinished::Unfinished;
use crate::reactor::wait::idling::Idling;
use crate::reactor::write::compression::Compression;
use crate::reactor::write::masking::Keys;
use crate::reactor::write::outgoing::Pool;
use crate::reactor::write::remains::Remains;
use crate::reactor::write::unwritten::Unwritten;
use crate::reactor::write::waiting::Waiting;

/// Lists and pools that belong to no single connection.
pub(in crate::reactor) struct Work {
    pub(in crate::reactor) now: Instant,
    pub(in crate::reactor) timers: Timers,
    /// Connections whose deadline may have come, not looked at before `sweep` is over.
    pub(in crate::reactor) expired: VecDeque<ConnectionId>,
    pub(in crate::reactor) sweep: Sweep,
    pub(in crate::reactor) retries: Retries,
    pub(in crate::reactor) pool: Pool,
    /// Keys for the frames of clients.
    pub(in crate::reactor) keys: Keys,
    /// Connections with something to write.
    pub(in crate::reactor) unwritten: Unwritten,
    /// Memory of connections that are gone.
    pub(in crate::reactor) remains: Remains,
    /// Bytes of commands that may still be applied in this turn.
    pub(in crate::reactor) command_budget: usize,
    /// Connections that wait to be read.
    pub(in crate::reactor) ready: Ready,
    /// Connections that are not read because they, or all together, have left too much undrained.
    pub(in crate::reactor) starved: Starved,
    /// Connections to be closed at the end of this step.
    pub(in crate::reactor) doomed: Doomed,
    /// Unfinished frames and messages of all connections.
    pub(in crate::reactor) unfinished: Unfinished,
    /// Changes that peers do not see before the consumer does.
    pub(in crate::reactor) gates: Gates,
    /// The parts of compression that connections share.
    pub(in crate::reactor) compression: Compression,
    /// Bytes that have been freed.
    pub(in crate::reactor) idling: Idling,
    /// By slots: the connections that count for a limit of their server.
    pub(in crate::reactor) tickets: HashMap<u32, Ticket>,
    /// Connections whose peers may send only a limited amount in a second.
    pub(in crate::reactor) paced: Paced,
    /// By slots, where there is a limit to it: bytes that wait to be sent.
    pub(in crate::reactor) waiting: Waiting,
    /// Connections that were refused, the first one first; some are gone.
    pub(in crate::reactor) lingering: VecDeque<ConnectionId>,
    /// Times that are measured.
    pub(in crate::reactor) watch: Watch,
    /// Counts of the work done.
    pub(in crate::reactor) tally: Tally,
}

impl Work {
    /// Nothing to do. `meters` are those of the consumer.
    pub(in crate::reactor) fn new(config: &ReactorConfig, meters: Arc<Meters>, now: Instant) -> Self {
        Self {
            now,
            timers: Timers::new(now),
            expired: VecDeque::new(),
            sweep: Sweep::Polling(0),
            retries: Retries::default(),
            pool: Pool::default(),
            keys: Keys::default(),
            unwritten: Unwritten::default(),
            remains: Remains::default(),
            command_budget: 0,
            ready: Ready::default(),
            starved: Starved::default(),
            doomed: Doomed::default(),
            unfinished: Unfinished::new(config.unfinished_budget, now),
            gates: Gates::default(),
            compression: Compression::new(config.deflate_budget),
            idling: Idling::new(config.give_back, now),
            tickets: HashMap::new(),
            paced: Paced::default(),
            waiting: Waiting::new(config.send_budget),
            lingering: VecDeque::new(),
            watch: Watch::new(meters),
            tally: Tally::default(),
        }
    }

    /// A command was applied that moved `bytes`.
    pub(in crate::reactor) fn spend_on_commands(&mut self, bytes: usize) {
        self.command_budget = self.command_budget.saturating_sub(bytes + COST_OF_CALL);
    }
}
