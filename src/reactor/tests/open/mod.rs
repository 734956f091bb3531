//! How connections begin.

mod adoption;
mod exhaustion;
mod handshake;
mod listeners;
