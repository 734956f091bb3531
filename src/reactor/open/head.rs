//! What is known of a connection until it opens.

use std::net::SocketAddr;
use std::time::Instant;

use crate::engine::deflate::Params;
use crate::engine::handshake::HeadScanner;

/// The head of the request, as far as it has come.
#[derive(Default)]
pub(in crate::reactor) struct Head {
    /// The peer's address, where accepting has shown it.
    pub(super) peer: Option<SocketAddr>,
    pub(super) bytes: Vec<u8>,
    pub(super) scanner: HeadScanner,
    /// Bytes of a request body to skip before the next request (keep-alive after a 426).
    pub(super) skip: u64,
    /// A header of the PROXY protocol comes first.
    pub(super) proxied: bool,
    pub(super) listener: ListenerState,
    /// When it was accepted.
    pub(super) since: Option<Instant>,
}

/// What has become of a listener since it accepted the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListenerState {
    /// It accepts.
    #[default]
    Open,
    /// Another process has its place: an upgrade is served, and after another request the
    /// connection ends.
    Left,
    /// An upgrade is refused, too.
    Closed,
}

/// The state while the consumer decides.
#[derive(Default)]
pub(in crate::reactor) struct Question {
    /// The negotiated parameters of permessage-deflate.
    pub(super) deflate: Option<Params>,
    /// The bytes behind the request, from the time when the consumer has handed them back.
    pub(super) behind: Vec<u8>,
    /// The consumer knows that the peer has ended its side.
    pub(super) ended: bool,
    /// When the connection was accepted; `None`: by others.
    pub(super) since: Option<Instant>,
}

impl Head {
    /// Whether a byte of the request has come, or one behind a request that was answered.
    pub(in crate::reactor) fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }
}

impl Question {
    /// The consumer is told that the peer has ended its side. False: it knows.
    pub(in crate::reactor) fn note_end(&mut self) -> bool {
        !std::mem::replace(&mut self.ended, true)
    }
}
