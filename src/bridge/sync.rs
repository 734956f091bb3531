//! The one switch between std and loom, so the models check the code that ships. loom replaces std
//! only in this crate's own tests.

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
