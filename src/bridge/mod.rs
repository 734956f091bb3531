//! The only memory that the reactor's thread and the JavaScript thread both touch. It opens no
//! socket, starts no thread, and blocks on short locks only.
//!
//! ```text
//!  reactor: Batch --publish--> Inbox --take--> JavaScript      Bell:  ring once until answered
//!           Batch <--reclaim-- Inbox <--give_back--
//!  reactor: Chunk <--take_all-- Outbox <--send-- JavaScript    Sleep: wake only what sleeps
//!           buffer --recycle--> Outbox --buffer-->
//!           Arena <--take_all-- Outbox <--send-- JavaScript
//!           memory --give_back--> Outbox --arena-->
//!  reactor: open, add --> Gauges --read--> JavaScript
//! ```
//!
//! # Who owns what
//!
//! A [`Batch`](batch::Batch), [`Chunk`](chunk::Chunk) or [`Arena`](chunk::Arena) has one owner at
//! any time and moves by value, so no byte is visible to both threads. They share the lists of the
//! inbox under a lock, the head of the [`Queue`](queue::Queue), the flags of the [`doorbell`], the
//! [`Gauges`](gauges::Gauges). Which of them runs a reactor that both can run, its [`Seat`](seat::Seat) says.
//!
//! # Order
//!
//! One rule carries everything: *make the work visible, then exchange the flag; exchange the flag,
//! then look for work.*
//!
//! All exchanges of one flag have one order and are acquire-release, and nothing plainly stores to
//! a flag: what a thread did before its exchange is visible to every thread after a later one. A
//! producer pushes and then exchanges, a consumer exchanges and then looks:
//!
//! - the producer's exchange came first: the consumer's look finds the work;
//! - the consumer's came first: the producer reads what the consumer wrote. In the
//!   [`Bell`](doorbell::Bell) that is "answered": it rings. In [`Sleep`](doorbell::Sleep) it is
//!   "asleep": it wakes the reactor.
//!
//! If another producer's exchange is between the two, that producer rings or wakes instead. So no
//! work is lost, and there is one ring between two answers. No order over several variables is
//! needed, hence no `SeqCst`.
//!
//! The inbox's `wants_wake` flag follows the same rule, with the lock as the exchange. The reactor
//! announces its sleep before it sets the flag, and looks for work after both.
//!
//! loom checks this argument on the code itself (`RUSTFLAGS="--cfg loom"`, see `tests`), Miri the
//! queue's unsafe.
#![deny(unsafe_code)]
#![expect(missing_docs, reason = "a name that says all needs no sentence")]

pub mod admission;
pub mod batch;
pub mod chunk;
pub mod doorbell;
pub mod gauges;
pub mod inbox;
pub mod layout;
pub mod limits;
pub mod origins;
pub mod queue;
pub mod rates;
pub mod read_buffer;
pub mod seat;
pub mod split;
mod sync;
pub mod tally;

#[cfg(test)]
mod tests;
