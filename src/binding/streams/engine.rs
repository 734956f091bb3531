//! The engine of one connection, driven by JavaScript: for streams that are no socket of the
//! reactor's.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::Uint8ArraySlice;
use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::engine::ErrorKind;

use super::parser::{Parser, StreamOptions};
use super::{Parsers, Streams};
use crate::binding::payload::bytes_mut;

/// The protocol state of a connection whose bytes JavaScript reads and writes. The functions that
/// are called for every message are those of [`Streams`].
#[napi]
pub struct StreamEngine {
    number: u32,
    parser: Rc<RefCell<Parser>>,
    parsers: Rc<RefCell<Parsers>>,
}

#[napi]
impl StreamEngine {
    /// The engine of a connection whose handshake is done.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: StreamOptions, streams: &Streams) -> Self {
        let parser = Rc::new(RefCell::new(Parser::new(&options, &streams.pool)));
        let number = streams.parsers.borrow_mut().insert(parser.clone());
        Self { number, parser, parsers: streams.parsers.clone() }
    }

    /// The number of the engine for those functions.
    #[napi(getter, catch_unwind)]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Copies the payload of a record with `IN_FLAG_OWNED` of the last call, and frees it.
    #[napi(catch_unwind)]
    pub fn take_large(&self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let into = bytes_mut(&mut into);
        match self.parser.borrow_mut().take_owned(index as usize) {
            Some(payload) if payload.len() == into.len() => {
                into.copy_from_slice(&payload);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "takeLarge: no payload of this number and length")),
        }
    }

    /// Whether the next data frame, of `length` bytes, has to go through `compress` and
    /// `frameCompressed`. To be called for every data frame where permessage-deflate was
    /// negotiated.
    #[napi(catch_unwind)]
    pub fn will_compress(&self, tag: u32, length: f64) -> bool {
        self.parser.borrow_mut().will_compress(tag, length as usize)
    }

    /// Compresses the next bytes of the payload of a data frame; `last`: they are its end.
    /// Returns the bytes of the compressed payload so far.
    #[napi(catch_unwind)]
    pub fn compress(&self, tag: u32, bytes: &[u8], last: bool) -> f64 {
        self.parser.borrow_mut().compress(tag, bytes, last) as f64
    }

    /// As `frame` of `Streams`, with the output of `compress` for the payload, which is written to
    /// `buffer` from `start` on.
    #[napi(catch_unwind)]
    pub fn frame_compressed(
        &self,
        tag: u32,
        mut buffer: Uint8ArraySlice<'_>,
        start: u32,
        key: Option<u32>,
    ) -> Result<u32> {
        self.parser.borrow_mut().frame_compressed(tag, bytes_mut(&mut buffer), start as usize, key)
    }

    /// Bytes that the data frames of the message under way have declared, 0 between messages.
    #[napi(catch_unwind)]
    pub fn declared(&self) -> f64 {
        self.parser.borrow().declared() as f64
    }

    /// Complete fragments of the message under way, beyond one for each KiB of it.
    #[napi(catch_unwind)]
    pub fn small_fragments(&self) -> f64 {
        self.parser.borrow().small_fragments() as f64
    }

    /// Bytes that the frame under way lacks, or more of them; 0 between frames.
    #[napi(catch_unwind)]
    pub fn missing(&self) -> f64 {
        self.parser.borrow().missing() as f64
    }

    /// Makes the engine take in nothing more, as after an error of the peer's.
    #[napi(catch_unwind)]
    pub fn refuse(&self, bytes: bool) -> u32 {
        let kind = if bytes { ErrorKind::TooManyBytes } else { ErrorKind::TooManyMessages };
        self.parser.borrow_mut().refuse(kind)
    }

    /// Gives back the compression contexts that no message under way needs.
    #[napi(catch_unwind)]
    pub fn release_contexts(&self) {
        self.parser.borrow_mut().release_contexts();
    }

    /// Frees all that the engine holds: the connection is gone. Garbage collection would do so too,
    /// but later.
    #[napi(catch_unwind)]
    pub fn dispose(&self) {
        self.parser.borrow_mut().dispose();
    }
}

impl Drop for StreamEngine {
    fn drop(&mut self) {
        self.parsers.borrow_mut().remove(self.number);
    }
}
