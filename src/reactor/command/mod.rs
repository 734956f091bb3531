//! Requests of other threads, record by record, and the number that a turn applies.

pub(in crate::reactor) mod apply;
pub(in crate::reactor) mod handle;
pub(in crate::reactor) mod marks;
pub(in crate::reactor) mod records;
pub(in crate::reactor) mod resume;
pub(in crate::reactor) mod serve;
