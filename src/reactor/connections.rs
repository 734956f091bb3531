//! The slabs of connections, with generations: a stale id finds nothing.

use std::collections::VecDeque;

use crate::bridge::layout::{ADOPTED_SLOTS, PIPE_SLOTS};
use crate::reactor::{Connection, ConnectionId};

/// The generation of no connection, and the one before the first.
const NO_GENERATION: u32 = 0;

const fn next_generation(generation: u32) -> u32 {
    match generation.wrapping_add(1) {
        NO_GENERATION => NO_GENERATION + 1,
        next => next,
    }
}

/// The slots of one reactor: its number is in their lowest bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    number: u32,
    bits: u32,
}

impl Share {
    pub(super) const ALL: Self = Self { number: 0, bits: 0 };

    pub(super) const fn new(number: u32, count: u32) -> Self {
        Self { number, bits: count.next_power_of_two().trailing_zeros() }
    }

    /// The slot's index in this reactor's table, if it is this reactor's.
    fn index(self, slot: u32) -> Option<usize> {
        (slot & ((1 << self.bits) - 1) == self.number).then_some((slot >> self.bits) as usize)
    }

    fn slot(self, index: usize) -> u32 {
        ((index as u32) << self.bits) | self.number
    }
}

pub(super) struct Connections {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Slots freed in this turn. An event for their old socket can still be in the current batch of
    /// events, so they are used again only after the turn.
    quarantine: Vec<u32>,
    /// Slots with an end that the consumer has yet to handle, with the number of that record: until
    /// then it can look at the gauges of the old connection.
    reported: VecDeque<(u64, u32)>,
    /// Slots numbered by the adopter of their sockets, who uses one again after its end was
    /// reported.
    adopted: Vec<Entry>,
    /// The same for streams, which one reactor has.
    pipes: Vec<Entry>,
    live: usize,
    /// Slots of each kind are below this, counted from where the kind begins.
    limit: u32,
    share: Share,
}

struct Entry {
    /// The generation of its connection, or of the next one; never [`NO_GENERATION`].
    generation: u32,
    /// Boxed: an empty slot costs 16 bytes, and the slab grows without moving connections.
    connection: Option<Box<Connection>>,
}

impl Default for Entry {
    fn default() -> Self {
        Self { generation: next_generation(NO_GENERATION), connection: None }
    }
}

impl Connections {
    pub(super) fn new(limit: u32, share: Share) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            quarantine: Vec::new(),
            reported: VecDeque::new(),
            adopted: Vec::new(),
            pipes: Vec::new(),
            live: 0,
            limit,
            share,
        }
    }

    /// `None` when all slots are taken.
    pub(super) fn next_id(&mut self) -> Option<ConnectionId> {
        let slot = match self.free.last() {
            Some(&slot) => slot,
            None if self.share.slot(self.entries.len()) >= self.limit => return None,
            None => {
                let slot = self.share.slot(self.entries.len());
                self.entries.push(Entry::default());
                self.free.push(slot);
                slot
            }
        };
        let generation = self.entries.get(self.share.index(slot)?)?.generation;
        Some(ConnectionId { slot, generation })
    }

    /// Makes `id`, chosen by the adopter of a socket, the id for the next `insert`; `None` if it
    /// cannot be.
    pub(super) fn reserve(&mut self, id: ConnectionId) -> Option<ConnectionId> {
        if id.generation == NO_GENERATION {
            return None;
        }
        let (entries, index) = match id.slot.checked_sub(PIPE_SLOTS) {
            Some(pipe) => (&mut self.pipes, Some(pipe as usize).filter(|_| pipe < self.limit)?),
            None => {
                let adopted = id.slot.checked_sub(ADOPTED_SLOTS).filter(|&slot| slot < self.limit)?;
                (&mut self.adopted, self.share.index(adopted)?)
            }
        };
        if entries.len() <= index {
            entries.resize_with(index + 1, Entry::default);
        }
        let entry = entries.get_mut(index).filter(|entry| entry.connection.is_none())?;
        entry.generation = id.generation;
        Some(id)
    }

    /// `id` is what `next_id` or `reserve` just gave.
    pub(super) fn insert(&mut self, id: ConnectionId, connection: Connection) {
        if id.slot < ADOPTED_SLOTS {
            let taken = self.free.pop();
            debug_assert_eq!(taken, Some(id.slot));
        }
        if let Some(entry) = self.entry_mut(id.slot) {
            entry.connection = Some(Box::new(connection));
            self.live += 1;
        }
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.entry_mut(slot)?.connection.as_deref_mut()
    }

    pub(super) fn get(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let entry = self.entry_mut(id.slot)?;
        if entry.generation != id.generation {
            return None;
        }
        entry.connection.as_deref_mut()
    }

    #[inline]
    pub(super) fn find(&mut self, slot: u32) -> Option<(ConnectionId, &mut Connection)> {
        let Entry { generation, connection } = self.entry_mut(slot)?;
        Some((ConnectionId { slot, generation: *generation }, connection.as_deref_mut()?))
    }

    /// The slot is free again after the turn, or when the consumer has dealt with the end, see
    /// `retain`.
    pub(super) fn remove(&mut self, slot: u32) -> Option<(ConnectionId, Box<Connection>)> {
        let entry = self.entry_mut(slot)?;
        let connection = entry.connection.take()?;
        let id = ConnectionId { slot, generation: entry.generation };
        entry.generation = next_generation(entry.generation);
        if slot < ADOPTED_SLOTS {
            self.quarantine.push(slot);
        }
        self.live -= 1;
        Some((id, connection))
    }

    /// Notes the record that reports the end of the connection that was removed last, from `slot`.
    pub(super) fn retain(&mut self, slot: u32, record: u64) {
        if self.quarantine.pop_if(|last| *last == slot).is_some() {
            self.reported.push_back((record, slot));
        }
    }

    /// Frees slots: the consumer has dealt with all records up to `delivered`.
    pub(super) fn end_turn(&mut self, delivered: u64) {
        self.free.append(&mut self.quarantine);
        while let Some(&(record, slot)) = self.reported.front() {
            if record > delivered {
                break;
            }
            self.reported.pop_front();
            self.free.push(slot);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// The slots that hold a connection now.
    pub(super) fn slots(&self) -> Vec<u32> {
        let share = self.share;
        let numbered = |first: u32| (0..).map(move |index| first + share.slot(index));
        let own = numbered(0).zip(&self.entries);
        let adopted = numbered(ADOPTED_SLOTS).zip(&self.adopted);
        let pipes = (PIPE_SLOTS..).zip(&self.pipes);
        own.chain(adopted)
            .chain(pipes)
            .filter(|(_, entry)| entry.connection.is_some())
            .map(|(slot, _)| slot)
            .collect()
    }

    fn entry_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        match slot {
            ..ADOPTED_SLOTS => self.entries.get_mut(self.share.index(slot)?),
            ADOPTED_SLOTS..PIPE_SLOTS => self.adopted.get_mut(self.share.index(slot - ADOPTED_SLOTS)?),
            PIPE_SLOTS.. => self.pipes.get_mut((slot - PIPE_SLOTS) as usize),
        }
    }
}
