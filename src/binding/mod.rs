//! Node-API: every exported function is arguments -> one call -> result.
//!
//! This layer knows what a JavaScript value is and nothing of frames, sockets or timers.

#![deny(unsafe_code)]

mod adopt;
mod crossing;
mod deflate;
mod listen;
mod payload;
mod reactor;
mod stream;
mod tables;

pub use listen::{ConnectionOptions, ListenOptions, Listening};
pub use reactor::{JsReactor, ReactorOptions};
pub use stream::{StreamEngine, StreamOptions};
pub use tables::{ProtocolErrorRow, layout, protocol_errors, set_deflate_budget};
