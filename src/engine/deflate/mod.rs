//! permessage-deflate (RFC 7692): the messages of one connection, compressed and inflated.
//!
//! ```text
//! frame with RSV1 -> Extension::inflate -> message
//! message         -> Extension::deflate -> frame with RSV1
//!                    contexts: lent by the Pool, kept only where context takeover was negotiated
//! ```
//!
//! Without context, and at the levels 1 to 6, a message is compressed by [`one_shot`], which
//! needs no context and is shared by all.
//!
//! # Memory
//!
//! A connection that has the extension costs one small allocation. A context is made for the first
//! message that needs it, and goes back to the [`Pool`] with the last byte of that message unless
//! it is *kept*: the one for incoming messages if the peer may refer to earlier messages, the one
//! for outgoing messages if we may. So a connection keeps
//!
//! ```text
//!   INFLATER_BYTES            after the peer's first compressed message,
//!                             unless the peer has no context takeover
//! + Settings::deflater_bytes  after our first compressed message,
//!                             unless we have no context takeover,
//!                             while those kept of all connections stay within the [`Budget`]
//! ```
//!
//! and nothing at all where neither side has context takeover. Inside of a message it has a context
//! then too, which counts in the budget; where that is used up, the message's first 4 KiB are kept
//! as they came (`held`), and no more is needed for one that is not longer. A kept context that was
//! not used for a while may be [released](crate::engine::Engine::release_contexts): for outgoing
//! messages that costs compression, never correctness; for incoming ones at most 32 KiB of history
//! remain.

mod budget;
mod deflater;
mod extension;
mod held;
mod incoming;
mod inflater;
mod pool;
mod settings;

pub use budget::{Budget, DEFAULT_BUDGET};
pub(in crate::engine) use deflater::Recipe;
pub(in crate::engine) use extension::Extension;
pub(in crate::engine) use incoming::Incomplete;
pub use inflater::INFLATER_BYTES;
pub use pool::Pool;
pub use settings::{Params, Settings, Strategy};
