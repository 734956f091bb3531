//! Listening sockets, and too few descriptors for them.

mod exhaustion;
mod listeners;
