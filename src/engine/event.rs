//! The events that an engine reports.

use std::ops::Range;

use super::close_code::CloseCode;
use super::error::ProtocolError;

/// The type of a message (RFC 6455, section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8, and checked unless the settings skip that.
    Text,
    /// Any bytes.
    Binary,
}

/// The place of the bytes of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload {
    /// In the input of the call that returned the event, already unmasked.
    Input {
        /// The bytes, as a range of the whole input (not of the part after `pos`).
        range: Range<usize>,
        /// The number of bytes directly before `range` that belong to the same frame and are of no
        /// more use: its header, and for a close frame the status code. A response header may be
        /// written there, see [`write_before`](super::frame::write_before). 0 when the header came
        /// with an earlier input.
        headroom: usize,
    },
    /// Assembled from several inputs or fragments.
    Owned(Vec<u8>),
}

impl Payload {
    /// The bytes, given the input of the call that returned the event.
    ///
    /// Any other input yields other bytes, or none where it is too short.
    pub fn bytes<'a>(&'a self, input: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Input { range, .. } => input.get(range.clone()).unwrap_or_default(),
            Self::Owned(bytes) => bytes,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Input { range, .. } => range.len(),
            Self::Owned(bytes) => bytes.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Something that the peer did.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A complete message (RFC 6455, section 5.6).
    Message {
        /// Text or binary.
        kind: MessageKind,
        /// The message.
        payload: Payload,
    },
    /// Bytes of a message that is not whole in one input; only where
    /// [`Config::parts`](super::Config::parts) asks for them.
    Part {
        /// Text or binary.
        kind: MessageKind,
        /// Where the bytes are in the whole input, unmasked. Not empty, unless it is the last part.
        range: Range<usize>,
        /// Whether they end the message.
        last: bool,
    },
    /// A ping frame, at most 125 bytes (RFC 6455, section 5.5.2).
    Ping(Payload),
    /// A pong frame, at most 125 bytes (RFC 6455, section 5.5.3).
    Pong(Payload),
    /// A close frame (RFC 6455, section 5.5.1). The engine swallows whatever follows it.
    Close {
        /// The status code; `None` when the frame was empty, which APIs report as 1005.
        code: Option<CloseCode>,
        /// The reason, UTF-8 unless validation is skipped, at most 123 bytes.
        reason: Payload,
    },
    /// The peer broke the protocol or a limit. The engine swallows whatever follows.
    Error(ProtocolError),
}
