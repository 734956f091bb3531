//! The one switch between std and loom: what the models check is the code that ships.
//!
//! loom is a dev-dependency, so it stands in for std in this crate's own test build only.

#[cfg(not(all(loom, test)))]
pub(super) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(all(loom, test))]
pub(super) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};
