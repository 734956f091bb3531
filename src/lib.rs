//! A WebSocket server for Node.js, with the network on a thread of its own.
//!
//! ```text
//!           reactor thread                         |        JS thread
//!  socket -> reactor -> engine -> bridge::batch ---+--> binding -> lib -> 'message'
//!  socket <- reactor <- engine <- bridge::chunk <--+--- binding <- lib <- send()
//! ```
//!
//! `engine` is RFC 6455 with no sockets, clock or threads. `reactor` owns every socket. `bridge` is
//! the only memory the two threads share. `binding` is the only code that knows about JavaScript.
//! Nothing imports to its right; see ARCHITECTURE.md.

pub mod engine;

#[cfg(feature = "reactor")]
pub mod bridge;
#[cfg(feature = "reactor")]
pub mod reactor;

#[cfg(feature = "binding")]
pub mod binding;
