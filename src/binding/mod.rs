//! Node-API: every exported function is arguments -> one call -> result.
//!
//! This layer knows what a JavaScript value is and nothing of frames, sockets or timers.

#![deny(unsafe_code)]

mod deflate;
mod listen;
mod payload;
mod reactor;
mod tables;

pub use listen::{ListenOptions, Listening};
pub use reactor::{JsReactor, ReactorOptions};
pub use tables::{ProtocolErrorRow, layout, protocol_errors};
