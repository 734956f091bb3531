//! What one thread can see of each type, threads against each other, and (`--cfg loom`) every order of them.
//!
//! ```text
//! cargo test --no-default-features --features reactor --lib bridge
//! RUSTFLAGS="--cfg loom" cargo test --no-default-features --features reactor --lib bridge --release
//! cargo +nightly miri test --no-default-features --features reactor --lib bridge
//! ```

#[cfg(loom)]
mod models;

#[cfg(not(loom))]
mod batch;
#[cfg(not(loom))]
mod chunk;
#[cfg(not(loom))]
mod inbox;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
mod threads;
