//! Limits and metrics for operators.

pub(super) mod admission;
pub(super) mod metrics;
pub(super) mod rates;
