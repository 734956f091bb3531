//! The state of a connection until it opens.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::engine::deflate::Params;
use crate::engine::handshake::HeadScanner;
use crate::reactor::conn::origin::Asked;
use crate::reactor::handover::parcel::Opened;

#[derive(Default)]
pub(in crate::reactor) struct Head {
    pub(super) peer: Option<SocketAddr>,
    pub(super) bytes: Vec<u8>,
    pub(super) scanner: HeadScanner,
    /// Bytes of a request body to skip before the next request (keep-alive after a 426).
    pub(super) skip: u64,
    /// A header of the PROXY protocol comes first.
    pub(super) proxied: bool,
    /// The consumer has answered requests, and this long the connection can wait for another one.
    pub(in crate::reactor) kept: Option<Duration>,
    /// Its listener has closed: an upgrade is refused, and the connection ends after any other request.
    pub(super) closed: bool,
    pub(super) since: Option<Instant>,
    /// The consumer knows that its TLS handshake is done, and is told of its end.
    pub(in crate::reactor) known: bool,
}

#[derive(Default)]
pub(in crate::reactor) struct PendingUpgrade {
    pub(super) peer: Option<SocketAddr>,
    /// The consumer has had the connection, and can have bytes that were read after its request.
    pub(super) relayed: bool,
    /// If the connection can move.
    pub(super) asked: Option<Asked>,
    /// The connection has come from another process: it opens as it was there.
    pub(super) resumed: Option<Box<Opened>>,
    pub(super) deflate: Option<Params>,
    /// The bytes after the request, once the consumer has handed them back.
    pub(super) behind: Vec<u8>,
    /// The consumer knows that the peer has ended its side.
    pub(super) ended: bool,
    /// When the connection was accepted; `None`: elsewhere.
    pub(super) since: Option<Instant>,
}

impl Head {
    pub(in crate::reactor) fn new(peer: Option<SocketAddr>, proxied: bool, since: Option<Instant>) -> Self {
        Self { peer, proxied, since, ..Self::default() }
    }

    /// From another process, or back from the consumer.
    pub(in crate::reactor) fn moved(peer: Option<SocketAddr>, proxied: bool, kept: Option<Duration>) -> Self {
        Self { peer, proxied, kept, ..Self::default() }
    }

    /// The listener has closed. Returns whether the peer waits for an answer.
    pub(in crate::reactor) fn close(&mut self) -> bool {
        self.closed = true;
        self.has_begun()
    }

    /// Whether a header of the PROXY protocol comes first, and the bytes so far. `None`: the connection has more
    /// state than that.
    pub(in crate::reactor) fn export(&self) -> Option<(bool, &[u8])> {
        (self.skip == 0 && !self.closed && !self.known).then_some((self.proxied, &self.bytes))
    }

    /// The client that a proxy has named, or the peer.
    pub(in crate::reactor) fn client(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Whether a byte of the request arrived, or one after a request that was answered.
    pub(in crate::reactor) fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }
}

impl PendingUpgrade {
    /// With the client that a proxy has named.
    pub(in crate::reactor) fn take_resumed(&mut self) -> Option<(Opened, Option<SocketAddr>)> {
        self.resumed.take().map(|opened| (*opened, self.peer))
    }

    pub(in crate::reactor) fn resumed(opened: Opened, peer: Option<SocketAddr>) -> Self {
        Self { peer, resumed: Some(Box::new(opened)), ..Self::default() }
    }

    /// The consumer is told that the peer has ended its side. False: it knows.
    pub(in crate::reactor) fn note_end(&mut self) -> bool {
        !std::mem::replace(&mut self.ended, true)
    }
}
