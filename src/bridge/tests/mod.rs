//! Tests of each type with one thread, with threads against each other, and (`--cfg loom`) in every
//! order of those threads.
//!
//! ```text
//! cargo test --no-default-features --features reactor --lib bridge
//! RUSTFLAGS="--cfg loom" \
//!     cargo test --no-default-features --features reactor --lib bridge --release
//! cargo +nightly miri test --no-default-features --features reactor --lib bridge
//! ```

#[cfg(loom)]
mod models;

#[cfg(not(loom))]
mod admission;
#[cfg(not(loom))]
mod batch;
#[cfg(not(loom))]
mod chunk;
#[cfg(not(loom))]
mod inbox;
#[cfg(not(loom))]
mod javascript;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
mod split;
#[cfg(not(loom))]
mod threads;

/// Memory of the other side, with its number.
#[cfg(not(loom))]
struct Memory(u32, Vec<u8>);

#[cfg(not(loom))]
impl super::read_buffer::Lent for Memory {
    fn id(&self) -> u32 {
        self.0
    }

    fn bytes(&self) -> &[u8] {
        &self.1
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.1
    }
}
