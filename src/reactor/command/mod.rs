//! Commands of other threads: record by record, within the budget of a turn.
//!
//! A few commands can send 100 MiB or close 10,000 connections, and a peer that sends a ping
//! meanwhile must not wait for all of that. The rest comes first in the next turn, so no command
//! overtakes another.

pub(super) mod apply;
pub(super) mod handle;
pub(super) mod messages;
pub(super) mod records;

use std::collections::VecDeque;

use crate::bridge::chunk::{Arena, Chunk};
use crate::bridge::read_buffer::Lent;

use crate::reactor::config::COMMAND_BUDGET;
use crate::reactor::upgrade;
use crate::reactor::{Command, Consumer, Reactor};
use records::Rest;

#[derive(Default)]
pub(super) struct CommandQueue {
    /// Records applied in part; they come first.
    under_way: Option<(Memory, Rest)>,
    waiting: VecDeque<Command>,
}

impl CommandQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_none() && self.waiting.is_empty()
    }
}

/// Where records are, and to whom the memory goes after the last of them.
enum Memory {
    Own(Vec<u8>),
    Lent { memory: Box<dyn Lent>, used: usize },
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent { memory, used } => memory.bytes().get(..*used).unwrap_or_default(),
        }
    }
}

impl<C: Consumer> Reactor<C> {
    /// Applies commands within the budget of a turn, and writes their frames. False: there were
    /// none.
    pub(super) fn serve_commands(&mut self) -> bool {
        let any = !self.commands.is_empty() || !self.handle.outbox().is_empty();
        if any {
            self.writer.allow(COMMAND_BUDGET);
            self.on_commands();
            self.on_deferred();
            self.write_unwritten();
        }
        any
    }

    pub(super) fn on_commands(&mut self) {
        self.commands.waiting.extend(self.handle.outbox().take_all());
        // If some of these are left, the turn applies no more.
        if let Some((memory, rest)) = self.commands.under_way.take() {
            self.apply_records(memory, rest);
        }
        while self.writer.may_apply()
            && let Some(command) = self.commands.waiting.pop_front()
        {
            self.on_command(command);
        }
    }

    pub(super) fn on_command(&mut self, command: Command) {
        match command {
            Command::Chunk(chunk) => {
                let Chunk { bytes, large, messages } = chunk;
                self.apply_records(Memory::Own(bytes), Rest::all(large, messages));
            }
            Command::Arena(arena) => {
                let Arena { memory, used, large } = arena;
                self.apply_records(Memory::Lent { memory, used }, Rest::all(large, Vec::new()));
            }
            Command::Stop => self.stopping = true,
            Command::Listen { id, listener, config } => self.on_listen(id, listener, config),
            Command::Join { id, config } => self.listeners.join(id, config),
            Command::Take { listener, stream } => self.on_take(listener, stream, None),
            Command::Accept(id) => {
                self.listeners.start(id);
                self.accept(id);
            }
            Command::CloseListener(id) => self.on_close_listener(id),
            Command::Adopt(adoption) => self.on_adopt(*adoption),
            Command::Serve { id, config, deflate, asked } => {
                self.step(id, |conn, _| upgrade::serve(conn, config, deflate, asked));
            }
            Command::Choose { id, choice } => {
                self.step(id, |conn, consumer| conn.on_choice(consumer, choice))
            }
            Command::Freeze(listener) => self.on_freeze(listener),
            Command::Tell { listener, left, most, to } => self.on_tell(listener, left, most, &to),
            Command::Copy { listener, left, to } => self.on_copy(listener, left, &to),
            Command::Pack { listener, to } => self.on_pack(listener, &to),
            Command::Given(ids) => self.on_given(&ids),
            Command::Moved(ids) => self.on_moved(&ids),
            Command::Thaw { listener, accepts } => self.on_thaw(listener, accepts),
            Command::Import { listener, parcels } => self.on_import(listener, parcels),
            Command::Export { id, export } => self.step(id, |conn, _| conn.on_export(&export)),
        }
    }

    /// Applies records in order, within the budget, and gives their memory back after the last.
    fn apply_records(&mut self, memory: Memory, rest: Rest) {
        if let Some(rest) = self.on_records(memory.bytes(), rest, None) {
            self.commands.under_way = Some((memory, rest));
            return;
        }
        match memory {
            Memory::Own(bytes) => self.handle.outbox().recycle(bytes),
            Memory::Lent { memory, .. } => self.handle.outbox().give_back(memory),
        }
    }
}
