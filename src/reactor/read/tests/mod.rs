//! Reading: from which connection, and how much.

mod fairness;
mod flow;
mod frames;
mod loads;
pub(super) mod pressure;
mod rates;
mod unfinished;
mod whole;
