//! A message on its way to the members of a topic.

use std::sync::Arc;

use crate::bridge::layout::{TARGET_EXCEPT, TARGET_KEY, TARGET_REQUEST, TARGET_WORDS};
use crate::engine::Prepared;
use crate::engine::frame::wire_len;

use crate::reactor::connection::id::ConnectionId;
use crate::reactor::topics::receipt::Receipt;
use crate::reactor::topics::topic::Patience;

/// More about the next message.
#[derive(Default)]
pub(in crate::reactor) struct Target {
    /// The number of the receipt, 0 for none.
    pub(in crate::reactor) request: u32,
    /// Connections that do not get it, sorted.
    pub(in crate::reactor) except: Box<[ConnectionId]>,
    /// Its key, where only the latest message of each key is kept.
    pub(in crate::reactor) key: Arc<[u8]>,
}

impl Target {
    /// The contents of a record; `None` when it is cut off.
    pub(in crate::reactor) fn decode(payload: &[u8]) -> Option<Self> {
        let (words, rest) = payload.split_first_chunk::<{ 4 * TARGET_WORDS }>()?;
        let words: Vec<u32> = words.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        let word = |index: usize| words.get(index).map_or(0, |&word| word as usize);
        let (names, rest) = rest.split_at_checked(word(TARGET_EXCEPT).checked_mul(8)?)?;
        let key = rest.get(..word(TARGET_KEY))?;
        let mut except: Box<[ConnectionId]> = names.as_chunks().0.iter().map(connection).collect();
        except.sort_unstable_by_key(|id| (id.slot, id.generation));
        Some(Self { request: word(TARGET_REQUEST) as u32, except, key: Arc::from(key) })
    }
}

fn connection(name: &[u8; 8]) -> ConnectionId {
    let [a, b, c, d, e, f, g, h] = *name;
    ConnectionId { slot: u32::from_ne_bytes([a, b, c, d]), generation: u32::from_ne_bytes([e, f, g, h]) }
}

/// A message that some of the members have been sent.
pub(in crate::reactor) struct Publishing {
    pub(in crate::reactor) topic: u32,
    pub(in crate::reactor) patience: Patience,
    pub(in crate::reactor) message: Prepared,
    /// The number of the prepared message that this is a copy of.
    pub(in crate::reactor) prepared: Option<u32>,
    /// Its offset, where there is a history.
    pub(in crate::reactor) offset: Option<u64>,
    /// Members before this one have had it.
    pub(in crate::reactor) next: usize,
    pub(in crate::reactor) except: Box<[ConnectionId]>,
    pub(in crate::reactor) key: Arc<[u8]>,
    pub(in crate::reactor) receipt: Option<Box<Receipt>>,
    /// Members for which a write has made room meanwhile: the messages that they have missed are
    /// known when this is done.
    pub(in crate::reactor) postponed: Vec<ConnectionId>,
}

impl Publishing {
    /// Bytes of its frame without compression.
    pub(in crate::reactor) fn bytes(&self) -> u64 {
        wire_len(self.message.payload().len(), false) as u64
    }

    /// Whether the connection does not get it.
    pub(in crate::reactor) fn excepts(&self, id: ConnectionId) -> bool {
        !self.except.is_empty() && is_among(&self.except, id)
    }
}

/// Whether a connection is in a sorted list.
pub(in crate::reactor) fn is_among(sorted: &[ConnectionId], id: ConnectionId) -> bool {
    sorted.binary_search_by_key(&(id.slot, id.generation), |id| (id.slot, id.generation)).is_ok()
}
