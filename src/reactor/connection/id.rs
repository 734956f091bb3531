//! The names of connections.

/// Names one connection for as long as the reactor lives: a slot that is used again has another
/// generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Index into the slab; from [`ADOPTED_SLOTS`](crate::bridge::layout::ADOPTED_SLOTS) on, an
    /// index into that of the sockets that others have numbered.
    pub slot: u32,
    /// The number of the use of the slot. 0 is none: such an id names no connection.
    pub generation: u32,
}
