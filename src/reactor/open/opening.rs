//! The facts about a connection when it opens, or asks to.

use std::net::SocketAddr;

use crate::engine::handshake::{Refusal, Request};

/// The result of the native checks of an upgrade request.
pub type Verdict = Result<(), Refusal>;

/// A connection that has asked for an upgrade.
pub struct Opening<'a> {
    /// The listener it came through, or the number given with `adopt`.
    pub listener: u32,
    /// Our end; `None` when the socket is already dead or not an IP socket.
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// The upgrade request; `None` for an adopted socket, whose request was read elsewhere.
    pub request: Option<&'a Request<'a>>,
    pub protocol: Option<&'a [u8]>,
    /// The value of `Sec-WebSocket-Extensions` in the answer.
    pub extensions: Option<&'a str>,
    /// The bytes that were read behind the request. Only in `on_request`.
    pub rest: &'a [u8],
}
