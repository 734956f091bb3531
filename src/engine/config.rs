/// A client masks, a server does not (RFC 6455, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// The most bytes of a message, whatever its receiver allows: the length must fit 32 bits.
pub const LONGEST_MESSAGE: u64 = u32::MAX as u64;

/// One `Config` can serve many engines; an engine needs equal settings at every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Default: [`Role::Server`].
    pub role: Role,
    /// Largest message in bytes, all fragments together; 0 or more than [`LONGEST_MESSAGE`] means
    /// that length. Default: 100 MiB.
    ///
    /// Checked against declared lengths, so an oversized message is refused before its payload
    /// arrives.
    pub max_payload: u64,
    /// Most frames of a message, empty ones included; 0 = no limit. Default: 16384.
    pub max_fragments: u32,
    /// Do not check that text messages and close reasons are UTF-8. Default: false.
    pub skip_utf8_validation: bool,
}

impl Config {
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
        }
    }
}
