//! Functions of the addon itself, and the one number that JavaScript sets for the process.

use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

use crate::engine::deflate::Budget;

use super::callback::report_exception;

/// An addon of another version than the package's is not used.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// As Node does with an uncaught exception.
#[napi(catch_unwind)]
pub fn report(env: &Env, error: Unknown<'_>) {
    report_exception(env, &error);
}

/// Two empty arrays in an array: of the environment's own context, in whichever context the caller
/// runs, so that a reference to them keeps no other context.
#[napi(catch_unwind)]
pub fn lists() -> Vec<Vec<u32>> {
    vec![Vec::new(), Vec::new()]
}

/// Whether clients are to be asked for messages without context: contexts have used the budget up.
#[napi(catch_unwind)]
pub fn deflate_budget_is_full() -> bool {
    Budget::of_process().is_full()
}

/// Bytes that compression contexts may take in each direction.
#[napi(catch_unwind)]
pub fn set_deflate_budget(bytes: f64) {
    // NaN and negative numbers are 0.
    Budget::of_process().set_limit(bytes as usize);
}
