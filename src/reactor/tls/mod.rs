//! TLS: the server with its certificates, trust, tickets and hosts; the stream over a socket; the
//! handshake as steps of a connection.
//!
//! Keys of the program are kept by rustls and aws-lc, which zero them; nothing here logs any.

mod context;
mod der;
mod failure;
mod hosts;
mod server;
pub(super) mod steps;
pub(super) mod stream;
mod suites;
#[cfg(test)]
pub(super) mod tests;
mod tickets;
mod trust;

pub use context::{ContextOptions, PairOptions, SecureContext};
pub use failure::{BadOption, Failure, Refusal};
use server::Chosen;
pub use server::{Asks, TlsOptions, TlsServer};
pub use tickets::TICKET_KEY_BYTES;
use trust::{Rejection, Trust};
