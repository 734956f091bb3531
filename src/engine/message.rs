//! Fragments to one message (RFC 6455, section 5.4), and its limits.

use super::deflate::Incomplete;
use super::error::ErrorKind;
use super::event::{Event, MessageKind, Payload};
use super::frame::Header;
use super::receive::Step;
use super::utf8::Validator;
use super::{Config, Engine};

/// A message under way: its complete frames, and the next one's bytes so far. A message in a single
/// frame within one input never gets here.
#[derive(Debug)]
pub(super) struct Message {
    /// Invariant: capacity <= 2 * len, or the declared end of the last frame if that is less.
    data: Vec<u8>,
    /// Sum of the declared lengths of its frames. Invariant: <= `Config::longest_message`.
    pub(super) declared: u64,
    fragments: u32,
    kind: MessageKind,
    pub(super) compressed: bool,
    utf8: Validator,
}

impl Engine {
    pub(super) fn begin_data(&mut self, header: &Header) {
        if let Some(kind) = header.opcode.message_kind() {
            self.message = Some(Box::new(Message::new(kind, header.compressed)));
        }
        if let Some(message) = &mut self.message {
            message.declared = message.declared.saturating_add(header.payload_len);
        }
    }

    /// Takes the next bytes of a data frame, which lacks `remaining` more. Returns the message if
    /// it is complete.
    pub(super) fn take_data(&mut self, config: &Config, bytes: &[u8], fin: bool, remaining: u64) -> Step {
        // A decoded header is a continuation only if a message is under way.
        let Some(message) = &mut self.message else { return Ok(None) };
        let validates = message.kind == MessageKind::Text && !config.skip_utf8_validation;
        if message.compressed
            && let Some(extension) = &mut self.extension
        {
            let limit = usize::try_from(config.longest_message()).unwrap_or(usize::MAX);
            let utf8 = if validates { Some(&mut message.utf8) } else { None };
            let to = Incomplete { message: &mut message.data, limit, utf8 };
            extension.inflate(bytes, (remaining == 0, fin), to)?;
        } else if validates && !message.utf8.feed(bytes) {
            return Err(ErrorKind::InvalidUtf8.into());
        } else {
            message.grow(bytes.len(), fin, remaining);
            message.data.extend_from_slice(bytes);
        }
        if remaining > 0 {
            return Ok(None);
        }
        let small = message.small_fragments();
        message.fragments = message.fragments.saturating_add(1);
        if config.max_fragments > 0 && message.fragments > config.max_fragments {
            return Err(ErrorKind::TooManyFragments.into());
        }
        if fin && validates && !message.utf8.is_complete() {
            return Err(ErrorKind::InvalidUtf8.into());
        }
        let whole = if fin { self.message.take() } else { None };
        Ok(whole.map(|whole| {
            self.small_fragments = self.small_fragments.wrapping_add(small);
            Event::Message { kind: whole.kind, payload: Payload::Owned(whole.data) }
        }))
    }
}

/// A message under way, as plain data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) kind: MessageKind,
    pub(super) declared: u64,
    pub(super) fragments: u32,
    pub(super) compressed: bool,
    pub(super) data: Vec<u8>,
}

impl Message {
    fn new(kind: MessageKind, compressed: bool) -> Self {
        Self { data: Vec::new(), declared: 0, fragments: 0, kind, compressed, utf8: Validator::default() }
    }

    /// A compressed one is inflated anew.
    pub(super) fn export(&self) -> Unfinished {
        let Self { ref data, declared, fragments, kind, compressed, .. } = *self;
        let data = if compressed { Vec::new() } else { data.clone() };
        Unfinished { kind, declared, fragments, compressed, data }
    }

    /// `None`: it is no text, because the settings before did not check that.
    pub(super) fn import(unfinished: Unfinished, config: &Config) -> Option<Self> {
        let Unfinished { kind, declared, fragments, compressed, data } = unfinished;
        let mut utf8 = Validator::default();
        let is_valid = kind == MessageKind::Binary || config.skip_utf8_validation || utf8.feed(&data);
        is_valid.then_some(Self { data, declared, fragments, kind, compressed, utf8 })
    }

    /// Complete fragments, beyond one for each KiB.
    pub(super) fn small_fragments(&self) -> u32 {
        self.fragments.saturating_sub(u32::try_from(self.declared >> 10).unwrap_or(u32::MAX))
    }

    pub(super) fn buffered(&self) -> usize {
        self.data.capacity()
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
            let end = usize::try_from((needed as u64).saturating_add(remaining)).unwrap_or(usize::MAX);
            // The end can be near: a message of 16 KiB comes in two records of TLS.
            capacity = if end <= needed.saturating_mul(2) { end } else { capacity.min(end) };
        }
        self.data.reserve_exact(capacity - self.data.len());
    }
}
