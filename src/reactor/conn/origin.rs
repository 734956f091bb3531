//! Where an open connection comes from, for another process that takes it over.

use std::net::SocketAddr;
use std::ops::Range;

/// The request of a connection that can move.
#[derive(Clone, Debug)]
pub struct Asked {
    pub port: u32,
    /// The client that a proxy has named.
    pub client: Option<SocketAddr>,
    /// The head.
    pub request: Vec<u8>,
}

/// What a connection brings to another process, beyond the state of the protocol.
pub(in crate::reactor) struct Origin {
    /// The head of its request, and of the answer.
    pub(in crate::reactor) request: Box<[u8]>,
    pub(in crate::reactor) response: Box<[u8]>,
    /// The listener that has the port.
    pub(in crate::reactor) port: u32,
    /// The client that a proxy has named.
    pub(in crate::reactor) client: Option<SocketAddr>,
    /// The consumer's.
    pub(in crate::reactor) attachment: Box<[u8]>,
    /// The consumer has work for it that cannot move.
    pub(in crate::reactor) stays: bool,
    /// The other process has a copy of queued output: its positions among all bytes ever queued.
    pub(in crate::reactor) copied: Option<Range<u64>>,
    /// The other process knows the heads.
    pub(in crate::reactor) is_told: bool,
    /// Bytes ever queued when it was packed. Later ones are lost when it moves.
    pub(in crate::reactor) packed_at: u64,
}

impl Origin {
    pub(in crate::reactor) fn new(asked: &Asked, response: &[u8]) -> Self {
        Self {
            request: asked.request.as_slice().into(),
            response: response.into(),
            port: asked.port,
            client: asked.client,
            attachment: Box::default(),
            stays: false,
            copied: None,
            is_told: false,
            packed_at: 0,
        }
    }
}
