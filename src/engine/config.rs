//! The settings of an engine: its role, limits and switches.

/// Which end of the connection the engine is (RFC 6455, section 5.1: a client masks, a server does
/// not).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Frames that come in must be masked.
    Server,
    /// Frames that come in must not be masked.
    Client,
}

/// The most bytes of a message, whatever its receiver allows: the length of each must fit 32 bits.
/// 4 GiB - 1.
pub const LONGEST_MESSAGE: u64 = u32::MAX as u64;

/// Settings of an engine. One `Config` may serve any number of engines; an engine is shown it at
/// every call and must be shown equal settings for as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The engine's end of the connection. Default: [`Role::Server`].
    pub role: Role,
    /// Largest message in bytes, all fragments together; 0, and what is more than
    /// [`LONGEST_MESSAGE`], is that length. Default: 100 MiB.
    ///
    /// It is compared with the declared lengths, so that an oversized message is refused before its
    /// payload comes.
    pub max_payload: u64,
    /// Most frames that one message may consist of, empty ones included; 0 = no limit. Default:
    /// 16384.
    pub max_fragments: u32,
    /// Hand out text messages and close reasons without checking that they are UTF-8. Default:
    /// false.
    pub skip_utf8_validation: bool,
    /// Report the bytes of a message that is not whole in one input with
    /// [`Event::Part`](super::Event::Part), and leave them in the input, instead of collecting
    /// them. Compressed messages are collected all the same. Default: false.
    pub parts: bool,
}

impl Config {
    /// Largest message that is taken, in bytes.
    pub(super) fn longest_message(&self) -> u64 {
        if self.max_payload == 0 { LONGEST_MESSAGE } else { self.max_payload.min(LONGEST_MESSAGE) }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            role: Role::Server,
            max_payload: 100 * 1024 * 1024,
            max_fragments: 16 * 1024,
            skip_utf8_validation: false,
            parts: false,
        }
    }
}
