//! How connections begin.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod adoption;
mod handoff;
mod handshake;
