//! Fragments to one message (RFC 6455, section 5.4), and its limits.

use super::Config;
use super::deflate::{Extension, Incomplete};
use super::error::{ErrorKind, ProtocolError};
use super::event::{Event, MessageKind, Payload};
use super::frame::Header;
use super::utf8::Validator;

/// The data message that is under way: the frames of it that are complete and what is there of the next one.
///
/// A message that is a single frame within one input never gets here.
#[derive(Debug, Default)]
pub(in crate::engine) struct Message {
    /// Invariant: capacity <= 2 * len, or what the length of the last frame says if that is less.
    data: Vec<u8>,
    /// Sum of the declared lengths of its frames. Invariant: <= max_payload, if that is set.
    declared: u64,
    /// Frames that are complete.
    fragments: u32,
    kind: Option<MessageKind>,
    compressed: bool,
    utf8: Validator,
}

impl Message {
    /// Whether a data frame that begins now has to be a continuation.
    #[inline]
    pub(in crate::engine) fn is_under_way(&self) -> bool {
        self.kind.is_some()
    }

    /// How many bytes of data a frame that begins now may bring.
    #[inline]
    pub(in crate::engine) fn room(&self, config: &Config) -> u64 {
        if config.max_payload == 0 { u64::MAX } else { config.max_payload.saturating_sub(self.declared) }
    }

    /// Sum of the declared lengths of its frames so far.
    pub(in crate::engine) fn declared(&self) -> u64 {
        self.declared
    }

    /// A data frame begins.
    pub(in crate::engine) fn begin_frame(&mut self, header: &Header) {
        if let Some(kind) = header.opcode.message_kind() {
            self.kind = Some(kind);
            self.compressed = header.compressed;
        }
        self.declared = self.declared.saturating_add(header.payload_len);
    }

    /// Takes the next bytes of the frame, of which `remaining` are still to come after them.
    pub(in crate::engine) fn append(
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
            let limit = usize::try_from(config.max_payload).unwrap_or(usize::MAX);
            let limit = if limit == 0 { usize::MAX - 1 } else { limit };
            let utf8 = if self.validates(config) { Some(&mut self.utf8) } else { None };
            let to = Incomplete { message: &mut self.data, limit, utf8 };
            return Ok(extension.inflate(bytes, remaining == 0, fin, to)?);
        }
        if self.validates(config) && !self.utf8.feed(bytes) {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        self.grow(bytes.len(), fin, remaining);
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    /// The frame is complete. Returns the message if it was the last one, and is empty again.
    pub(in crate::engine) fn end_frame(
        &mut self,
        config: &Config,
        fin: bool,
    ) -> Result<Option<Event>, ProtocolError> {
        self.fragments = self.fragments.saturating_add(1);
        if config.max_fragments > 0 && self.fragments > config.max_fragments {
            return Err(ErrorKind::TooManyFragments.into());
        }
        if !fin {
            return Ok(None);
        }
        if self.validates(config) && !self.utf8.is_complete() {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        let Self { kind, data, .. } = std::mem::take(self);
        Ok(kind.map(|kind| Event::Message { kind, payload: Payload::Owned(data) }))
    }

    /// Bytes held on the heap.
    pub(in crate::engine) fn buffered(&self) -> usize {
        self.data.capacity()
    }

    fn validates(&self, config: &Config) -> bool {
        self.kind == Some(MessageKind::Text) && !config.skip_utf8_validation
    }

    /// Makes room for `more` bytes. Memory follows what came in, never what was declared: it doubles, and
    /// stops at the declared end if there is one.
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
