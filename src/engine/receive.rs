//! The steps of parsing: a header, a whole frame, a part of a frame.

use std::ops::Range;

use super::frame::{self, Expected, Header, MAX_HEADER_LEN, OpCode};
use super::{
    CloseCode, Config, Engine, ErrorKind, Event, PartialFrame, Payload, ProtocolError, Role, Stage, mask,
    utf8,
};

pub(super) type Step = Result<Option<Event>, ProtocolError>;

impl Engine {
    /// `None` if the input ends before the header does, or before the payload's first byte. The
    /// header is then kept as bytes, so a payload that is all in the next input is still served
    /// from there.
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
            continuation: self.message.is_some(),
            compression: self.extension.is_some(),
            room: config.longest_message().saturating_sub(self.declared()),
        };
        // One call for both: a header from two places in the code is moved through memory.
        let before = self.kept.as_ref().map_or(0, |kept| kept.0.len());
        let bytes = self.kept.as_mut().map_or(rest, |kept| kept.push(rest));
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
        self.kept.get_or_insert_default().push(bytes);
    }

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
                self.begin_data(header);
                self.take_data(config, bytes, header.fin, 0)
            }
            control => self.control(config, control, Payload::Input(payload), input),
        }
    }

    /// A frame with a payload that is not all in this input. Not inlined, so that the loop over whole
    /// messages fits registers.
    #[inline(never)]
    pub(super) fn begin_frame(&mut self, header: &Header) {
        if !header.opcode.is_control() {
            self.begin_data(header);
        }
        let Header { fin, opcode, key, payload_len, .. } = *header;
        self.stage = Stage::Payload(PartialFrame { fin, opcode, key, remaining: payload_len });
    }

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
        self.stage = if frame.remaining > 0 { Stage::Payload(frame) } else { Stage::Header };
        if !frame.opcode.is_control() {
            return self.take_data(config, bytes, frame.fin, frame.remaining);
        }
        self.kept.get_or_insert_default().0.extend_from_slice(bytes);
        if frame.remaining > 0 {
            return Ok(None);
        }
        let body = self.kept.take().unwrap_or_default().0;
        self.control(config, frame.opcode, Payload::Owned(body), &[])
    }

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

    /// Takes in nothing more, for a reason that can lie outside the input: frees an unfinished
    /// message and ignores later input.
    pub fn refuse(&mut self, reason: impl Into<ProtocolError>) -> ProtocolError {
        let error = reason.into();
        self.stage = Stage::Failed(error.kind);
        self.end_incoming();
        self.kept = None;
        error
    }

    /// Frees the state that only another frame could need.
    fn end_incoming(&mut self) {
        self.message = None;
        if let Some(extension) = &mut self.extension {
            extension.end_incoming();
        }
    }
}

/// The beginning of a header, or of the body of a control frame (RFC 6455, section 5.5). Boxed: few
/// are cut in two, and every connection has a place for one.
#[derive(Debug, Default)]
pub(super) struct Kept(pub(super) Vec<u8>);

impl Kept {
    /// Keeps more bytes of a header, up to [`MAX_HEADER_LEN`] in all, and returns all of them.
    #[cold]
    fn push(&mut self, bytes: &[u8]) -> &[u8] {
        self.0.extend(bytes.iter().take(MAX_HEADER_LEN.saturating_sub(self.0.len())));
        &self.0
    }
}
