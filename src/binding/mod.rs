//! Node-API: every exported function is arguments -> one call -> result.
//!
//! This layer knows what a JavaScript value is and nothing of frames, sockets or timers.

#![deny(unsafe_code)]
#![expect(missing_docs, reason = "a name that says all needs no sentence")]

mod adopt;
mod allocator;
mod callback;
mod crossing;
mod deflate;
mod descriptor;
mod drive;
mod inline;
mod lingering;
mod listen;
mod payload;
mod reactor;
mod running;
mod start;
mod streams;
mod tables;
mod threads;
mod uv;
mod wake;

pub use listen::{ConnectionOptions, ListenOptions, Listening};
pub use reactor::JsReactor;
pub use running::admission::{AdmissionLimits, JsAdmission};
pub use running::metrics::{HistogramCounts, ReactorMetrics};
pub use start::ReactorOptions;
pub use streams::Streams;
pub use streams::engine::StreamEngine;
pub use streams::parser::StreamOptions;
pub use tables::{deflate_budget_is_full, lists, report, set_deflate_budget, version};
