//! How connections begin: accepted from a listener, or adopted from somebody who has read the
//! request.

pub(in crate::reactor) mod accept;
pub(in crate::reactor) mod adopt;
pub(in crate::reactor) mod listen;
pub(in crate::reactor) mod opening;
pub(in crate::reactor) mod upgrade;
