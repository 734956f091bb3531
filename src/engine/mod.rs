//! RFC 6455 as a state machine: bytes in, events and bytes out.
//!
//! This layer opens no socket, reads no clock and starts no thread.

pub mod handshake;
