//! The memory that sockets are read into: our own, or lent by the consumer, which gets it back
//! filled. Its sends come in lent memory too ([`Arena`](super::chunk::Arena)).
//!
//! A small batch is copied out of its buffer. From a large one in lent memory the consumer takes the
//! buffer itself, and lends another.

use std::ops::{Deref, DerefMut};

use super::limits::BATCH_BYTES;

/// No other code can touch it until it is given back.
pub trait Lent: Send {
    fn id(&self) -> u32;
    /// For a buffer at least [`BATCH_BYTES`] long.
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

#[derive(Default)]
pub enum ReadBuffer {
    /// Stands in while the real buffer is elsewhere.
    #[default]
    None,
    Own(Box<[u8]>),
    Lent(Box<dyn Lent>),
}

impl ReadBuffer {
    /// Zeroed, which costs memory only when it is touched.
    pub fn own() -> Self {
        Self::Own(vec![0; BATCH_BYTES].into_boxed_slice())
    }

    pub fn lent_id(&self) -> Option<u32> {
        match self {
            Self::Lent(lent) => Some(lent.id()),
            _ => None,
        }
    }
}

impl Deref for ReadBuffer {
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

impl DerefMut for ReadBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::None => &mut [],
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => lent.bytes_mut(),
        }
    }
}
