//! The reactor layer.
