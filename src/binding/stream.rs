//! The engine of one connection, driven by JavaScript: for streams that are no socket of the reactor's.

use std::sync::Arc;

use napi::bindgen_prelude::{Uint8ArraySlice, Uint32ArraySlice};
use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::bridge::batch::Record;
use crate::bridge::layout::{
    IN_BINARY, IN_CLOSE, IN_ERROR, IN_FLAG_OWNED, IN_PING, IN_PONG, IN_TEXT, OUT_BINARY, OUT_CLOSE,
    OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_PING, OUT_PONG, OUT_TEXT, RECORD_WORDS, unpack,
};
use crate::engine::deflate::Pool;
use crate::engine::{CloseCode, Config, Engine, Event, FrameKind, MessageKind, Payload, Role};

use super::deflate::NegotiatedDeflate;
use super::payload::{bytes_mut, words_mut};

/// Settings of an engine.
#[napi(object)]
pub struct StreamOptions {
    /// Which end of the connection this is.
    pub is_server: bool,
    /// Bytes, 0 = no limit.
    pub max_payload: f64,
    /// Frames, 0 = no limit.
    pub max_fragments: u32,
    /// Do not check text for UTF-8.
    pub skip_utf8_validation: bool,
    /// permessage-deflate, if it was negotiated.
    pub deflate: Option<NegotiatedDeflate>,
}

/// Bytes that may be inflated before JavaScript serves others: what one connection of the reactor gets in a turn.
const INFLATE_BUDGET: usize = 128 << 10;
/// Bytes of input between two looks at that budget: one of them can become a thousand.
const COMPRESSED_PIECE: usize = 8 << 10;

/// What the engines of an environment share for compression.
#[napi]
pub struct DeflatePool {
    pool: Arc<Pool>,
}

#[napi]
impl DeflatePool {
    /// An empty one.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self { pool: Arc::new(Pool::of_process()) }
    }

    /// Forgets what was compressed last: what is sent to several connections is sent in one turn.
    #[napi(catch_unwind)]
    pub fn end_turn(&self) {
        self.pool.forget_message();
    }
}

/// The protocol state of a connection whose bytes JavaScript reads and writes.
#[napi]
pub struct StreamEngine {
    engine: Engine,
    config: Config,
    /// How much of the chunk is parsed.
    position: usize,
    /// Payloads of the last call's records that are not in the chunk.
    owned: Vec<Vec<u8>>,
    /// The payload of the next data frame, as far as it has been compressed.
    compressed: Vec<u8>,
    pool: Arc<Pool>,
    /// Bytes inflated since the last pause.
    work: usize,
    /// Whether something of the chunk has been told, and whether there has been a pause since.
    told: bool,
    paused: bool,
}

/// What parsing came to.
enum Next {
    Event(Event),
    /// The chunk is used up.
    End,
    /// Others first.
    Pause,
}

#[napi]
impl StreamEngine {
    /// The engine of a connection whose handshake is done.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: StreamOptions, pool: &DeflatePool) -> Self {
        let config = Config {
            role: if options.is_server { Role::Server } else { Role::Client },
            max_payload: options.max_payload as u64,
            max_fragments: options.max_fragments,
            skip_utf8_validation: options.skip_utf8_validation,
        };
        let mut engine = Engine::new();
        if let Some(negotiated) = &options.deflate {
            let settings = negotiated.settings.config().settings;
            engine.enable_deflate(config.role, negotiated.params(), &settings, &pool.pool);
        }
        Self {
            engine,
            config,
            position: 0,
            owned: Vec::new(),
            compressed: Vec::new(),
            pool: pool.pool.clone(),
            work: 0,
            told: false,
            paused: false,
        }
    }

    /// Parses `chunk`, unmasking it in place, and writes records like those of the reactor to `records`: slot 0, offsets
    /// relative to the chunk. Returns how many, n. If they fill `records`, call again with the same chunk. -n - 1 says that
    /// others are to be served before the call for the rest of the chunk.
    #[napi(catch_unwind)]
    pub fn input(&mut self, mut chunk: Uint8ArraySlice<'_>, mut records: Uint32ArraySlice<'_>) -> i32 {
        let chunk = bytes_mut(&mut chunk);
        self.owned.clear();
        let mut count = 0;
        for room in words_mut(&mut records).chunks_exact_mut(RECORD_WORDS) {
            match self.next(chunk) {
                Next::Event(event) => room.copy_from_slice(&self.record(event).0),
                Next::End => {
                    self.position = 0;
                    self.told = false;
                    self.paused = false;
                    return count;
                }
                Next::Pause => return -count - 1,
            }
            count += 1;
        }
        count
    }

    /// Copies the payload of a record with `IN_FLAG_OWNED` of the last call.
    #[napi(catch_unwind)]
    pub fn take_large(&mut self, index: u32, mut into: Uint8ArraySlice<'_>) -> Result<()> {
        let into = bytes_mut(&mut into);
        match self.owned.get(index as usize) {
            Some(payload) if payload.len() == into.len() => {
                into.copy_from_slice(payload);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "takeLarge: no payload of this number and length")),
        }
    }

    /// Makes a frame of the `length` bytes at `start` of `buffer`, masking them in place if there is a key, and returns
    /// where it begins: at most 14 bytes before `start`. `tag` is that of the outbound record.
    #[napi(catch_unwind)]
    pub fn frame(
        &mut self,
        tag: u32,
        mut buffer: Uint8ArraySlice<'_>,
        start: u32,
        length: u32,
        key: Option<u32>,
    ) -> Result<u32> {
        let (kind, flags, _) = unpack(tag);
        let kind = frame_kind(kind)?;
        let start = start as usize;
        let range = start..start.saturating_add(length as usize);
        let key = key.map(u32::to_le_bytes);
        self.engine
            .frame_in_place(kind, flags & OUT_FLAG_FIN != 0, bytes_mut(&mut buffer), range, key)
            .map(|frame| frame.start as u32)
            .ok_or_else(no_room)
    }

    /// Whether the next data frame, of `length` bytes, has to go through `compress` and `frameCompressed`. To be called for
    /// every data frame where permessage-deflate was negotiated.
    #[napi(catch_unwind)]
    pub fn will_compress(&mut self, tag: u32, length: f64) -> bool {
        let (_, flags, _) = unpack(tag);
        self.engine.will_compress(flags & OUT_FLAG_COMPRESS != 0, length as usize)
    }

    /// Compresses the next bytes of the payload of a data frame; `last` says that they end it. Returns how many bytes the
    /// compressed payload has by now.
    #[napi(catch_unwind)]
    pub fn compress(&mut self, tag: u32, bytes: &[u8], last: bool) -> f64 {
        let (_, flags, _) = unpack(tag);
        self.engine.compress(bytes, last && flags & OUT_FLAG_FIN != 0, &mut self.compressed);
        self.compressed.len() as f64
    }

    /// As `frame`, with what `compress` has made for the payload, which is written to `buffer` from `start` on.
    #[napi(catch_unwind)]
    pub fn frame_compressed(
        &mut self,
        tag: u32,
        mut buffer: Uint8ArraySlice<'_>,
        start: u32,
        key: Option<u32>,
    ) -> Result<u32> {
        let (kind, flags, _) = unpack(tag);
        let kind = frame_kind(kind)?;
        let payload = std::mem::take(&mut self.compressed);
        let start = start as usize;
        let range = start..start.saturating_add(payload.len());
        let buffer = bytes_mut(&mut buffer);
        if let Some(room) = buffer.get_mut(range.clone()) {
            room.copy_from_slice(&payload);
        }
        let fin = flags & OUT_FLAG_FIN != 0;
        let frame = self.engine.frame_in_place(kind, fin, buffer, range, key.map(u32::to_le_bytes));
        frame.map(|frame| frame.start as u32).ok_or_else(no_room)
    }

    /// Gives back the compression contexts that no message under way needs.
    #[napi(catch_unwind)]
    pub fn release_contexts(&mut self) {
        self.engine.release_contexts();
    }

    /// Frees all that it holds: the connection is gone. Collecting the garbage would do it too, some time.
    #[napi(catch_unwind)]
    pub fn dispose(&mut self) {
        self.engine = Engine::new();
        self.compressed = Vec::new();
        self.owned = Vec::new();
    }

    fn next(&mut self, chunk: &mut [u8]) -> Next {
        if !self.engine.has_deflate() {
            return self.engine.poll(&self.config, chunk, &mut self.position).map_or(Next::End, Next::Event);
        }
        while self.position < chunk.len() {
            // As where inflating takes time: what the handlers before it do comes first, once for each chunk.
            let again = self.told && !self.paused && self.engine.begins_compressed(chunk, self.position);
            if again || self.work >= INFLATE_BUDGET {
                self.work = 0;
                self.paused = true;
                return Next::Pause;
            }
            let end = self.position.saturating_add(COMPRESSED_PIECE).min(chunk.len());
            let piece = chunk.get_mut(..end).unwrap_or_default();
            let event = self.engine.poll(&self.config, piece, &mut self.position);
            self.work += self.pool.take_work();
            if let Some(event) = event {
                self.told = true;
                return Next::Event(event);
            }
        }
        Next::End
    }

    fn record(&mut self, event: Event) -> Record {
        match event {
            Event::Message { kind: MessageKind::Text, payload } => self.carry(IN_TEXT, 0, payload),
            Event::Message { kind: MessageKind::Binary, payload } => self.carry(IN_BINARY, 0, payload),
            Event::Ping(payload) => self.carry(IN_PING, 0, payload),
            Event::Pong(payload) => self.carry(IN_PONG, 0, payload),
            Event::Close { code, reason } => {
                let code = code.map_or(CloseCode::NO_STATUS_RECEIVED, CloseCode::get);
                self.carry(IN_CLOSE, code, reason)
            }
            Event::Error(error) => Record::new(0, IN_ERROR, error.kind as u8, error.detail, 0, 0),
        }
    }

    fn carry(&mut self, kind: u8, aux: u16, payload: Payload) -> Record {
        let length = payload.len() as u32;
        match payload {
            Payload::Input { range, .. } => Record::new(0, kind, 0, aux, range.start as u32, length),
            Payload::Owned(bytes) => {
                self.owned.push(bytes);
                Record::new(0, kind, IN_FLAG_OWNED, aux, self.owned.len() as u32 - 1, length)
            }
        }
    }
}

fn frame_kind(kind: u8) -> Result<FrameKind> {
    match kind {
        OUT_TEXT => Ok(FrameKind::Text),
        OUT_BINARY => Ok(FrameKind::Binary),
        OUT_PING => Ok(FrameKind::Ping),
        OUT_PONG => Ok(FrameKind::Pong),
        OUT_CLOSE => Ok(FrameKind::Close),
        _ => Err(Error::new(Status::InvalidArg, "frame: not the tag of a frame")),
    }
}

fn no_room() -> Error {
    Error::new(Status::InvalidArg, "frame: the buffer has no room for it")
}
