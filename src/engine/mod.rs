//! RFC 6455 as a state machine: bytes in, events and bytes out.
//!
//! This layer opens no socket, reads no clock and starts no thread.
//!
//! ```text
//!   input -> Engine::poll -> frame::Header::decode -> mask::unmask -> utf8, message -> Event
//!   FrameKind, length -> Engine::encode -> frame::EncodedHeader
//! ```

#![deny(unsafe_code)]
#![expect(missing_docs, reason = "a name that says all needs no sentence")]

/// Declares an enum with numbers that JavaScript knows: they start at 1 and never change.
macro_rules! numbered {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $of:literal])* $variant:ident = $number:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name {
            $($(#[doc = $of])* $variant = $number,)*
        }

        impl $name {
            /// `ALL[n - 1]` has the number n.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];
        }
    };
}
#[cfg(feature = "reactor")]
pub(crate) use numbered;

mod close_code;
pub mod config;
pub mod deflate;
pub mod error;
pub mod event;
pub mod frame;
pub mod handshake;
pub mod mask;
pub mod portable;
pub mod proxy;

mod large;
mod message;
mod prepared;
mod receive;
mod utf8;

#[cfg(test)]
mod tests;

pub use close_code::CloseCode;
pub use config::{Config, LONGEST_MESSAGE, Role};
pub use error::{ErrorKind, ErrorRow, ProtocolError};
pub use event::{Event, MessageKind, Payload};
pub use frame::{EncodedHeader, FrameKind};
pub use large::Large;
pub use prepared::{Frame, Prepared};

use std::sync::Arc;

use deflate::Extension;
use frame::{Header, OpCode};
use message::Message;
use receive::Kept;

/// The protocol state of one connection after its handshake, for both directions.
///
/// In: give every input to `poll` until it returns `None`. Out: ask `encode` for each frame's
/// header. Between messages it owns no heap.
#[derive(Default)]
pub struct Engine {
    stage: Stage,
    /// Boxed: between messages a connection has only the pointer.
    message: Option<Box<Message>>,
    /// In `Stage::Header` a header without a byte of its payload, in `Stage::Payload` the body of a
    /// control frame.
    kept: Option<Box<Kept>>,
    close_sent: bool,
    /// The last data frame sent left its message unfinished.
    sending_message: bool,
    /// Bytes of all complete messages, modulo 2^32.
    small_fragments: u32,
    extension: Option<Box<Extension>>,
}

impl Engine {
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses `input[*pos..]`, unmasking in place, until one event is complete, and moves `pos` to
    /// its end.
    ///
    /// `None`: the input is used up (`*pos == input.len()`), and an unfinished frame has been
    /// copied. Call again until then before giving the next input. The events and their order do
    /// not depend on how the stream is cut into inputs; only the place of their payload does.
    ///
    /// After [`Event::Close`] and [`Event::Error`] all input is ignored.
    #[inline(always)]
    pub fn poll(&mut self, config: &Config, input: &mut [u8], pos: &mut usize) -> Option<Event> {
        self.advance::<false>(config, input, pos).ok().flatten()
    }

    /// As `poll`, but if `WHOLE`, an incomplete frame can stay where it is.
    ///
    /// # Errors
    /// The number of bytes that the frame at `*pos` lacks. Call again with them appended, or call
    /// `poll`.
    #[inline(always)]
    pub fn advance<const WHOLE: bool>(
        &mut self,
        config: &Config,
        input: &mut [u8],
        pos: &mut usize,
    ) -> Result<Option<Event>, u64> {
        while *pos < input.len() {
            let step = match self.stage {
                Stage::Header => {
                    let begin = *pos;
                    let header = match self.take_header(config, input, pos) {
                        Ok(Some(header)) => header,
                        Ok(None) => return Ok(None),
                        Err(error) => return Ok(Some(self.fail(error, input, pos))),
                    };
                    let start = *pos;
                    let end = usize::try_from(header.payload_len).ok().and_then(|len| start.checked_add(len));
                    let Some(bytes) = end.and_then(|end| input.get_mut(start..end)) else {
                        if WHOLE && start - begin == header.size {
                            let there = (input.len() - start) as u64;
                            *pos = begin;
                            return Err(header.payload_len.saturating_sub(there));
                        }
                        self.begin_frame(&header);
                        continue;
                    };
                    mask::unmask(header.key, 0, bytes);
                    let payload = start..start + bytes.len();
                    *pos = payload.end;
                    // Most frames are whole messages; their event is made here, where it need not
                    // be moved.
                    match header.whole_message() {
                        Some(kind)
                            if kind == MessageKind::Binary
                                || config.skip_utf8_validation
                                || utf8::is_valid(bytes) =>
                        {
                            return Ok(Some(Event::Message { kind, payload: Payload::Input(payload) }));
                        }
                        Some(_) => Err(ErrorKind::InvalidUtf8.into()),
                        None => self.whole_frame(config, &header, payload, input),
                    }
                }
                Stage::Payload(frame) => self.continue_frame(config, frame, input, pos),
                Stage::Closed | Stage::Failed(_) => break,
            };
            match step {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(error) => return Ok(Some(self.fail(error, input, pos))),
            }
        }
        *pos = input.len();
        Ok(None)
    }

    /// The header of the next frame to send, with `len` bytes of payload; a client gives the key in
    /// `mask`.
    ///
    /// As in ws, a data frame after one without `fin` is a continuation, whatever its kind. Control
    /// frames are never fragmented and can come in between (RFC 6455, section 5.4). The caller
    /// checks the length of a control frame and the body of a close frame.
    #[inline(always)]
    pub fn encode(&mut self, kind: FrameKind, fin: bool, len: usize, mask: Option<[u8; 4]>) -> EncodedHeader {
        let opcode = match kind {
            FrameKind::Text | FrameKind::Binary if self.sending_message => OpCode::Continuation,
            FrameKind::Text => OpCode::Text,
            FrameKind::Binary => OpCode::Binary,
            FrameKind::Ping => OpCode::Ping,
            FrameKind::Pong => OpCode::Pong,
            FrameKind::Close => OpCode::Close,
        };
        let mut compressed = false;
        if !opcode.is_control() {
            if let Some(extension) = &mut self.extension {
                compressed = !self.sending_message && extension.compresses;
                extension.compresses &= !fin;
            }
            self.sending_message = !fin;
        }
        self.close_sent |= opcode == OpCode::Close;
        EncodedHeader::encode(opcode, (fin || opcode.is_control(), compressed), len, mask)
    }

    /// Must be called before the first frame of either side.
    pub fn enable_deflate(
        &mut self,
        role: Role,
        params: deflate::Params,
        settings: &deflate::Settings,
        pool: &Arc<deflate::Pool>,
    ) {
        self.extension = Some(Box::new(Extension::new(role, params, settings, pool.clone())));
    }

    #[inline]
    pub fn has_deflate(&self) -> bool {
        self.extension.is_some()
    }

    /// Declared lengths of the current message's data frames; 0 between messages.
    pub fn declared(&self) -> u64 {
        self.message.as_ref().map_or(0, |message| message.declared)
    }

    /// Complete fragments that end no message, beyond one for each KiB of their message; modulo
    /// 2^32. A long frame takes some back.
    pub fn small_fragments(&self) -> u32 {
        self.small_fragments
            .wrapping_add(self.message.as_ref().map_or(0, |message| message.small_fragments()))
    }

    /// The fewest bytes that the current frame lacks; 0 between frames.
    pub fn missing(&self) -> u64 {
        match (self.stage, &self.kept) {
            (Stage::Payload(frame), _) => frame.remaining,
            (Stage::Header, Some(kept)) => Header::missing(&kept.0),
            _ => 0,
        }
    }

    /// Whether the next `poll` of `input` from `pos` on can inflate something. One byte can become
    /// a thousand: to bound the work of a call, show it a piece.
    pub fn may_inflate(&self, input: &[u8], pos: usize) -> bool {
        let is_compressed = self.message.as_ref().is_some_and(|message| message.compressed);
        self.has_deflate()
            && match self.stage {
                Stage::Header => {
                    self.kept.is_some()
                        || is_compressed
                        || input.get(pos).is_some_and(|&byte| frame::is_compressed(byte))
                }
                Stage::Payload(frame) => !frame.opcode.is_control() && is_compressed,
                Stage::Closed | Stage::Failed(_) => false,
            }
    }

    /// Whether the next data frame's payload, of `len` bytes, must go through `compress` before
    /// `encode`. As in ws a message's first frame decides, by its length and the threshold. Call
    /// this once for each data frame.
    pub fn will_compress(&mut self, wanted: bool, len: usize) -> bool {
        let first = !self.sending_message;
        self.extension.as_mut().is_some_and(|extension| extension.wants(wanted, first, len))
    }

    /// Appends the payload of the next data frame to `out` (RFC 7692, section 7.2.1).
    pub fn compress(&mut self, payload: &[u8], fin: bool, out: &mut Vec<u8>) {
        let first = !self.sending_message;
        if let Some(extension) = &mut self.extension {
            extension.deflate(payload, first, fin, out);
        }
    }

    pub fn holds_contexts(&self) -> bool {
        self.extension.as_ref().is_some_and(|extension| extension.holds_context())
    }

    /// Bytes of heap that compression takes, see [`deflate`].
    pub fn context_bytes(&self) -> usize {
        self.extension.as_ref().map_or(0, |extension| extension.buffered())
    }

    /// Gives back compression contexts that no current message needs; later messages are compressed
    /// less well. An incoming context stays unless [`releasable`](deflate::Settings::releasable) is
    /// set, which remembers the history that the peer can refer to.
    pub fn release_contexts(&mut self) {
        let sending = self.sending_message;
        if let Some(extension) = &mut self.extension {
            extension.release(sending);
        }
    }

    pub fn close_sent(&self) -> bool {
        self.close_sent
    }

    pub fn close_received(&self) -> bool {
        matches!(self.stage, Stage::Closed)
    }

    pub fn failure(&self) -> Option<ErrorKind> {
        if let Stage::Failed(kind) = self.stage { Some(kind) } else { None }
    }

    /// Heap of unfinished messages: at most about twice the bytes received, and at most the limit
    /// for compressed ones: their context counts too, unless it is kept between messages. A frame
    /// that is cut in two takes up to 256 more.
    pub fn buffered(&self) -> usize {
        let message = self.message.as_ref().map_or(0, |message| message.buffered());
        message + self.extension.as_ref().map_or(0, |extension| extension.incoming.lent())
    }
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Header,
    Payload(PartialFrame),
    /// A close frame came; input is ignored.
    Closed,
    /// The peer broke this rule; input is ignored.
    Failed(ErrorKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartialFrame {
    fin: bool,
    opcode: OpCode,
    /// Rotated to begin at the next byte.
    key: [u8; 4],
    /// Invariant: > 0 between inputs.
    remaining: u64,
}
