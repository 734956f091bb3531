//! The public `Receiver`: bytes in, messages and control frames out.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Uint8ArraySlice};
use napi_derive::napi;

use crate::bridge::layout::{IN_BINARY, IN_CLOSE, IN_ERROR, IN_PING, IN_PONG, IN_TEXT, pack};
use crate::engine::deflate::Pool;
use crate::engine::{CloseCode, Config, Engine, Event, MessageKind, Payload, Role};

use super::deflate::NegotiatedDeflate;
use super::payload::bytes_mut;

#[napi(object)]
pub struct ReaderOptions {
    pub is_server: bool,
    /// Bytes, 0 = no limit.
    pub max_payload: f64,
    /// Frames, 0 = no limit.
    pub max_fragments: u32,
    pub skip_utf8_validation: bool,
    pub deflate: Option<NegotiatedDeflate>,
}

/// Bytes of compressed input between two looks at what was inflated: one byte can become a
/// thousand.
const COMPRESSED_PIECE: usize = 512;

/// One call inflates this many bytes, and up to one piece more.
const INFLATED_AT_ONCE: usize = 128 << 10;

#[napi(object)]
pub struct Frame {
    /// As in an inbound record.
    pub tag: u32,
    pub data: Buffer,
}

#[napi]
pub struct FrameReader {
    engine: Engine,
    config: Config,
    position: usize,
    pool: Arc<Pool>,
}

#[napi]
impl FrameReader {
    #[napi(constructor, catch_unwind)]
    pub fn new(options: ReaderOptions) -> Self {
        let config = Config {
            role: if options.is_server { Role::Server } else { Role::Client },
            max_payload: options.max_payload as u64,
            max_fragments: options.max_fragments,
            skip_utf8_validation: options.skip_utf8_validation,
        };
        let pool = Arc::new(Pool::of_process());
        let mut engine = Engine::new();
        if let Some(negotiated) = &options.deflate {
            let settings = negotiated.settings.config().settings;
            engine.enable_deflate(config.role, negotiated.params(), &settings, &pool);
        }
        Self { engine, config, position: 0, pool }
    }

    /// Returns the events that these bytes complete. They are unmasked in place. While `isBehind`, call
    /// again with the same chunk.
    #[napi(catch_unwind)]
    pub fn read(&mut self, mut chunk: Uint8ArraySlice<'_>) -> Vec<Frame> {
        let chunk = bytes_mut(&mut chunk);
        let mut frames = Vec::new();
        let mut inflated = 0;
        while self.position < chunk.len() && inflated < INFLATED_AT_ONCE {
            let inflates = self.engine.may_inflate(chunk, self.position);
            let most = if inflates { COMPRESSED_PIECE } else { usize::MAX };
            let end = self.position.saturating_add(most).min(chunk.len());
            let piece = chunk.get_mut(..end).unwrap_or_default();
            if let Some(event) = self.engine.poll(&self.config, piece, &mut self.position) {
                frames.push(frame(event, piece));
            }
            inflated += self.pool.take_work();
        }
        if self.position >= chunk.len() {
            self.position = 0;
        }
        frames
    }

    /// Whether part of the chunk is left because enough was inflated.
    #[napi(getter, catch_unwind)]
    pub fn is_behind(&self) -> bool {
        self.position != 0
    }

    /// As in [`Engine::declared`].
    #[napi(catch_unwind)]
    pub fn declared(&self) -> f64 {
        self.engine.declared() as f64
    }
}

fn frame(event: Event, chunk: &[u8]) -> Frame {
    let (tag, payload) = match event {
        Event::Message { kind: MessageKind::Text, payload } => (pack(IN_TEXT, 0, 0), payload),
        Event::Message { kind: MessageKind::Binary, payload } => (pack(IN_BINARY, 0, 0), payload),
        Event::Ping(payload) => (pack(IN_PING, 0, 0), payload),
        Event::Pong(payload) => (pack(IN_PONG, 0, 0), payload),
        Event::Close { code, reason } => {
            (pack(IN_CLOSE, 0, code.map_or(CloseCode::NO_STATUS_RECEIVED, CloseCode::get)), reason)
        }
        Event::Error(error) => (pack(IN_ERROR, error.kind as u8, error.detail), Payload::Owned(Vec::new())),
    };
    let data = match payload {
        Payload::Owned(bytes) => bytes,
        Payload::Input(range) => chunk.get(range).unwrap_or_default().to_vec(),
    };
    Frame { tag, data: data.into() }
}
