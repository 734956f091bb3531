//! From frames to the kernel: compression, queues, and the order in which connections are written.

pub(in crate::reactor) mod compress;
pub(in crate::reactor) mod compression;
pub(in crate::reactor) mod half;
pub(in crate::reactor) mod masking;
pub(in crate::reactor) mod outgoing;
pub(in crate::reactor) mod remains;
pub(in crate::reactor) mod schedule;
pub(in crate::reactor) mod slow;
pub(in crate::reactor) mod unwritten;
pub(in crate::reactor) mod waiting;
