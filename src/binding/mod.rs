//! Node-API: every exported function is arguments -> one call -> result.
//!
//! This layer knows JavaScript values, and nothing of frames, sockets or timers.

#![deny(unsafe_code)]
#![expect(missing_docs, reason = "a name that says all needs no sentence")]

mod adopt;
mod backends;
mod callback;
mod deflate;
mod drive;
mod exchange;
mod handover;
mod handshake;
mod inline;
mod limits;
mod listen;
mod metrics;
mod payload;
mod poll_spin;
mod reactor;
mod receiver;
mod start;
mod tables;
mod threads;
mod tls;
mod uv;
mod wake;

pub use exchange::Calls;
pub use handover::{HandoverReport, JsCourier};
pub use handshake::HeaderFault;
pub use handshake::{
    accept_key, check_upgrade, negotiate_deflate, parse_extensions, parse_subprotocols, plain_status,
};
pub use limits::{JsAdmission, JsRates};
pub use listen::{ConnectionOptions, ListenOptions, Listening};
pub use metrics::{HistogramCounts, ReactorMetrics};
pub use reactor::JsReactor;
pub use receiver::{Frame, FrameReader, ReaderOptions};
pub use start::ReactorOptions;
pub use tables::{deflate_budget_is_full, lists, set_deflate_budget, version};
pub use tls::{JsSecureContext, JsTlsServer, Pair, SecureContextOptions, TlsServerOptions};
