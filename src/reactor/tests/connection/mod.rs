//! The lives of connections: names, closing, silence, panics, and what peers may observe when.

mod closing;
mod gates;
mod identity;
mod panics;
mod silence;
