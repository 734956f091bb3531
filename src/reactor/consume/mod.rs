//! The receivers of events: a program on the same thread, or the bridge to another one.

pub(super) mod consumer;
pub(super) mod forward;
pub(super) mod link;
mod yield_policy;
