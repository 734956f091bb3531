//! The opening handshake as a client, RFC 6455 section 4.

use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wire::accept_key;

/// One handshake: the request to send, and the check of the response.
pub(crate) struct Handshake {
    /// The request's bytes.
    pub(crate) request: Vec<u8>,
    accept: String,
    response: Vec<u8>,
    deflate: bool,
    may_speak: bool,
}

/// The extension that is offered with --deflate, and must be agreed on.
const OFFER: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

impl Handshake {
    /// A handshake with the key made from `nonce`.
    pub(crate) fn new(host: &str, port: u16, path: &str, nonce: [u8; 16], deflate: bool) -> Self {
        let key = STANDARD.encode(nonce);
        let extensions =
            if deflate { format!("Sec-WebSocket-Extensions: {OFFER}\r\n") } else { String::new() };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{extensions}\r\n"
        );
        Self {
            request: request.into_bytes(),
            accept: accept_key(key.as_bytes()),
            response: Vec::new(),
            deflate,
            may_speak: false,
        }
    }

    /// A handshake with a server that may send frames at once.
    pub(crate) fn may_speak(self) -> Self {
        Self { may_speak: true, ..self }
    }

    /// The bytes behind the response.
    pub(crate) fn rest(&self) -> &[u8] {
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(&[], |end| &self.response[end + 4..])
    }

    /// Takes bytes of the response; true once it is complete and right.
    ///
    /// # Errors
    /// The response is not the 101 that RFC 6455 section 4.1 asks for, or frames
    /// follow it before any request was sent.
    pub(crate) fn feed(&mut self, input: &[u8]) -> Result<bool, Box<dyn Error>> {
        self.response.extend_from_slice(input);
        let Some(end) = self.response.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if self.response.len() < 16 << 10 { Ok(false) } else { Err("endless handshake".into()) };
        };
        if end + 4 != self.response.len() && !self.may_speak {
            return Err("the server spoke first".into());
        }
        let text = String::from_utf8_lossy(&self.response[..end]);
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next().unwrap_or_default();
        let accepted = lines.filter_map(|line| line.split_once(':')).any(|(name, value)| {
            name.eq_ignore_ascii_case("sec-websocket-accept") && value.trim() == self.accept
        });
        if !status.starts_with("HTTP/1.1 101") || !accepted {
            return Err(format!("handshake refused or wrong: {text}").into());
        }
        if self.deflate && !OFFER.split("; ").all(|word| text.contains(word)) {
            return Err(format!("not compressed without context takeover: {text}").into());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455 section 1.3.
    #[test]
    fn accepts_the_response_to_its_own_key_only() {
        let mut handshake = Handshake::new("127.0.0.1", 1, "/", *b"the sample nonce", false);
        assert!(handshake.request.windows(24).any(|part| part == b"dGhlIHNhbXBsZSBub25jZQ=="));
        let response =
            b"HTTP/1.1 101 Switching Protocols\r\nSEC-WEBSOCKET-ACCEPT: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        assert!(!handshake.feed(&response[..50]).unwrap());
        assert!(handshake.feed(&response[50..]).unwrap());
        assert!(Handshake::new("127.0.0.1", 1, "/", *b"the simple nonce", false).feed(response).is_err());
    }
}
