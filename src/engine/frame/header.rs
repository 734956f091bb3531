//! The frame header (RFC 6455, section 5.2). Nothing else knows its bits.
//!
//! ```text
//!   byte 0: FIN RSV1 RSV2 RSV3 opcode(4)    byte 1: MASK length(7)
//!   length 126: 2 bytes of length follow    length 127: 8 bytes of length follow
//!   MASK: then 4 bytes of key
//! ```

use std::ops::Deref;

use super::OpCode;
use crate::engine::error::{ErrorKind, ProtocolError};
use crate::engine::event::MessageKind;

/// Longest header: two bytes, eight of length, four of key.
pub const MAX_HEADER_LEN: usize = 14;

/// Longest payload of a control frame (RFC 6455, section 5.5).
pub const MAX_CONTROL_LEN: usize = 125;

/// What state and settings demand of the next header.
pub(in crate::engine) struct Expected {
    pub(in crate::engine) masked: bool,
    /// A message is under way, which a data frame must continue.
    pub(in crate::engine) continuation: bool,
    /// RSV1 has a meaning (RFC 7692, section 6).
    pub(in crate::engine) compression: bool,
    /// Most payload bytes of a data frame.
    pub(in crate::engine) room: u64,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Header {
    pub(in crate::engine) fin: bool,
    pub(in crate::engine) opcode: OpCode,
    /// RSV1 is set: the message that begins here is compressed.
    pub(in crate::engine) compressed: bool,
    /// Zero when the frame is not masked, which leaves the payload as it is.
    pub(in crate::engine) key: [u8; 4],
    pub(in crate::engine) size: usize,
    pub(in crate::engine) payload_len: u64,
}

pub(in crate::engine) fn is_compressed(first: u8) -> bool {
    first & RSV1 != 0
}

impl Header {
    /// `None` if `bytes` end before the header does.
    ///
    /// A rule is checked as soon as its bytes are there, in the order of ws: the first two bytes,
    /// then the length; only then is the key waited for.
    #[inline(always)]
    pub(in crate::engine) fn decode(
        bytes: &[u8],
        expected: &Expected,
    ) -> Result<Option<Self>, ProtocolError> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let opcode = check_first_two(*first, *second, expected)?;

        let (payload_len, rest) = match second & LENGTH {
            LENGTH_16 => {
                let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
                (u64::from(u16::from_be_bytes(*len)), rest)
            }
            LENGTH_64 => {
                let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
                (u64::from_be_bytes(*len), rest)
            }
            len => (u64::from(len), rest),
        };
        if payload_len > MAX_SAFE_INTEGER {
            return Err(ErrorKind::UnsupportedDataPayloadLength.into());
        }
        if payload_len > expected.room && !opcode.is_control() {
            return Err(ErrorKind::UnsupportedMessageLength.into());
        }

        let (key, rest) = if expected.masked {
            let Some((key, rest)) = rest.split_first_chunk() else { return Ok(None) };
            (*key, rest)
        } else {
            ([0; 4], rest)
        };
        let size = bytes.len() - rest.len();
        let (fin, compressed) = (first & FIN != 0, first & RSV1 != 0);
        Ok(Some(Self { fin, opcode, compressed, key, size, payload_len }))
    }

    /// The fewest bytes that a masked frame lacks; `bytes` are its beginning, up to its payload at
    /// most.
    pub(in crate::engine) fn missing(bytes: &[u8]) -> u64 {
        const KEY: u64 = 4;
        let [_, second, rest @ ..] = bytes else { return 2 + KEY - bytes.len() as u64 };
        let (extended, payload) = match second & LENGTH {
            LENGTH_16 => (2, rest.first_chunk().map(|len| u16::from_be_bytes(*len).into())),
            LENGTH_64 => (8, rest.first_chunk().map(|len| u64::from_be_bytes(*len))),
            len => (0, Some(len.into())),
        };
        let header = 2 + extended + KEY;
        header.saturating_add(payload.unwrap_or(0)).saturating_sub(bytes.len() as u64).max(1)
    }

    #[inline]
    pub(in crate::engine) fn whole_message(&self) -> Option<MessageKind> {
        if self.fin && !self.compressed { self.opcode.message_kind() } else { None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedHeader {
    bytes: [u8; MAX_HEADER_LEN],
    /// Invariant: 2 <= len <= MAX_HEADER_LEN.
    len: u8,
}

impl EncodedHeader {
    /// The shortest header for `len` bytes of payload, as RFC 6455 demands (section 5.2).
    #[inline(always)]
    pub(in crate::engine) fn encode(
        opcode: OpCode,
        (fin, compressed): (bool, bool),
        len: usize,
        mask: Option<[u8; 4]>,
    ) -> Self {
        let mut header = Self { bytes: [0; MAX_HEADER_LEN], len: 0 };
        let masked = if mask.is_some() { MASK } else { 0 };
        let first = opcode as u8 | if fin { FIN } else { 0 } | if compressed { RSV1 } else { 0 };
        match len {
            0..=125 => header.put([first, masked | len as u8]),
            126..=0xffff => {
                header.put([first, masked | LENGTH_16]);
                header.put((len as u16).to_be_bytes());
            }
            _ => {
                header.put([first, masked | LENGTH_64]);
                header.put((len as u64).to_be_bytes());
            }
        }
        if let Some(key) = mask {
            header.put(key);
        }
        header
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let start = usize::from(self.len);
        if let Some(to) = self.bytes.get_mut(start..start + N) {
            to.copy_from_slice(&bytes);
            self.len += N as u8;
        }
    }
}

impl Deref for EncodedHeader {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Bytes of a frame: the payload and the shortest header, with a key if `masked`.
pub fn wire_len(payload: usize, masked: bool) -> usize {
    let key = masked.then_some([0; 4]);
    payload.saturating_add(EncodedHeader::encode(OpCode::Binary, (true, false), payload, key).len())
}

/// The rules about the first two bytes, in the order of ws.
#[inline(always)]
fn check_first_two(first: u8, second: u8, expected: &Expected) -> Result<OpCode, ProtocolError> {
    if first & RSV23 != 0 {
        return Err(ErrorKind::UnexpectedRsv23.into());
    }
    // Only the first frame of a message says whether it is compressed (RFC 7692, section 6.1).
    if first & RSV1 != 0 && (!expected.compression || first & OPCODE == 0) {
        return Err(ErrorKind::UnexpectedRsv1.into());
    }
    let opcode = match first & OPCODE {
        0x0 if expected.continuation => OpCode::Continuation,
        0x1 if !expected.continuation => OpCode::Text,
        0x2 if !expected.continuation => OpCode::Binary,
        0x8 => check_control(OpCode::Close, first, second)?,
        0x9 => check_control(OpCode::Ping, first, second)?,
        0xa => check_control(OpCode::Pong, first, second)?,
        opcode => return Err(ProtocolError::with_detail(ErrorKind::InvalidOpcode, opcode.into())),
    };
    match (second & MASK != 0, expected.masked) {
        (false, true) => Err(ErrorKind::ExpectedMask.into()),
        (true, false) => Err(ErrorKind::UnexpectedMask.into()),
        _ => Ok(opcode),
    }
}

#[inline(always)]
fn check_control(opcode: OpCode, first: u8, second: u8) -> Result<OpCode, ProtocolError> {
    if first & FIN == 0 {
        return Err(ErrorKind::ExpectedFin.into());
    }
    if first & RSV1 != 0 {
        return Err(ErrorKind::UnexpectedRsv1.into());
    }
    let len = second & LENGTH;
    if usize::from(len) > MAX_CONTROL_LEN || (opcode == OpCode::Close && len == 1) {
        return Err(ProtocolError::with_detail(ErrorKind::InvalidControlPayloadLength, len.into()));
    }
    Ok(opcode)
}

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV23: u8 = 0x30;
const OPCODE: u8 = 0x0f;
const MASK: u8 = 0x80;
const LENGTH: u8 = 0x7f;
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;
/// The largest length that a JavaScript number holds exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
