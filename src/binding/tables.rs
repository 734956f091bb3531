//! Numbers and sentences that JavaScript reads from here, so that they exist once; and the one number that it sets for all.

use std::collections::HashMap;

use napi_derive::napi;

use crate::bridge::layout::constants;
use crate::engine::deflate::Budget;
use crate::engine::{ErrorClass, ErrorKind};

/// The layout of records and commands by name.
#[napi(catch_unwind)]
pub fn layout() -> HashMap<String, u32> {
    constants().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Two empty arrays in an array: of the environment's own context, whichever the caller runs in, so that who keeps them keeps no other.
#[napi(catch_unwind)]
pub fn lists() -> Vec<Vec<u32>> {
    vec![Vec::new(), Vec::new()]
}

/// One kind of protocol error.
#[napi(object)]
pub struct ProtocolErrorRow {
    /// The number that an error record carries in its flags.
    pub kind: u32,
    /// `WS_ERR_...`
    pub code: String,
    /// The sentence of the error; `%d` where the record's detail number goes.
    pub message: String,
    /// The status code for the close frame.
    pub close_code: u32,
    /// A RangeError rather than an Error.
    pub range: bool,
}

/// All protocol errors; each at the index that is its number.
#[napi(catch_unwind)]
pub fn protocol_errors() -> Vec<Option<ProtocolErrorRow>> {
    let rows = ErrorKind::table().iter().map(|row| {
        Some(ProtocolErrorRow {
            kind: row.kind as u32,
            code: row.code.to_owned(),
            message: if row.detailed { format!("{}%d", row.sentence) } else { row.sentence.to_owned() },
            close_code: row.close_code.get().into(),
            range: row.class == ErrorClass::RangeError,
        })
    });
    std::iter::once(None).chain(rows).collect()
}

/// Whether clients are to be asked not to refer to earlier messages: contexts for those have used the budget up.
#[napi(catch_unwind)]
pub fn deflate_budget_is_full() -> bool {
    Budget::of_process().is_full()
}

/// Sets how many bytes the compression contexts of all connections of the process may take, in each direction.
#[napi(catch_unwind)]
pub fn set_deflate_budget(bytes: f64) {
    // Not a number and what is negative are 0.
    Budget::of_process().set_limit(bytes as usize);
}
