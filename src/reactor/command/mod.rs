//! Requests of other threads, record by record, and the number that a turn applies.

pub(super) mod apply;
pub(super) mod handle;
pub(super) mod messages;
pub(super) mod records;
pub(super) mod serve;
