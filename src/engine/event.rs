use std::ops::Range;

use super::close_code::CloseCode;
use super::error::ProtocolError;

/// RFC 6455, section 5.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8, unless the settings skip the check.
    Text,
    Binary,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Payload {
    /// In the input of the call that returned the event, unmasked.
    /// The range is of the whole input, not of the part after `pos`.
    Input(Range<usize>),
    /// Assembled from several inputs or fragments.
    Owned(Vec<u8>),
}

impl Payload {
    /// `input` is the input of the call that returned the event.
    pub fn bytes<'a>(&'a self, input: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Input(range) => input.get(range.clone()).unwrap_or_default(),
            Self::Owned(bytes) => bytes,
        }
    }

    pub(in crate::engine) fn after(self, bytes: usize) -> Self {
        match self {
            Self::Input(range) => Self::Input(range.end.min(range.start + bytes)..range.end),
            Self::Owned(mut owned) => {
                owned.drain(..bytes.min(owned.len()));
                Self::Owned(owned)
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Message {
        kind: MessageKind,
        payload: Payload,
    },
    /// At most 125 bytes (RFC 6455, section 5.5.2).
    Ping(Payload),
    /// At most 125 bytes (RFC 6455, section 5.5.3).
    Pong(Payload),
    /// The engine ignores whatever follows (RFC 6455, section 5.5.1).
    Close {
        /// `None` when the frame was empty, which APIs report as 1005.
        code: Option<CloseCode>,
        /// UTF-8 unless validation is skipped, at most 123 bytes.
        reason: Payload,
    },
    /// The peer broke the protocol or a limit. The engine ignores whatever follows.
    Error(ProtocolError),
}
