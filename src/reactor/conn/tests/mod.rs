//! The lives of connections: ids, closing, silence, panics, and the order that peers see.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod closing;
mod gates;
mod identity;
mod panics;
mod silence;
mod silence_model;
mod size;
