//! As much of HTTP/3 (RFC 9114) as a request on a stream needs.

use std::borrow::Cow;
use std::error::Error;

use quinn::VarInt;
use wtransport_proto::frame::Frame;
use wtransport_proto::headers::Headers;
use wtransport_proto::settings::Settings;

/// What ends a stream or a connection.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Error codes (RFC 9114, 8.1).
pub(crate) const NO_ERROR: VarInt = VarInt::from_u32(0x100);
pub(crate) const GENERAL_PROTOCOL_ERROR: VarInt = VarInt::from_u32(0x101);

/// Types of frames (RFC 9114, 7.2).
const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;

/// The type of the control stream (RFC 9114, 6.2.1).
const CONTROL: u8 = 0x0;

/// Most bytes of a head.
const LONGEST_HEAD: usize = 16 << 10;

/// Most bytes of the head of a frame: two integers.
const LONGEST_FRAME_HEAD: usize = 16;

/// The first bytes of the control stream: clients may ask for WebSockets (RFC 9220, 3).
pub(crate) fn settings() -> Vec<u8> {
    let settings = Settings::builder().enable_connect_protocol().build();
    let mut out = vec![CONTROL];
    // Only a full buffer is an error.
    let _written = settings.generate_frame().write(&mut out);
    out
}

/// HEADERS with this status.
pub(crate) fn answer(status: u16) -> Vec<u8> {
    let headers: Headers = [(":status", status.to_string())].into_iter().collect();
    let mut out = Vec::new();
    let _written = headers.generate_frame().write(&mut out);
    out
}

/// A DATA frame.
pub(crate) fn data(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(LONGEST_FRAME_HEAD + payload.len());
    let _written = Frame::new_data(Cow::Borrowed(payload)).write(&mut out);
    out
}

/// The frames of a request's stream, in the pieces that come.
#[derive(Default)]
pub(crate) struct Frames {
    /// Bytes of an unfinished head.
    kept: Vec<u8>,
    /// Of the current frame.
    kind: u64,
    left: u64,
}

impl Frames {
    /// The fields of the request, and what follows them; `None` until they are complete.
    pub(crate) fn headers(&mut self, bytes: &[u8]) -> Result<Option<(Headers, Vec<u8>)>, Failure> {
        self.kept.extend_from_slice(bytes);
        let Some((kind, length, head)) = frame_head(&self.kept) else { return Ok(None) };
        let end = usize::try_from(length)?.saturating_add(head);
        if kind != HEADERS || end > LONGEST_HEAD {
            return Err("no HEADERS, or too many".into());
        }
        let Some(block) = self.kept.get(head..end) else { return Ok(None) };
        let headers = Headers::with_frame(&Frame::new_headers(Cow::Borrowed(block)))
            .map_err(|_| "fields cannot be decoded")?;
        let rest = self.kept.split_off(end);
        self.kept.clear();
        Ok(Some((headers, rest)))
    }

    /// Gives the payload of DATA to `take`, which returns false when it wants no more. Other frames are passed over.
    pub(crate) fn data(
        &mut self,
        bytes: &mut Vec<u8>,
        mut take: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, Failure> {
        let mut input = std::mem::take(bytes);
        if self.left == 0 && !self.kept.is_empty() {
            self.kept.append(&mut input);
            input = std::mem::take(&mut self.kept);
        }
        let mut pos = 0;
        while pos < input.len() {
            if self.left == 0 {
                let rest = input.get(pos..).unwrap_or_default();
                let Some((kind, length, head)) = frame_head(rest) else {
                    self.kept = rest.to_vec();
                    break;
                };
                (self.kind, self.left) = (kind, length);
                pos += head;
                continue;
            }
            let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len() - pos);
            let payload = input.get_mut(pos..pos + length).unwrap_or_default();
            if self.kind == DATA && !take(payload) {
                return Ok(false);
            }
            self.left -= length as u64;
            pos += length;
        }
        Ok(true)
    }
}

/// Type, length, and bytes of the head of a frame, if it is complete.
fn frame_head(bytes: &[u8]) -> Option<(u64, u64, usize)> {
    let (kind, first) = integer(bytes)?;
    let (length, second) = integer(bytes.get(first..)?)?;
    Some((kind, length, first + second))
}

/// A variable-length integer and its bytes (RFC 9000, 16).
fn integer(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1_usize << (first >> 6);
    let rest = bytes.get(1..length)?;
    let start = u64::from(first & 0x3f);
    Some((rest.iter().fold(start, |value, &byte| value << 8 | u64::from(byte)), length))
}
