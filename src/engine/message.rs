//! Fragments to one message (RFC 6455, section 5.4), and its limits.

use std::ops::Range;

use super::Config;
use super::deflate::{Extension, Incomplete};
use super::error::{ErrorKind, ProtocolError};
use super::event::{Event, MessageKind, Payload};
use super::frame::Header;
use super::utf8::Validator;

/// The data message under way, if any; one that is a single frame within one input never gets here.
///
/// Boxed: between messages a connection has the pointer only.
#[derive(Debug, Default)]
pub(in crate::engine) struct Message(Option<Box<PartialMessage>>);

/// The complete frames, and the bytes so far of the next one.
#[derive(Debug)]
struct PartialMessage {
    /// Invariant: capacity <= 2 * len, or the declared end of the last frame if that is less.
    data: Vec<u8>,
    /// Sum of the declared lengths of its frames. Invariant: <= `Config::longest_message`.
    declared: u64,
    fragments: u32,
    kind: MessageKind,
    compressed: bool,
    utf8: Validator,
}

impl Message {
    /// Whether the next data frame has to be a continuation.
    #[inline]
    pub(in crate::engine) fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    pub(in crate::engine) fn is_compressed(&self) -> bool {
        self.0.as_ref().is_some_and(|unfinished| unfinished.compressed)
    }

    /// Most bytes of a data frame that begins now.
    #[inline]
    pub(in crate::engine) fn room(&self, config: &Config) -> u64 {
        config.longest_message().saturating_sub(self.declared())
    }

    /// Sum of the declared lengths of its frames.
    pub(in crate::engine) fn declared(&self) -> u64 {
        self.0.as_ref().map_or(0, |unfinished| unfinished.declared)
    }

    /// Complete fragments, beyond one for each KiB.
    pub(in crate::engine) fn small_fragments(&self) -> u64 {
        let small =
            |message: &PartialMessage| u64::from(message.fragments).saturating_sub(message.declared >> 10);
        self.0.as_deref().map_or(0, small)
    }

    pub(in crate::engine) fn begin_frame(&mut self, header: &Header) {
        if let Some(kind) = header.opcode.message_kind() {
            self.0 = Some(Box::new(PartialMessage::new(kind, header.compressed)));
        }
        if let Some(unfinished) = &mut self.0 {
            unfinished.declared = unfinished.declared.saturating_add(header.payload_len);
        }
    }

    /// Takes the next bytes of the frame; `remaining` come after them.
    pub(in crate::engine) fn append(
        &mut self,
        config: &Config,
        extension: Option<&mut Extension>,
        bytes: &[u8],
        fin: bool,
        remaining: u64,
    ) -> Result<(), ProtocolError> {
        // A decoded header is no continuation unless a message is under way.
        let Some(unfinished) = &mut self.0 else { return Ok(()) };
        unfinished.append(config, extension, bytes, fin, remaining)
    }

    /// Reports the bytes at `range` of the input, which were appended; the frame goes on.
    pub(in crate::engine) fn part(&self, config: &Config, range: Range<usize>) -> Option<Event> {
        self.0.as_ref().and_then(|unfinished| unfinished.part(config, range, false))
    }

    /// The frame is complete, with the bytes at `range` of the input. Returns the message, or its
    /// last part, if this was the last frame.
    pub(in crate::engine) fn end_frame(
        &mut self,
        config: &Config,
        fin: bool,
        range: Range<usize>,
    ) -> Result<Option<Event>, ProtocolError> {
        let Some(unfinished) = &mut self.0 else { return Ok(None) };
        unfinished.fragments = unfinished.fragments.saturating_add(1);
        if config.max_fragments > 0 && unfinished.fragments > config.max_fragments {
            return Err(ErrorKind::TooManyFragments.into());
        }
        if !fin {
            return Ok(unfinished.part(config, range, false));
        }
        if unfinished.validates(config) && !unfinished.utf8.is_complete() {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        let part = unfinished.part(config, range, true);
        let Some(whole) = self.0.take() else { return Ok(None) };
        Ok(Some(part.unwrap_or(Event::Message { kind: whole.kind, payload: Payload::Owned(whole.data) })))
    }

    pub(in crate::engine) fn buffered(&self) -> usize {
        self.0.as_ref().map_or(0, |unfinished| unfinished.data.capacity())
    }
}

impl PartialMessage {
    fn new(kind: MessageKind, compressed: bool) -> Self {
        Self { data: Vec::new(), declared: 0, fragments: 0, kind, compressed, utf8: Validator::default() }
    }

    fn append(
        &mut self,
        config: &Config,
        extension: Option<&mut Extension>,
        bytes: &[u8],
        fin: bool,
        remaining: u64,
    ) -> Result<(), ProtocolError> {
        if self.compressed
            && let Some(extension) = extension
        {
            let limit = usize::try_from(config.longest_message()).unwrap_or(usize::MAX);
            let utf8 = if self.validates(config) { Some(&mut self.utf8) } else { None };
            let to = Incomplete { message: &mut self.data, limit, utf8 };
            return Ok(extension.inflate(bytes, remaining == 0, fin, to)?);
        }
        if self.validates(config) && !self.utf8.feed(bytes) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        if config.parts {
            return Ok(());
        }
        self.grow(bytes.len(), fin, remaining);
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    fn part(&self, config: &Config, range: Range<usize>, last: bool) -> Option<Event> {
        let reported = config.parts && !self.compressed && (last || !range.is_empty());
        reported.then_some(Event::Part { kind: self.kind, range, last })
    }

    fn validates(&self, config: &Config) -> bool {
        self.kind == MessageKind::Text && !config.skip_utf8_validation
    }

    /// Memory grows with bytes received, never with lengths declared: it doubles, and stops at the
    /// declared end if there is one.
    fn grow(&mut self, more: usize, fin: bool, remaining: u64) {
        let needed = self.data.len().saturating_add(more);
        if needed <= self.data.capacity() {
            return;
        }
        let mut capacity = needed.max(self.data.capacity().saturating_mul(2));
        if fin {
            let end = (needed as u64).saturating_add(remaining);
            capacity = capacity.min(usize::try_from(end).unwrap_or(usize::MAX));
        }
        self.data.reserve_exact(capacity - self.data.len());
    }
}
