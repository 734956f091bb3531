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
//!
//! # In Rust
//!
//! The reactor also serves Rust programs without Node: implement [`reactor::Handler`], give it to
//! [`reactor::Reactor::with_handler`], and let a thread run that. `examples/rust/echo.rs` is the
//! smallest server; `examples/rust/chat.rs` has a second thread that sends.

pub mod engine;

#[cfg(feature = "reactor")]
pub mod bridge;
#[cfg(feature = "reactor")]
pub mod reactor;

#[cfg(feature = "binding")]
pub mod binding;
