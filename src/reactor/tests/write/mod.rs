//! What is written, in which order, and from where.

mod deflate;
mod order;
mod payloads;
mod same;
