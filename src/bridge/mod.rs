//! The bridge layer.
