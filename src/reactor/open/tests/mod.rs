//! How connections begin.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod adoption;
mod exhaustion;
mod given;
mod handshake;
mod listeners;
