//! The state of one stream: chunks in, records and frames out.

use std::sync::Arc;

use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::bridge::batch::Record;
use crate::bridge::layout::{
    IN_BINARY, IN_CLOSE, IN_ERROR, IN_FLAG_LAST_PART, IN_FLAG_OWNED, IN_PART, IN_PING, IN_PONG, IN_TEXT,
    OUT_BINARY, OUT_CLOSE, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_PING, OUT_PONG, OUT_TEXT, RECORD_WORDS, pack,
    unpack,
};
use crate::engine::deflate::Pool;
use crate::engine::{
    CloseCode, Config, EncodedHeader, Engine, ErrorKind, Event, FrameKind, MessageKind, Payload, Role,
};

use crate::binding::deflate::NegotiatedDeflate;

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

/// Bytes of compressed input between two looks at what may still be inflated: one byte can
/// become a thousand.
const COMPRESSED_PIECE: usize = 512;

/// The outcome of parsing.
enum Next {
    Event(Event),
    /// The chunk is used up.
    End,
    /// Other streams come first.
    Pause,
}

/// The bytes that may be inflated in a call.
pub(super) struct Room {
    left: usize,
    used: usize,
}

impl Room {
    pub(super) fn new(left: usize) -> Self {
        Self { left, used: 0 }
    }

    /// Bytes that went into and came out of inflating: more than there was room for, if the last
    /// piece grew to more.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    fn take(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work);
        self.used += work;
    }
}

/// An engine, and its work in progress.
pub(super) struct Parser {
    engine: Engine,
    config: Config,
    /// Bytes of the chunk that are parsed.
    position: usize,
    /// Payloads of the last call's records that are not in the chunk.
    owned: Vec<Vec<u8>>,
    /// The payload of the next data frame, as far as it has been compressed.
    compressed: Vec<u8>,
    pool: Arc<Pool>,
    /// Whether something of the chunk has been reported, and whether there has been a pause since.
    reported: bool,
    paused: bool,
}

impl Parser {
    pub(super) fn new(options: &StreamOptions, pool: &Arc<Pool>) -> Self {
        let config = Config {
            role: if options.is_server { Role::Server } else { Role::Client },
            max_payload: options.max_payload as u64,
            max_fragments: options.max_fragments,
            skip_utf8_validation: options.skip_utf8_validation,
            parts: true,
        };
        let mut engine = Engine::new();
        if let Some(negotiated) = &options.deflate {
            let settings = negotiated.settings.config().settings;
            engine.enable_deflate(config.role, negotiated.params(), &settings, pool);
        }
        Self {
            engine,
            config,
            position: 0,
            owned: Vec::new(),
            compressed: Vec::new(),
            pool: pool.clone(),
            reported: false,
            paused: false,
        }
    }

    /// Parses `chunk`, unmasking it in place, and writes records like those of the reactor to
    /// `words`: slot 0, offsets relative to the chunk. Returns their number, n. If they fill
    /// `words`, call again with the same chunk. -n - 1: other streams come before the call for the
    /// rest of the chunk; that is the result when there is no more room.
    pub(super) fn input(&mut self, chunk: &mut [u8], words: &mut [u32], room: &mut Room) -> i32 {
        self.owned.clear();
        let mut count = 0;
        for record in words.chunks_exact_mut(RECORD_WORDS) {
            match self.next(chunk, room) {
                Next::Event(event) => record.copy_from_slice(&self.record(event).0),
                Next::End => {
                    self.position = 0;
                    self.reported = false;
                    self.paused = false;
                    return count;
                }
                Next::Pause => return -count - 1,
            }
            count += 1;
        }
        count
    }

    /// Bytes that the data frames of the message under way have declared.
    pub(super) fn declared(&self) -> u64 {
        self.engine.declared()
    }

    /// Complete fragments of the message under way, beyond one for each KiB of it.
    pub(super) fn small_fragments(&self) -> u64 {
        self.engine.small_fragments()
    }

    /// Bytes that the frame under way lacks, or more of them; 0 between frames.
    pub(super) fn missing(&self) -> u64 {
        self.engine.missing()
    }

    /// Takes in nothing more. Returns the tag of the record that reports the error.
    pub(super) fn refuse(&mut self, kind: ErrorKind) -> u32 {
        let error = self.engine.refuse(kind);
        pack(IN_ERROR, error.kind as u8, error.detail)
    }

    /// A payload of the last call that is not in the chunk. It can be taken once: an idle
    /// connection must not keep the payload.
    pub(super) fn take_owned(&mut self, index: usize) -> Option<Vec<u8>> {
        self.owned.get_mut(index).map(std::mem::take)
    }

    /// Whether messages may be compressed.
    pub(super) fn has_deflate(&self) -> bool {
        self.engine.has_deflate()
    }

    /// The header of the next frame, of `length` bytes that are not masked. `tag` is that of the
    /// outbound record.
    pub(super) fn header(&mut self, tag: u32, length: usize) -> Result<EncodedHeader> {
        let (kind, flags, _) = unpack(tag);
        Ok(self.engine.encode(frame_kind(kind)?, flags & OUT_FLAG_FIN != 0, length, None))
    }

    /// Makes a frame of the `length` bytes at `start` of `buffer`, masking them in place if there
    /// is a key, and returns where it begins: at most 14 bytes before `start`. `tag` is that of the
    /// outbound record.
    pub(super) fn frame(
        &mut self,
        tag: u32,
        buffer: &mut [u8],
        start: usize,
        length: usize,
        key: Option<u32>,
    ) -> Result<u32> {
        let (kind, flags, _) = unpack(tag);
        let range = start..start.saturating_add(length);
        self.engine
            .frame_in_place(
                frame_kind(kind)?,
                flags & OUT_FLAG_FIN != 0,
                buffer,
                range,
                key.map(u32::to_le_bytes),
            )
            .map(|frame| frame.start as u32)
            .ok_or_else(|| Error::new(Status::InvalidArg, "frame: the buffer has no room for it"))
    }

    pub(super) fn will_compress(&mut self, tag: u32, length: usize) -> bool {
        let (_, flags, _) = unpack(tag);
        self.engine.will_compress(flags & OUT_FLAG_COMPRESS != 0, length)
    }

    pub(super) fn compress(&mut self, tag: u32, bytes: &[u8], last: bool) -> usize {
        let (_, flags, _) = unpack(tag);
        self.engine.compress(bytes, last && flags & OUT_FLAG_FIN != 0, &mut self.compressed);
        self.compressed.len()
    }

    pub(super) fn frame_compressed(
        &mut self,
        tag: u32,
        buffer: &mut [u8],
        start: usize,
        key: Option<u32>,
    ) -> Result<u32> {
        let payload = std::mem::take(&mut self.compressed);
        if let Some(room) = buffer.get_mut(start..start.saturating_add(payload.len())) {
            room.copy_from_slice(&payload);
        }
        self.frame(tag, buffer, start, payload.len(), key)
    }

    pub(super) fn release_contexts(&mut self) {
        self.engine.release_contexts();
    }

    pub(super) fn dispose(&mut self) {
        self.engine = Engine::new();
        self.compressed = Vec::new();
        self.owned = Vec::new();
    }

    fn next(&mut self, chunk: &mut [u8], room: &mut Room) -> Next {
        if !self.engine.has_deflate() {
            return self.engine.poll(&self.config, chunk, &mut self.position).map_or(Next::End, Next::Event);
        }
        while self.position < chunk.len() {
            let inflates = self.engine.may_inflate(chunk, self.position);
            // As in ws, where inflating takes time: work of earlier handlers comes first, once for
            // each chunk.
            let again = self.reported && !self.paused && self.engine.begins_compressed(chunk, self.position);
            if again || (inflates && room.left == 0) {
                self.paused = true;
                return Next::Pause;
            }
            let most = if inflates { COMPRESSED_PIECE } else { usize::MAX };
            let end = self.position.saturating_add(most).min(chunk.len());
            let piece = chunk.get_mut(..end).unwrap_or_default();
            let event = self.engine.poll(&self.config, piece, &mut self.position);
            if inflates {
                room.take(self.pool.take_work());
            }
            if let Some(event) = event {
                self.reported = true;
                return Next::Event(event);
            }
        }
        Next::End
    }

    fn record(&mut self, event: Event) -> Record {
        match event {
            Event::Message { kind: MessageKind::Text, payload } => self.carry(IN_TEXT, 0, payload),
            Event::Message { kind: MessageKind::Binary, payload } => self.carry(IN_BINARY, 0, payload),
            Event::Part { range, last: false, .. } => {
                Record::new(0, IN_PART, 0, 0, range.start as u32, range.len() as u32)
            }
            Event::Part { kind, range, .. } => {
                let kind = if kind == MessageKind::Text { IN_TEXT } else { IN_BINARY };
                Record::new(0, kind, IN_FLAG_LAST_PART, 0, range.start as u32, range.len() as u32)
            }
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
