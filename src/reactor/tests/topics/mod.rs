//! Topics: one record for a message to many connections, and what becomes of it.

mod cost;
mod history;
mod members;
mod model;
mod slow;
mod stage;
