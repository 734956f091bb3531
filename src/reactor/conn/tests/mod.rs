//! The lives of connections: ids, closing, silence, panics, and the order that peers see.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod barrier;
mod closing;
mod identity;
mod panics;
mod silence;
mod silence_model;
mod size;
