//! Functions of the addon itself.

use napi_derive::napi;

use crate::engine::deflate::Budget;

/// lib refuses an addon of another version.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Three empty arrays in an array. They are of the environment's own context, whichever context the
/// caller runs in, so a reference to them keeps no other context alive.
#[napi(catch_unwind)]
pub fn lists() -> Vec<Vec<u32>> {
    vec![Vec::new(), Vec::new(), Vec::new()]
}

/// Whether clients should be asked for messages without context: contexts have used up the budget.
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
