//! Listening sockets, and too few descriptors for them.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod exhaustion;
mod listeners;
