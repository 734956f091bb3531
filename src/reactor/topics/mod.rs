//! Topics: one record for a message to many connections, their history, and the treatment of
//! slow members.
//!
//! JavaScript owns names, numbers and positions; each reactor has all topics, with those of its
//! connections that are members, and the same history as the others.
//!
//! ```text
//!                     .--> members, one after the other: framed once, compressed once for
//!                     |    equal parameters
//!  record -> Publishing --> ring, where there is a history
//!                     '--> slow members: queued, dropped, kept (latest), or left to the ring
//!                          (catch-up)
//!
//!  a write has made room -> catch_up: kept messages, or those of the ring from an offset on
//!  a connection is gone  -> leaving: its memberships are taken back, some of them each turn
//! ```
//!
//! A publish is work of the turn like that of any record: when the budget is used up, it goes on in
//! the next turn, and the records behind it wait.

pub(in crate::reactor) mod behind;
pub(in crate::reactor) mod catch_up;
pub(in crate::reactor) mod hash;
pub(in crate::reactor) mod history;
pub(in crate::reactor) mod joined;
pub(in crate::reactor) mod publish;
pub(in crate::reactor) mod publishing;
pub(in crate::reactor) mod receipt;
pub(in crate::reactor) mod records;
pub(in crate::reactor) mod registry;
pub(in crate::reactor) mod report;
pub(in crate::reactor) mod slow;
pub(in crate::reactor) mod subscribe;
pub(in crate::reactor) mod topic;
pub(in crate::reactor) mod turn;
