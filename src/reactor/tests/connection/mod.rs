//! How connections go through their lives: names, closing, silence, panics, who may observe what.

mod closing;
mod gates;
mod identity;
mod panics;
mod silence;
