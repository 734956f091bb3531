//! Writing: content, order and source.

mod deflate;
mod order;
mod payloads;
