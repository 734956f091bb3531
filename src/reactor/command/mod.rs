//! Requests of other threads, record by record, and how many of them a turn applies.

pub(super) mod apply;
pub(super) mod handle;
pub(super) mod messages;
pub(super) mod records;
pub(super) mod serve;
