//! Topics: one record for a message to many connections, and its effects.

mod compressed;
mod history;
mod members;
mod model;
#[cfg(unix)]
mod moves;
mod restart;
mod slow;
mod stage;
