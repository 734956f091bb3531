//! Inflates one message, up to its limit.

use zlib_rs::{Inflate, InflateError, InflateFlush, Status};

use crate::engine::error::ErrorKind;
use crate::engine::utf8::Validator;
use one_shot::TRAILER;

use super::settings::MAX_WINDOW_BITS;

/// Heap of one incoming context. Its window is always 32 KiB, whatever was negotiated, so any
/// connection can borrow it.
pub const INFLATER_BYTES: usize = 48 << 10;

pub(super) struct Inflater {
    zlib: Box<Inflate>,
    stream: Stream,
    /// Where in the message the last stream ended.
    end: Option<usize>,
}

/// Where a block with BFINAL leaves the input.
#[derive(Clone, Copy, PartialEq)]
enum Stream {
    GoesOn,
    /// After it: what follows in the frame has no meaning.
    Ended,
    /// After the frame in which it ended: what follows begins anew. The trailer alone is no block.
    Over,
}

pub(super) struct Sink<'a> {
    pub(super) out: &'a mut Vec<u8>,
    /// Most bytes of the message.
    pub(super) limit: usize,
    /// For text.
    pub(super) utf8: Option<&'a mut Validator>,
    /// Room for the next bytes. Never empty.
    pub(super) scratch: &'a mut [u8],
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { zlib: Box::new(Inflate::new(false, MAX_WINDOW_BITS)), stream: Stream::GoesOn, end: None }
    }

    pub(super) fn reset(&mut self) {
        self.zlib.reset(false);
        self.stream = Stream::GoesOn;
        self.end = None;
    }

    /// Lets the next bytes refer to `history`, as if it had just come in.
    pub(super) fn remember(&mut self, history: &[u8]) {
        // Without a header there is no checksum that the history could fail.
        let _always_taken = self.zlib.set_dictionary(history);
    }

    pub(super) fn end_frame(&mut self) {
        if self.stream == Stream::Ended {
            self.zlib.reset(false);
            self.stream = Stream::Over;
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), ErrorKind> {
        if self.stream != Stream::Ended && !bytes.is_empty() {
            self.stream = Stream::GoesOn;
            self.run(bytes, InflateFlush::SyncFlush, sink)?;
        }
        Ok(())
    }

    /// Inflates the trailer that the sender cut off. Returns where in the message the last stream ended: later messages
    /// cannot refer to earlier bytes.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<Option<usize>, ErrorKind> {
        if self.stream == Stream::GoesOn {
            self.inflate_trailer(sink)?;
        }
        Ok(self.end.take())
    }

    fn inflate_trailer(&mut self, sink: &mut Sink<'_>) -> Result<(), ErrorKind> {
        // Between two blocks the inflater uses the trailer and stops at its end. A stream that was
        // cut off elsewhere takes the trailer, and the byte after it, for its missing bytes.
        let mut rest: &[u8] = &[TRAILER[0], TRAILER[1], TRAILER[2], TRAILER[3], 0];
        while rest.len() > 1 && self.stream == Stream::GoesOn {
            let used = self.run(rest, InflateFlush::Block, sink)?;
            if used == 0 {
                break;
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        if rest.len() == 1 {
            // The inflater stops at the end of a block before it reads its BFINAL. A block that ends in the trailer can
            // have BFINAL too.
            self.run(&[], InflateFlush::SyncFlush, sink)?;
        } else if self.stream == Stream::GoesOn {
            return Err(ErrorKind::DeflateUnexpectedEnd);
        }
        Ok(())
    }

    /// With [`InflateFlush::Block`] no further than to the end of a block. Returns the number of
    /// bytes used.
    fn run(&mut self, bytes: &[u8], flush: InflateFlush, sink: &mut Sink<'_>) -> Result<usize, ErrorKind> {
        let mut rest = bytes;
        loop {
            let room = sink.room();
            let (room_len, taken, made) = (room.len(), self.zlib.total_in(), self.zlib.total_out());
            let status = self.zlib.decompress(rest, room, flush);
            let taken = (self.zlib.total_in() - taken) as usize;
            let made = (self.zlib.total_out() - made) as usize;
            // The bytes before an error come first: its kind does not depend on how the bytes were
            // split.
            sink.take(made)?;
            rest = rest.get(taken..).unwrap_or_default();
            match status {
                Ok(Status::StreamEnd) => {
                    self.stream = Stream::Ended;
                    self.end = Some(sink.out.len());
                }
                Ok(Status::Ok | Status::BufError) if made == room_len => continue,
                Ok(Status::Ok | Status::BufError) => {}
                Err(InflateError::DataError) => return Err(self.what_is_wrong()),
                Err(_) => return Err(ErrorKind::DeflateInvalidBlockType),
            }
            let idle = taken == 0 && made == 0;
            if self.stream == Stream::Ended || idle || rest.is_empty() || flush == InflateFlush::Block {
                return Ok(bytes.len() - rest.len());
            }
        }
    }

    #[cold]
    fn what_is_wrong(&self) -> ErrorKind {
        match self.zlib.error_message().unwrap_or_default() {
            // Where zlib-rs copies from the window, it has a sentence of its own. Where it decodes
            // without looking at the end of its input, it loses which of three errors it was: a
            // literal, a distance, or a distance too far back, the error of nearly all broken streams.
            "invalid distance code too far back" | "repeated call with bad state" => {
                ErrorKind::DeflateDistanceTooFar
            }
            sentence => ErrorKind::of(sentence).unwrap_or(ErrorKind::DeflateInvalidBlockType),
        }
    }
}

impl Sink<'_> {
    /// Room for the bytes that can still come, and one more, which shows an excess.
    fn room(&mut self) -> &mut [u8] {
        let rest = self.limit.saturating_sub(self.out.len()).saturating_add(1);
        let len = rest.min(self.scratch.len());
        self.scratch.get_mut(..len).unwrap_or_default()
    }

    fn take(&mut self, made: usize) -> Result<(), ErrorKind> {
        let allowed = self.limit.saturating_sub(self.out.len()).min(made);
        let piece = self.scratch.get(..allowed).unwrap_or_default();
        if let Some(utf8) = &mut self.utf8
            && !utf8.feed(piece)
        {
            return Err(ErrorKind::InvalidUtf8);
        }
        if allowed < made {
            return Err(ErrorKind::UnsupportedMessageLength);
        }
        let needed = self.out.len() + piece.len();
        if needed > self.out.capacity() {
            // Doubles, and stops at the limit.
            let capacity = needed.max(self.out.capacity().saturating_mul(2).min(self.limit));
            self.out.reserve_exact(capacity - self.out.len());
        }
        self.out.extend_from_slice(piece);
        Ok(())
    }
}
