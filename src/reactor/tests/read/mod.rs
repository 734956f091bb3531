//! What is read, of which connection, and how much of it.

mod fairness;
mod flow;
mod frames;
pub(super) mod pressure;
mod rates;
mod unfinished;
mod whole;
