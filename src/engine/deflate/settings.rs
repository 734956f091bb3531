pub use zlib_rs::Strategy;

/// What both ends agreed on (RFC 7692, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Section 7.1.1.1.
    pub server_no_context_takeover: bool,
    /// Section 7.1.1.2.
    pub client_no_context_takeover: bool,
    /// 8 to 15 (section 7.1.2.1). Default: 15.
    pub server_max_window_bits: u8,
    /// 8 to 15 (section 7.1.2.2). Default: 15.
    pub client_max_window_bits: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            server_no_context_takeover: false,
            client_no_context_takeover: false,
            server_max_window_bits: MAX_WINDOW_BITS,
            client_max_window_bits: MAX_WINDOW_BITS,
        }
    }
}

/// For outgoing messages. Values out of range count as the nearest one in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// 0 (stored) to 9 (smallest); -1 is zlib's default, 6. Default: 4, with output some
    /// percent longer than at 6, in two thirds of the time.
    pub level: i8,
    /// 1 to 9. Default: 8.
    pub mem_level: u8,
    pub strategy: Strategy,
    /// Shorter messages are not compressed. As in ws, only if this end has no context takeover:
    /// with it, short messages compress well. Default: 1024.
    pub threshold: u64,
    /// Whether incoming contexts can be [released](crate::engine::Engine::release_contexts), for
    /// which the end of the input is remembered. Default: false.
    pub releasable: bool,
    /// Whether the state of incoming messages can be [exported](crate::engine::Engine::export), for which the end of the
    /// input and the message under way are remembered. Default: false.
    pub movable: bool,
}

impl Settings {
    /// The level of messages without context, compressed in one go. zlib does the highest levels,
    /// level 0 and its own strategies.
    pub(super) fn fast_level(&self) -> Option<u8> {
        let level = if self.level < 0 { 6 } else { self.level as u8 };
        (self.strategy == Strategy::Default && (1..=6).contains(&level)).then_some(level)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: 4,
            mem_level: 8,
            strategy: Strategy::Default,
            threshold: 1024,
            releasable: false,
            movable: false,
        }
    }
}

/// The largest window of DEFLATE, 32 KiB (RFC 7692, section 7.1.2).
pub(super) const MAX_WINDOW_BITS: u8 = 15;
