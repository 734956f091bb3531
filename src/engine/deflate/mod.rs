//! permessage-deflate (RFC 7692): the messages of one connection, compressed and inflated.
//!
//! ```text
//! frame with RSV1 -> Extension::inflate -> message
//! message         -> Extension::deflate -> frame with RSV1
//!                    contexts: lent by the Pool, kept only where context takeover was negotiated
//! ```
//!
//! Without context, at levels 1 to 6, [`one_shot`] compresses a message; all connections share it.
//!
//! # Memory
//!
//! A connection with the extension costs one small allocation. A context is made for the first
//! message that needs it, and goes back to the [`Pool`] with the message's last byte unless it is
//! *kept*: for incoming messages if the peer can refer to earlier ones, for outgoing messages if we
//! can. So a connection keeps
//!
//! ```text
//!   INFLATER_BYTES            after the peer's first compressed message,
//!                             unless the peer has no context takeover
//! + Settings::deflater_bytes  after our first compressed message,
//!                             unless we have no context takeover,
//!                             while all kept ones stay within the [`Budget`]
//! ```
//!
//! and nothing where neither side has context takeover. Inside a message it has a context too,
//! which counts in the budget. When that is used up, up to 4 KiB of a message are kept as they came
//! (`Held`), and a longer one gets a context all the same. A kept context that is not used for a
//! while can be [released](crate::engine::Engine::release_contexts): for outgoing messages that
//! costs compression, never correctness; for incoming ones at most 32 KiB of history remain.

mod budget;
mod deflater;
mod extension;
mod incoming;
mod inflater;
mod pool;
mod settings;

pub use budget::Budget;
pub(in crate::engine) use deflater::Recipe;
pub(in crate::engine) use extension::{Extension, Portable};
pub(in crate::engine) use incoming::{Held, Incomplete};
pub use inflater::INFLATER_BYTES;
pub use pool::Pool;
pub use settings::{Params, Settings, Strategy};
