//! The lives of connections: ids, closing, silence, panics, and the order in which peers observe
//! them.

mod closing;
mod gates;
mod identity;
mod panics;
mod silence;
