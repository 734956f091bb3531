//! The binding layer.
