//! The receivers of events: a handler on the same thread, or the bridge to another one.

pub(in crate::reactor) mod consumer;
pub(in crate::reactor) mod forward;
pub(in crate::reactor) mod link;
pub(in crate::reactor) mod local;
pub(in crate::reactor) mod message;
pub(in crate::reactor) mod settling;
