//! Functions of the addon itself, and the one number that JavaScript sets for all of the process.

use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

use crate::engine::deflate::Budget;

use super::callback::report_exception;

/// The version of the package that this addon was built for. An addon of another one is not used.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Reports an exception at once, as Node does with one that nobody caught.
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

/// Whether clients are to be asked not to refer to earlier messages: contexts for those have used
/// the budget up.
#[napi(catch_unwind)]
pub fn deflate_budget_is_full() -> bool {
    Budget::of_process().is_full()
}

/// Sets the bytes that the compression contexts of all connections of the process may take, in each
/// direction.
#[napi(catch_unwind)]
pub fn set_deflate_budget(bytes: f64) {
    // NaN and negative numbers are 0.
    Budget::of_process().set_limit(bytes as usize);
}
