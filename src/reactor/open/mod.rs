//! How connections begin: accepted from a listener, or adopted from a server that has read the
//! request.

pub(in crate::reactor) mod accept;
pub(in crate::reactor) mod adopt;
pub(in crate::reactor) mod bind;
mod door;
pub(in crate::reactor) mod leave;
pub(in crate::reactor) mod listen;
pub(in crate::reactor) mod opening;
mod reserve;
pub(in crate::reactor) mod upgrade;
