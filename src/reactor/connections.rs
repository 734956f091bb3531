//! The slab of connections, with generations: a stale id finds nothing.

use super::connection::Connection;

/// Names one connection for as long as the reactor lives: a slot that is used again has another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    /// Index into the slab.
    pub slot: u32,
    /// How often the slot has been used.
    pub generation: u32,
}

/// All connections of one reactor.
pub(super) struct Connections {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Slots freed in this turn: an event for their old socket may still be in the current batch of events,
    /// so they are not used again before the turn ends.
    quarantine: Vec<u32>,
    live: usize,
    /// How many slots there may be.
    limit: u32,
}

struct Entry {
    generation: u32,
    /// Boxed: an empty slot then costs 16 bytes, and the slab grows without moving connections.
    connection: Option<Box<Connection>>,
}

impl Connections {
    pub(super) fn new(limit: u32) -> Self {
        Self { entries: Vec::new(), free: Vec::new(), quarantine: Vec::new(), live: 0, limit }
    }

    /// The id for the next `insert`; `None` when all slots are taken.
    pub(super) fn next_id(&mut self) -> Option<ConnectionId> {
        let slot = match self.free.last() {
            Some(&slot) => slot,
            None if self.entries.len() >= self.limit as usize => return None,
            None => {
                let slot = self.entries.len() as u32;
                self.entries.push(Entry { generation: 0, connection: None });
                self.free.push(slot);
                slot
            }
        };
        Some(ConnectionId { slot, generation: self.entries[slot as usize].generation })
    }

    /// Puts `connection` under the id that `next_id` just gave.
    pub(super) fn insert(&mut self, id: ConnectionId, connection: Connection) {
        let taken = self.free.pop();
        debug_assert_eq!(taken, Some(id.slot));
        self.entries[id.slot as usize].connection = Some(Box::new(connection));
        self.live += 1;
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.entries.get_mut(slot as usize)?.connection.as_deref_mut()
    }

    /// The id of the connection in `slot`.
    pub(super) fn id(&self, slot: u32) -> Option<ConnectionId> {
        let entry = self.entries.get(slot as usize)?;
        entry.connection.as_ref().map(|_| ConnectionId { slot, generation: entry.generation })
    }

    pub(super) fn get(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let entry = self.entries.get_mut(id.slot as usize)?;
        if entry.generation != id.generation {
            return None;
        }
        entry.connection.as_deref_mut()
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<(ConnectionId, Box<Connection>)> {
        let entry = self.entries.get_mut(slot as usize)?;
        let connection = entry.connection.take()?;
        let id = ConnectionId { slot, generation: entry.generation };
        entry.generation = entry.generation.wrapping_add(1);
        self.quarantine.push(slot);
        self.live -= 1;
        Some((id, connection))
    }

    pub(super) fn end_turn(&mut self) {
        self.free.append(&mut self.quarantine);
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// Slots that hold a connection now.
    pub(super) fn slots(&self) -> Vec<u32> {
        (0u32..).zip(&self.entries).filter(|(_, e)| e.connection.is_some()).map(|(slot, _)| slot).collect()
    }
}
