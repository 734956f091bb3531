//! Fragments to one message (RFC 6455, section 5.4), and its limits.

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

    pub(in crate::engine) fn declared(&self) -> u64 {
        self.0.as_ref().map_or(0, |unfinished| unfinished.declared)
    }

    /// Complete fragments, beyond one for each KiB.
    pub(in crate::engine) fn small_fragments(&self) -> u32 {
        self.0.as_deref().map_or(0, PartialMessage::small_fragments)
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
        let validates = unfinished.validates(config);
        if unfinished.compressed
            && let Some(extension) = extension
        {
            let limit = usize::try_from(config.longest_message()).unwrap_or(usize::MAX);
            let utf8 = if validates { Some(&mut unfinished.utf8) } else { None };
            let to = Incomplete { message: &mut unfinished.data, limit, utf8 };
            return Ok(extension.inflate(bytes, remaining == 0, fin, to)?);
        }
        if validates && !unfinished.utf8.feed(bytes) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        unfinished.grow(bytes.len(), fin, remaining);
        unfinished.data.extend_from_slice(bytes);
        Ok(())
    }

    /// The frame is complete. Returns the message, if this was its last frame; then its `small` fragments
    /// are counted.
    pub(in crate::engine) fn end_frame(
        &mut self,
        config: &Config,
        fin: bool,
        small: &mut u32,
    ) -> Result<Option<Event>, ProtocolError> {
        let Some(unfinished) = &mut self.0 else { return Ok(None) };
        let before = unfinished.small_fragments();
        unfinished.fragments = unfinished.fragments.saturating_add(1);
        if config.max_fragments > 0 && unfinished.fragments > config.max_fragments {
            return Err(ErrorKind::TooManyFragments.into());
        }
        if !fin {
            return Ok(None);
        }
        if unfinished.validates(config) && !unfinished.utf8.is_complete() {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        *small = small.wrapping_add(before);
        let Some(whole) = self.0.take() else { return Ok(None) };
        Ok(Some(Event::Message { kind: whole.kind, payload: Payload::Owned(whole.data) }))
    }

    pub(in crate::engine) fn buffered(&self) -> usize {
        self.0.as_ref().map_or(0, |unfinished| unfinished.data.capacity())
    }
}

impl PartialMessage {
    fn new(kind: MessageKind, compressed: bool) -> Self {
        Self { data: Vec::new(), declared: 0, fragments: 0, kind, compressed, utf8: Validator::default() }
    }

    fn small_fragments(&self) -> u32 {
        self.fragments.saturating_sub(u32::try_from(self.declared >> 10).unwrap_or(u32::MAX))
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
