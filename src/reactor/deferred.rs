//! Sends that wait while a message is compressed: a long one is compressed in slices, and what is sent behind it keeps
//! its place.

use std::collections::VecDeque;

use crate::bridge::large::Large;
use crate::engine::Frame;

/// The queue of one connection.
#[derive(Default)]
pub(super) struct Deferred {
    pub(super) sends: VecDeque<Pending>,
    /// The message at the front as far as it has been compressed.
    pub(super) compressed: Large,
    /// Bytes of the message at the front that have been.
    pub(super) done: usize,
}

/// An outbound record that has not been applied.
pub(super) struct Pending {
    /// One of the `OUT_` kinds.
    pub(super) kind: u8,
    /// `OUT_FLAG_` bits.
    pub(super) flags: u8,
    /// What it means depends on the kind.
    pub(super) aux: u16,
    /// Others may send it too.
    pub(super) payload: Frame,
}
