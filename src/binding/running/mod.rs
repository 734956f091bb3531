//! What operators need: limits, and numbers to look at.

pub(super) mod admission;
pub(super) mod metrics;
pub(super) mod rates;
