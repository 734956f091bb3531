//! The lives of connections: ids, closing, silence, panics, and the order that peers see.

mod closing;
mod gates;
mod identity;
mod panics;
mod silence;
mod silence_model;
mod size;
