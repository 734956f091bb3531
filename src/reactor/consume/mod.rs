//! The receivers of events: a handler on the same thread, or the bridge to another one.

pub(super) mod consumer;
pub(super) mod forward;
mod giving_way;
pub(super) mod link;
pub(super) mod local;
