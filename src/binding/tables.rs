//! Functions of the addon itself, and the one number that JavaScript sets for the process.

use napi_derive::napi;

use crate::engine::deflate::Budget;

/// An addon of another version than the package's is not used.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Three empty arrays in an array: of the environment's own context, in whichever context the caller
/// runs, so that a reference to them keeps no other context.
#[napi(catch_unwind)]
pub fn lists() -> Vec<Vec<u32>> {
    vec![Vec::new(), Vec::new(), Vec::new()]
}

/// Whether clients are to be asked for messages without context: contexts have used the budget up.
#[napi(catch_unwind)]
pub fn deflate_budget_is_full() -> bool {
    Budget::of_process().is_full()
}

/// In each direction.
#[napi(catch_unwind)]
pub fn set_deflate_budget(bytes: f64) {
    // NaN and negative numbers are 0.
    Budget::of_process().set_limit(bytes as usize);
}
