//! Frames: their types, headers and the body of close frames (RFC 6455, section 5).

mod header;

pub use header::{EncodedHeader, MAX_CONTROL_LEN, MAX_HEADER_LEN, wire_len};
pub(in crate::engine) use header::{Expected, Header, is_compressed};

use super::close_code::CloseCode;
use super::error::{ErrorKind, ProtocolError};
use super::event::MessageKind;

/// A frame to send. The engine makes continuation frames of fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Text,
    Binary,
    /// At most 125 bytes.
    Ping,
    /// At most 125 bytes.
    Pong,
    /// 0 or 2 to 125 bytes.
    Close,
}

impl From<MessageKind> for FrameKind {
    fn from(kind: MessageKind) -> Self {
        match kind {
            MessageKind::Text => Self::Text,
            MessageKind::Binary => Self::Binary,
        }
    }
}

/// With the number on the wire (RFC 6455, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::engine) enum OpCode {
    Continuation = 0x0,
    Text = 0x1,
    Binary = 0x2,
    Close = 0x8,
    Ping = 0x9,
    Pong = 0xa,
}

impl OpCode {
    pub(in crate::engine) fn from_bits(bits: u8) -> Option<Self> {
        let all = [Self::Continuation, Self::Text, Self::Binary, Self::Close, Self::Ping, Self::Pong];
        all.into_iter().find(|opcode| *opcode as u8 == bits)
    }

    /// The highest bit of the opcode (RFC 6455, section 5.5).
    pub(in crate::engine) fn is_control(self) -> bool {
        self as u8 & 0x8 != 0
    }

    #[inline]
    pub(in crate::engine) fn message_kind(self) -> Option<MessageKind> {
        match self {
            Self::Text => Some(MessageKind::Text),
            Self::Binary => Some(MessageKind::Binary),
            _ => None,
        }
    }
}

/// Bytes of the status code in the body of a close frame (RFC 6455, section 5.5.1).
pub(in crate::engine) const CODE_LEN: usize = 2;

/// `None` if the unmasked body is empty. A body of one byte never gets here: its header is refused.
pub(in crate::engine) fn decode_code(body: &[u8]) -> Result<Option<CloseCode>, ProtocolError> {
    let Some(code) = body.first_chunk::<CODE_LEN>() else { return Ok(None) };
    let number = u16::from_be_bytes(*code);
    match CloseCode::new(number) {
        None => Err(ProtocolError::with_detail(ErrorKind::InvalidCloseCode, number)),
        code => Ok(code),
    }
}
