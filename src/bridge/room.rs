//! The memory that sockets are read into: our own, or memory that the consumer has lent and gets
//! back filled. Its sends come in lent memory too, see [`Arena`](super::chunk::Arena).
//!
//! A small batch is copied out of its room and the room goes back to the reactor. A large one in
//! lent memory is not copied: the consumer takes the room itself and lends another. Either way a
//! room has one owner at any time.

use std::ops::{Deref, DerefMut};

use super::limits::BATCH_BYTES;

/// Memory of the consumer that no other code may touch until it is given back.
pub trait Lent: Send {
    /// Its number in the list of lent memory.
    fn id(&self) -> u32;
    /// The memory; that of a room is at least [`BATCH_BYTES`] long.
    fn bytes(&self) -> &[u8];
    /// The memory, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Room for the bytes of one batch.
#[derive(Default)]
pub enum Room {
    /// The stand-in while the real room is elsewhere.
    #[default]
    None,
    /// The reactor's own.
    Own(Box<[u8]>),
    /// The consumer's.
    Lent(Box<dyn Lent>),
}

impl Room {
    /// Own memory, zeroed; it costs something only when it is first touched.
    pub fn own() -> Self {
        Self::Own(vec![0; BATCH_BYTES].into_boxed_slice())
    }

    /// The number of lent memory.
    pub fn lent_id(&self) -> Option<u32> {
        match self {
            Self::Lent(lent) => Some(lent.id()),
            _ => None,
        }
    }
}

impl Deref for Room {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => lent.bytes(),
        }
    }
}

impl DerefMut for Room {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::None => &mut [],
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => lent.bytes_mut(),
        }
    }
}
