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

use frame::{Expected, Header, MAX_HEADER_LEN, OpCode};
use message::Message;

/// The protocol state of one connection after its handshake, for both directions.
///
/// In: give every input to [`poll`](Self::poll) until it returns `None`. Out: ask [`encode`](Self::encode) for the
/// header of each frame. An engine between messages owns no heap.
#[derive(Debug)]
pub struct Engine {
    message: Message,
    /// The frame whose payload is coming in. Its header has been consumed, and at least one byte of payload.
    frame: Option<Unfinished>,
    /// The body of the control frame that is `frame`.
    control: Vec<u8>,
    /// A header of which no payload byte has come: the first `header_len` bytes.
    header: [u8; MAX_HEADER_LEN],
    /// Invariant: <= MAX_HEADER_LEN, and 0 while `frame` is there.
    header_len: u8,
    receiving: Receiving,
    close_sent: bool,
    /// Whether the last data frame that was encoded left its message unfinished.
    sending_message: bool,
}

impl Engine {
    /// The engine of a connection whose handshake is done.
    pub fn new() -> Self {
        Self {
            message: Message::default(),
            frame: None,
            control: Vec::new(),
            header: [0; MAX_HEADER_LEN],
            header_len: 0,
            receiving: Receiving::Frames,
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
        if self.receiving != Receiving::Frames || *pos >= input.len() {
            *pos = input.len();
            return None;
        }
        match self.next_event(config, input, pos) {
            Ok(event) => event,
            Err(error) => {
                *pos = input.len();
                Some(self.fail(error))
            }
        }
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
        self.receiving == Receiving::Closed
    }

    /// Whether [`Event::Error`] has been returned.
    pub fn failed(&self) -> bool {
        self.receiving == Receiving::Failed
    }

    /// Bytes of heap that unfinished frames and messages occupy: never more than twice what came in of them.
    pub fn buffered(&self) -> usize {
        self.message.buffered() + self.control.capacity()
    }

    fn next_event(
        &mut self,
        config: &Config,
        input: &mut [u8],
        pos: &mut usize,
    ) -> Result<Option<Event>, ProtocolError> {
        loop {
            let event = if let Some(frame) = self.frame.take() {
                self.continue_frame(config, frame, input, pos)?
            } else {
                let begin = *pos;
                let Some(header) = self.take_header(config, input, pos)? else { return Ok(None) };
                self.begin_frame(config, header, input, begin, pos)?
            };
            if event.is_some() || *pos >= input.len() {
                return Ok(event);
            }
        }
    }

    /// Consumes a header. `None` if the input ends before the header does, or before the first byte of its payload:
    /// then it is kept as bytes, so that a payload that is all in the next input is still served from there.
    #[inline]
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
    fn keep_header(&mut self, bytes: &[u8]) {
        let free = self.header.get_mut(usize::from(self.header_len)..).unwrap_or_default();
        let len = free.len().min(bytes.len());
        for (to, byte) in free.iter_mut().zip(bytes) {
            *to = *byte;
        }
        self.header_len += len as u8;
    }

    /// The payload of a frame begins at `pos`; its header, or the end of it, at `begin`.
    #[inline]
    fn begin_frame(
        &mut self,
        config: &Config,
        header: Header,
        input: &mut [u8],
        begin: usize,
        pos: &mut usize,
    ) -> Result<Option<Event>, ProtocolError> {
        let start = *pos;
        let end = usize::try_from(header.payload_len).ok().and_then(|len| start.checked_add(len));
        let Some((end, payload)) = end.and_then(|end| Some((end, input.get_mut(start..end)?))) else {
            return self.begin_unfinished(config, header, input, pos);
        };
        *pos = end;
        mask::unmask(header.key, 0, payload);

        let header_len = start - begin;
        let headroom = if header_len == header.size { header_len } else { 0 };
        match (header.opcode, header.fin) {
            (OpCode::Text, true) => {
                if !config.skip_utf8_validation && !utf8::is_valid(payload) {
                    return Err(ErrorKind::InvalidUtf8.into());
                }
                let payload = Payload::Input { range: start..end, headroom };
                Ok(Some(Event::Message { kind: MessageKind::Text, payload }))
            }
            (OpCode::Binary, true) => {
                let payload = Payload::Input { range: start..end, headroom };
                Ok(Some(Event::Message { kind: MessageKind::Binary, payload }))
            }
            (OpCode::Continuation | OpCode::Text | OpCode::Binary, _) => {
                self.begin_data(&header);
                self.message.append(config, payload, header.fin, 0)?;
                self.end_data(config, header.fin)
            }
            (OpCode::Ping, _) => Ok(Some(Event::Ping(Payload::Input { range: start..end, headroom }))),
            (OpCode::Pong, _) => Ok(Some(Event::Pong(Payload::Input { range: start..end, headroom }))),
            (OpCode::Close, _) => {
                let code = self.close(config, payload)?;
                let skipped = if code.is_some() { frame::CODE_LEN } else { 0 };
                let headroom = if headroom > 0 { headroom + skipped } else { 0 };
                let reason = Payload::Input { range: start + skipped..end, headroom };
                Ok(Some(Event::Close { code, reason }))
            }
        }
    }

    /// A frame begins whose payload is not all in this input.
    fn begin_unfinished(
        &mut self,
        config: &Config,
        header: Header,
        input: &mut [u8],
        pos: &mut usize,
    ) -> Result<Option<Event>, ProtocolError> {
        if !header.opcode.is_control() {
            self.begin_data(&header);
        }
        let Header { fin, opcode, key, payload_len, .. } = header;
        self.continue_frame(config, Unfinished { fin, opcode, key, remaining: payload_len }, input, pos)
    }

    /// Takes what the input has of an unfinished frame.
    fn continue_frame(
        &mut self,
        config: &Config,
        mut frame: Unfinished,
        input: &mut [u8],
        pos: &mut usize,
    ) -> Result<Option<Event>, ProtocolError> {
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
            self.frame = Some(frame);
            return Ok(None);
        }
        let body = std::mem::take(&mut self.control);
        match frame.opcode {
            OpCode::Continuation | OpCode::Text | OpCode::Binary => self.end_data(config, frame.fin),
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

    fn begin_data(&mut self, header: &Header) {
        let kind = match header.opcode {
            OpCode::Text => Some(MessageKind::Text),
            OpCode::Binary => Some(MessageKind::Binary),
            _ => None,
        };
        self.message.begin_frame(kind, header.payload_len);
    }

    fn end_data(&mut self, config: &Config, fin: bool) -> Result<Option<Event>, ProtocolError> {
        let message = self.message.end_frame(config, fin)?;
        Ok(message.map(|(kind, data)| Event::Message { kind, payload: Payload::Owned(data) }))
    }

    /// The body of a close frame is complete.
    fn close(&mut self, config: &Config, body: &[u8]) -> Result<Option<CloseCode>, ProtocolError> {
        let code = frame::decode_code(body)?;
        let reason = body.get(frame::CODE_LEN..).unwrap_or_default();
        if !config.skip_utf8_validation && !utf8::is_valid(reason) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        self.receiving = Receiving::Closed;
        self.message = Message::default();
        Ok(code)
    }

    #[cold]
    fn fail(&mut self, error: ProtocolError) -> Event {
        self.receiving = Receiving::Failed;
        self.message = Message::default();
        self.control = Vec::new();
        self.frame = None;
        Event::Error(error)
    }
}

/// Whether input is still parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Frames,
    Closed,
    Failed,
}

/// A frame whose payload has not all come in.
#[derive(Debug)]
struct Unfinished {
    fin: bool,
    opcode: OpCode,
    /// Rotated, so that it begins at the next byte.
    key: [u8; 4],
    /// Invariant: > 0 between inputs.
    remaining: u64,
}
