//! The steps of parsing: a header, a frame that is all in the input, a frame that is not.

use std::ops::Range;

use super::frame::{self, Expected, Header, MAX_CONTROL_LEN, MAX_HEADER_LEN, OpCode};
use super::message::Message;
use super::{
    CloseCode, Config, Engine, ErrorKind, Event, MessageKind, PartialFrame, Payload, ProtocolError, Role,
    Stage, mask, utf8,
};

pub(super) type Step = Result<Option<Event>, ProtocolError>;

impl Engine {
    /// `None` if the input ends before the header does, or before the first byte of its payload:
    /// then the header is kept as bytes, so that a payload that is all in the next input is still
    /// served from there.
    #[inline(always)]
    pub(super) fn take_header(
        &mut self,
        config: &Config,
        input: &[u8],
        pos: &mut usize,
    ) -> Result<Option<Header>, ProtocolError> {
        let rest = input.get(*pos..).unwrap_or_default();
        let expected = Expected {
            masked: config.role == Role::Server,
            continuation: self.message.is_under_way(),
            compression: self.extension.is_some(),
            room: self.message.room(config),
        };
        // One call for both: a header from two places in the code is moved through memory.
        let before = self.kept.as_ref().map_or(0, |kept| kept.bytes().len());
        let bytes = self.kept.as_deref_mut().map_or(rest, |kept| kept.push(rest, MAX_HEADER_LEN));
        if let Some(header) = Header::decode(bytes, &expected)? {
            let used = header.size.saturating_sub(before);
            if used < rest.len() || header.payload_len == 0 {
                *pos += used;
                if before > 0 {
                    self.kept = None;
                }
                return Ok(Some(header));
            }
        }
        if before == 0 {
            self.keep_header(rest);
        }
        *pos += rest.len();
        Ok(None)
    }

    #[cold]
    fn keep_header(&mut self, bytes: &[u8]) {
        self.kept.get_or_insert_default().push(bytes, MAX_HEADER_LEN);
    }

    /// A control frame or a fragment that is all in the input.
    #[inline(never)]
    pub(super) fn whole_frame(
        &mut self,
        config: &Config,
        header: &Header,
        payload: Range<usize>,
        input: &[u8],
    ) -> Step {
        let bytes = input.get(payload.clone()).unwrap_or_default();
        match header.opcode {
            OpCode::Continuation | OpCode::Text | OpCode::Binary => {
                self.message.begin_frame(header);
                self.message.append(config, self.extension.as_deref_mut(), bytes, header.fin, 0)?;
                self.message.end_frame(config, header.fin, &mut self.small_fragments)
            }
            control => self.control(config, control, Payload::Input(payload), input),
        }
    }

    /// A frame whose payload is not all in this input. Not inlined, so that the loop over whole
    /// messages fits registers.
    #[inline(never)]
    pub(super) fn begin_frame(&mut self, header: &Header) {
        if !header.opcode.is_control() {
            self.message.begin_frame(header);
        }
        let Header { fin, opcode, key, payload_len, .. } = *header;
        self.stage = Stage::Payload(PartialFrame { fin, opcode, key, remaining: payload_len });
    }

    /// Takes the bytes that the input has of an unfinished frame.
    #[inline(never)]
    pub(super) fn continue_frame(
        &mut self,
        config: &Config,
        mut frame: PartialFrame,
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
            self.kept.get_or_insert_default().push(bytes, usize::MAX);
        } else {
            let extension = self.extension.as_deref_mut();
            self.message.append(config, extension, bytes, frame.fin, frame.remaining)?;
        }

        if frame.remaining > 0 {
            self.stage = Stage::Payload(frame);
            return Ok(None);
        }
        self.stage = Stage::Header;
        let body = self.kept.take().map_or_else(Vec::new, |kept| kept.bytes().to_vec());
        match frame.opcode {
            OpCode::Continuation | OpCode::Text | OpCode::Binary => {
                self.message.end_frame(config, frame.fin, &mut self.small_fragments)
            }
            control => self.control(config, control, Payload::Owned(body), &[]),
        }
    }

    /// A complete control frame.
    fn control(&mut self, config: &Config, opcode: OpCode, payload: Payload, input: &[u8]) -> Step {
        Ok(Some(match opcode {
            OpCode::Ping => Event::Ping(payload),
            OpCode::Pong => Event::Pong(payload),
            _ => Event::Close {
                code: self.close(config, payload.bytes(input))?,
                reason: payload.after(frame::CODE_LEN),
            },
        }))
    }

    /// The status code of a complete close frame.
    fn close(&mut self, config: &Config, body: &[u8]) -> Result<Option<CloseCode>, ProtocolError> {
        let code = frame::decode_code(body)?;
        let reason = body.get(frame::CODE_LEN..).unwrap_or_default();
        if !config.skip_utf8_validation && !utf8::is_valid(reason) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        self.stage = Stage::Closed;
        self.end_incoming();
        Ok(code)
    }

    #[cold]
    pub(super) fn fail(&mut self, error: ProtocolError, input: &[u8], pos: &mut usize) -> Event {
        *pos = input.len();
        Event::Error(self.refuse(error))
    }

    /// Takes in nothing more, for a reason that may lie outside of the input: an unfinished message
    /// is freed, later input is swallowed.
    pub fn refuse(&mut self, reason: impl Into<ProtocolError>) -> ProtocolError {
        let error = reason.into();
        self.stage = Stage::Failed(error.kind);
        self.end_incoming();
        self.kept = None;
        error
    }

    /// Frees the state that only a further frame could need.
    fn end_incoming(&mut self) {
        self.message = Message::default();
        if let Some(extension) = &mut self.extension {
            extension.end_incoming();
        }
    }
}

/// The range of the payload, which begins at `start`, once it is unmasked. `None` if the input ends
/// before it does.
#[inline(always)]
pub(super) fn whole_payload(header: &Header, start: usize, input: &mut [u8]) -> Option<Range<usize>> {
    let end = start.checked_add(usize::try_from(header.payload_len).ok()?)?;
    mask::unmask(header.key, 0, input.get_mut(start..end)?);
    Some(start..end)
}

#[inline(always)]
pub(super) fn is_valid(kind: MessageKind, config: &Config, payload: &[u8]) -> bool {
    kind == MessageKind::Binary || config.skip_utf8_validation || utf8::is_valid(payload)
}

/// The beginning of a header, or of the body of a control frame (RFC 6455, section 5.5). Boxed, as
/// few of them are cut in two and every connection has a place for one.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: [u8; Self::CAPACITY],
    /// Invariant: <= CAPACITY.
    len: u8,
}

impl Kept {
    const CAPACITY: usize = MAX_CONTROL_LEN;

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Keeps `bytes`, up to a total of `limit`, and returns all bytes kept.
    #[cold]
    pub(super) fn push(&mut self, bytes: &[u8], limit: usize) -> &[u8] {
        let free = self.bytes.get_mut(usize::from(self.len)..limit.min(Self::CAPACITY)).unwrap_or_default();
        let len = free.len().min(bytes.len());
        for (to, byte) in free.iter_mut().zip(bytes) {
            *to = *byte;
        }
        self.len += len as u8;
        self.bytes()
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }
}
