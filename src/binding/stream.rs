//! The engine of one connection, driven by JavaScript: for streams that are no socket of the reactor's.

use napi::bindgen_prelude::{Uint8ArraySlice, Uint32ArraySlice};
use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::bridge::batch::Record;
use crate::bridge::layout::{
    IN_BINARY, IN_CLOSE, IN_ERROR, IN_FLAG_OWNED, IN_PING, IN_PONG, IN_TEXT, OUT_BINARY, OUT_CLOSE,
    OUT_FLAG_FIN, OUT_PING, OUT_PONG, OUT_TEXT, RECORD_WORDS, unpack,
};
use crate::engine::{CloseCode, Config, Engine, Event, FrameKind, MessageKind, Payload, Role};

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
}

#[napi]
impl StreamEngine {
    /// The engine of a connection whose handshake is done.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: StreamOptions) -> Self {
        let config = Config {
            role: if options.is_server { Role::Server } else { Role::Client },
            max_payload: options.max_payload as u64,
            max_fragments: options.max_fragments,
            skip_utf8_validation: options.skip_utf8_validation,
        };
        Self { engine: Engine::new(), config, position: 0, owned: Vec::new() }
    }

    /// Parses `chunk`, unmasking it in place, and writes records like those of the reactor to `records`: slot 0, offsets
    /// relative to the chunk. Returns how many. If they fill `records`, call again with the same chunk.
    #[napi(catch_unwind)]
    pub fn input(&mut self, mut chunk: Uint8ArraySlice<'_>, mut records: Uint32ArraySlice<'_>) -> u32 {
        let chunk = bytes_mut(&mut chunk);
        self.owned.clear();
        let mut count = 0;
        for room in words_mut(&mut records).chunks_exact_mut(RECORD_WORDS) {
            let Some(event) = self.engine.poll(&self.config, chunk, &mut self.position) else {
                self.position = 0;
                break;
            };
            room.copy_from_slice(&self.record(event).0);
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
        let kind = match kind {
            OUT_TEXT => FrameKind::Text,
            OUT_BINARY => FrameKind::Binary,
            OUT_PING => FrameKind::Ping,
            OUT_PONG => FrameKind::Pong,
            OUT_CLOSE => FrameKind::Close,
            _ => return Err(Error::new(Status::InvalidArg, "frame: not the tag of a frame")),
        };
        let start = start as usize;
        let range = start..start.saturating_add(length as usize);
        let key = key.map(u32::to_le_bytes);
        self.engine
            .frame_in_place(kind, flags & OUT_FLAG_FIN != 0, bytes_mut(&mut buffer), range, key)
            .map(|frame| frame.start as u32)
            .ok_or_else(|| Error::new(Status::InvalidArg, "frame: the buffer has no room for it"))
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
