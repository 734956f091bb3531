//! RFC 6455 as a state machine: bytes in, events and bytes out.
//!
//! This layer opens no socket, reads no clock and starts no thread.
//!
//! ```text
//!   input -> Engine::poll -> frame::Header::decode -> mask::unmask -> utf8, message -> Event
//!   FrameKind, length -> Engine::encode -> frame::EncodedHeader
//! ```

#![deny(unsafe_code)]

pub mod config;
pub mod error;
pub mod event;
pub mod frame;
pub mod handshake;
pub mod mask;

mod message;
mod utf8;

#[cfg(test)]
mod tests;

pub use config::{Config, Role};
pub use error::{ErrorClass, ErrorKind, ErrorRow, ProtocolError};
pub use event::{Event, MessageKind, Payload};
pub use frame::{CloseCode, EncodedHeader, FrameKind};

use std::ops::Range;

use frame::{Expected, Header, MAX_HEADER_LEN, OpCode};
use message::Message;

/// The protocol state of one connection after its handshake, for both directions.
///
/// In: give every input to [`poll`](Self::poll) until it returns `None`. Out: ask [`encode`](Self::encode) for the
/// header of each frame. An engine between messages owns no heap.
#[derive(Debug)]
pub struct Engine {
    stage: Stage,
    message: Message,
    /// The body of a control frame that is coming in.
    control: Vec<u8>,
    /// A header of which no payload byte has come: the first `header_len` bytes.
    header: [u8; MAX_HEADER_LEN],
    /// Invariant: <= MAX_HEADER_LEN, and 0 while a payload is coming in.
    header_len: u8,
    close_sent: bool,
    /// Whether the last data frame that was encoded left its message unfinished.
    sending_message: bool,
}

/// What the next byte of input is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Of a header.
    Header,
    /// Of this frame's payload.
    Payload(Unfinished),
    /// Of no interest: a close frame came.
    Closed,
    /// Of no interest: the peer broke a rule.
    Failed,
}

/// A frame whose payload has not all come in.
#[derive(Clone, Copy, Debug)]
struct Unfinished {
    fin: bool,
    opcode: OpCode,
    /// Rotated, so that it begins at the next byte.
    key: [u8; 4],
    /// Invariant: > 0 between inputs.
    remaining: u64,
}

/// What a step of parsing yields: perhaps an event, unless a rule is broken.
type Step = Result<Option<Event>, ProtocolError>;

impl Engine {
    /// The engine of a connection whose handshake is done.
    pub fn new() -> Self {
        Self {
            stage: Stage::Header,
            message: Message::default(),
            control: Vec::new(),
            header: [0; MAX_HEADER_LEN],
            header_len: 0,
            close_sent: false,
            sending_message: false,
        }
    }

    /// Parses `input[*pos..]`, unmasking in place, until one event is complete, and moves `pos` behind it.
    ///
    /// `None` means that the input is used up (`*pos == input.len()`): what it holds of an unfinished frame has been
    /// copied. Call again until then before giving the next input. Which events come, and in which order, does not
    /// depend on how the stream is cut into inputs; only where their payload is does.
    ///
    /// After [`Event::Close`] and [`Event::Error`] all input is swallowed.
    #[inline]
    pub fn poll(&mut self, config: &Config, input: &mut [u8], pos: &mut usize) -> Option<Event> {
        while *pos < input.len() {
            let step = match self.stage {
                Stage::Header => {
                    let begin = *pos;
                    let header = match self.take_header(config, input, pos) {
                        Ok(Some(header)) => header,
                        Ok(None) => return None,
                        Err(error) => return Some(self.fail(error, input, pos)),
                    };
                    let Some(payload) = Whole::new(&header, begin, *pos, input) else {
                        self.begin_frame(&header);
                        continue;
                    };
                    *pos = payload.range.end;
                    // Most frames are whole messages. Their event is made here, where it need not be moved.
                    match header.whole_message() {
                        Some(kind) if payload.is_valid(kind, config, input) => {
                            return Some(Event::Message { kind, payload: payload.into() });
                        }
                        Some(_) => Err(ErrorKind::InvalidUtf8.into()),
                        None => self.whole_frame(config, &header, payload, input),
                    }
                }
                Stage::Payload(frame) => self.continue_frame(config, frame, input, pos),
                Stage::Closed | Stage::Failed => break,
            };
            match step {
                Ok(None) => {}
                Ok(event) => return event,
                Err(error) => return Some(self.fail(error, input, pos)),
            }
        }
        *pos = input.len();
        None
    }

    /// The header of the next frame to send, with `len` bytes of payload; a client gives the key in `mask`.
    ///
    /// Data frames follow `fin` as the send of ws does: after one without it, the next is a continuation frame, whatever
    /// its kind. Control frames are never fragmented and may come in between (RFC 6455, section 5.4), so `fin` does not
    /// matter to them. The length of a control frame and the body of a close frame are the caller's to check.
    pub fn encode(&mut self, kind: FrameKind, fin: bool, len: usize, mask: Option<[u8; 4]>) -> EncodedHeader {
        let opcode = match kind {
            FrameKind::Text | FrameKind::Binary if self.sending_message => OpCode::Continuation,
            FrameKind::Text => OpCode::Text,
            FrameKind::Binary => OpCode::Binary,
            FrameKind::Ping => OpCode::Ping,
            FrameKind::Pong => OpCode::Pong,
            FrameKind::Close => OpCode::Close,
        };
        if !opcode.is_control() {
            self.sending_message = !fin;
        }
        self.close_sent |= opcode == OpCode::Close;
        EncodedHeader::encode(opcode, fin || opcode.is_control(), len, mask)
    }

    /// Whether the header of a close frame has been encoded.
    pub fn close_sent(&self) -> bool {
        self.close_sent
    }

    /// Whether [`Event::Close`] has been returned.
    pub fn close_received(&self) -> bool {
        matches!(self.stage, Stage::Closed)
    }

    /// Whether [`Event::Error`] has been returned.
    pub fn failed(&self) -> bool {
        matches!(self.stage, Stage::Failed)
    }

    /// Bytes of heap that unfinished frames and messages occupy: at most about twice what came in of them.
    pub fn buffered(&self) -> usize {
        self.message.buffered() + self.control.capacity()
    }

    /// Consumes a header. `None` if the input ends before the header does, or before the first byte of its payload:
    /// then it is kept as bytes, so that a payload that is all in the next input is still served from there.
    #[inline(always)]
    fn take_header(
        &mut self,
        config: &Config,
        input: &[u8],
        pos: &mut usize,
    ) -> Result<Option<Header>, ProtocolError> {
        let rest = input.get(*pos..).unwrap_or_default();
        let expected = Expected {
            masked: config.role == Role::Server,
            continuation: self.message.is_under_way(),
            room: self.message.room(config),
        };
        if self.header_len > 0 {
            return self.take_split_header(&expected, rest, pos);
        }
        if let Some(header) = Header::decode(rest, &expected)?
            && (header.size < rest.len() || header.payload_len == 0)
        {
            *pos += header.size;
            return Ok(Some(header));
        }
        self.keep_header(rest);
        *pos += rest.len();
        Ok(None)
    }

    /// As `take_header`, for a header that began in an earlier input.
    #[cold]
    fn take_split_header(
        &mut self,
        expected: &Expected,
        rest: &[u8],
        pos: &mut usize,
    ) -> Result<Option<Header>, ProtocolError> {
        let kept = usize::from(self.header_len);
        self.keep_header(rest);
        let bytes = self.header.get(..usize::from(self.header_len)).unwrap_or_default();
        if let Some(header) = Header::decode(bytes, expected)? {
            let used = header.size.saturating_sub(kept);
            if used < rest.len() || header.payload_len == 0 {
                self.header_len = 0;
                *pos += used;
                return Ok(Some(header));
            }
        }
        *pos += rest.len();
        Ok(None)
    }

    /// Appends as much of `bytes` to the kept header as a header can have.
    #[cold]
    fn keep_header(&mut self, bytes: &[u8]) {
        let free = self.header.get_mut(usize::from(self.header_len)..).unwrap_or_default();
        let len = free.len().min(bytes.len());
        for (to, byte) in free.iter_mut().zip(bytes) {
            *to = *byte;
        }
        self.header_len += len as u8;
    }

    /// A control frame or a fragment is all in the input.
    fn whole_frame(&mut self, config: &Config, header: &Header, payload: Whole, input: &[u8]) -> Step {
        let bytes = input.get(payload.range.clone()).unwrap_or_default();
        match header.opcode {
            OpCode::Continuation | OpCode::Text | OpCode::Binary => {
                self.message.begin_frame(header);
                self.message.append(config, bytes, header.fin, 0)?;
                self.message.end_frame(config, header.fin)
            }
            OpCode::Ping => Ok(Some(Event::Ping(payload.into()))),
            OpCode::Pong => Ok(Some(Event::Pong(payload.into()))),
            OpCode::Close => {
                let code = self.close(config, bytes)?;
                let reason = if code.is_some() { payload.skip(frame::CODE_LEN) } else { payload };
                Ok(Some(Event::Close { code, reason: reason.into() }))
            }
        }
    }

    /// A frame begins whose payload is not all in this input.
    fn begin_frame(&mut self, header: &Header) {
        if !header.opcode.is_control() {
            self.message.begin_frame(header);
        }
        let Header { fin, opcode, key, payload_len, .. } = *header;
        self.stage = Stage::Payload(Unfinished { fin, opcode, key, remaining: payload_len });
    }

    /// Takes what the input has of an unfinished frame.
    fn continue_frame(
        &mut self,
        config: &Config,
        mut frame: Unfinished,
        input: &mut [u8],
        pos: &mut usize,
    ) -> Step {
        let rest = input.get_mut(*pos..).unwrap_or_default();
        let len = usize::try_from(frame.remaining).map_or(rest.len(), |remaining| remaining.min(rest.len()));
        let (bytes, _) = rest.split_at_mut(len);
        *pos += len;

        mask::unmask(frame.key, 0, bytes);
        frame.key.rotate_left(len % 4);
        frame.remaining -= len as u64;
        if frame.opcode.is_control() {
            self.control.extend_from_slice(bytes);
        } else {
            self.message.append(config, bytes, frame.fin, frame.remaining)?;
        }

        if frame.remaining > 0 {
            self.stage = Stage::Payload(frame);
            return Ok(None);
        }
        self.stage = Stage::Header;
        let body = std::mem::take(&mut self.control);
        match frame.opcode {
            OpCode::Continuation | OpCode::Text | OpCode::Binary => self.message.end_frame(config, frame.fin),
            OpCode::Ping => Ok(Some(Event::Ping(Payload::Owned(body)))),
            OpCode::Pong => Ok(Some(Event::Pong(Payload::Owned(body)))),
            OpCode::Close => {
                let code = self.close(config, &body)?;
                let mut reason = body;
                reason.drain(..frame::CODE_LEN.min(reason.len()));
                Ok(Some(Event::Close { code, reason: Payload::Owned(reason) }))
            }
        }
    }

    /// The body of a close frame is complete.
    fn close(&mut self, config: &Config, body: &[u8]) -> Result<Option<CloseCode>, ProtocolError> {
        let code = frame::decode_code(body)?;
        let reason = body.get(frame::CODE_LEN..).unwrap_or_default();
        if !config.skip_utf8_validation && !utf8::is_valid(reason) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        self.stage = Stage::Closed;
        self.message = Message::default();
        Ok(code)
    }

    #[cold]
    fn fail(&mut self, error: ProtocolError, input: &[u8], pos: &mut usize) -> Event {
        *pos = input.len();
        self.stage = Stage::Failed;
        self.message = Message::default();
        self.control = Vec::new();
        Event::Error(error)
    }
}

/// The payload of a frame that is all in the input, unmasked.
struct Whole {
    range: Range<usize>,
    headroom: usize,
}

impl Whole {
    /// The payload that begins at `start`; `None` if the input ends before it does. The part of the header that is in
    /// the input begins at `begin`.
    #[inline(always)]
    fn new(header: &Header, begin: usize, start: usize, input: &mut [u8]) -> Option<Self> {
        let end = start.checked_add(usize::try_from(header.payload_len).ok()?)?;
        mask::unmask(header.key, 0, input.get_mut(start..end)?);
        let headroom = if start - begin == header.size { header.size } else { 0 };
        Some(Self { range: start..end, headroom })
    }

    #[inline(always)]
    fn is_valid(&self, kind: MessageKind, config: &Config, input: &[u8]) -> bool {
        kind == MessageKind::Binary
            || config.skip_utf8_validation
            || input.get(self.range.clone()).is_some_and(utf8::is_valid)
    }

    /// The payload without its first bytes, which are headroom then.
    fn skip(self, len: usize) -> Self {
        let headroom = if self.headroom > 0 { self.headroom + len } else { 0 };
        Self { range: self.range.start + len..self.range.end, headroom }
    }
}

impl From<Whole> for Payload {
    #[inline(always)]
    fn from(Whole { range, headroom }: Whole) -> Self {
        Self::Input { range, headroom }
    }
}
