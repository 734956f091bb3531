//! Code that the load generator and the echo servers beside it share.

mod accept;
pub mod answer;

pub use accept::accept_key;
