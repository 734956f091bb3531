//! A message for many connections: framed once, and compressed once for each way in which their messages are.

use std::sync::Arc;

use super::deflate::Recipe;
use super::frame::{FrameKind, OpCode};
use super::{EncodedHeader, Engine, MessageKind};

/// Ways to compress that are remembered. There are as many as window sizes and settings of listeners; the oldest gives way.
const MOST_COMPRESSED: usize = 16;

/// A whole message, as a server sends it.
#[derive(Clone, Debug)]
pub struct Prepared {
    kind: MessageKind,
    /// Where permessage-deflate is on.
    compress: bool,
    /// The frame without compression.
    frame: Arc<[u8]>,
    /// Bytes of its header.
    header_len: usize,
    compressed: Vec<(Recipe, Arc<[u8]>)>,
}

impl Prepared {
    /// Copies `payload`. `compress`: whether it is compressed where permessage-deflate is on.
    pub fn new(kind: MessageKind, payload: &[u8], compress: bool) -> Self {
        let header = header(kind, false, payload.len());
        let frame = [&header, payload].concat().into();
        Self { kind, compress, frame, header_len: header.len(), compressed: Vec::new() }
    }

    /// The message.
    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.header_len..).unwrap_or_default()
    }

    /// Text or bytes.
    pub fn kind(&self) -> FrameKind {
        match self.kind {
            MessageKind::Text => FrameKind::Text,
            MessageKind::Binary => FrameKind::Binary,
        }
    }

    /// Whether it is to be compressed where permessage-deflate is on.
    pub fn compress(&self) -> bool {
        self.compress
    }
}

/// What [`Engine::prepared_frame`] found.
#[derive(Debug)]
pub struct PreparedFrame {
    /// Header and payload.
    pub bytes: Arc<[u8]>,
    /// Bytes that had to be compressed for it; 0 when that had been done before.
    pub compressed: usize,
}

impl Engine {
    /// The frame of a prepared message, as this server sends it. `None`: it has to be sent like any other message, because a
    /// message is under way, because it depends on earlier ones (a context is kept), or because it would have to be
    /// compressed and is longer than `longest`.
    pub fn prepared_frame(&mut self, prepared: &mut Prepared, longest: usize) -> Option<PreparedFrame> {
        if self.sending_message {
            return None;
        }
        let plain = || Some(PreparedFrame { bytes: prepared.frame.clone(), compressed: 0 });
        let Some(extension) = &mut self.extension else { return plain() };
        let len = prepared.payload().len();
        let wanted = extension.wants(prepared.compress, true, len);
        extension.end_message();
        if !wanted {
            return plain();
        }
        let recipe = extension.recipe_without_context()?;
        if let Some((_, bytes)) = prepared.compressed.iter().find(|(known, _)| *known == recipe) {
            return Some(PreparedFrame { bytes: bytes.clone(), compressed: 0 });
        }
        if len > longest {
            return None;
        }
        let mut body = Vec::new();
        extension.deflate(prepared.payload(), true, true, &mut body);
        let bytes: Arc<[u8]> = [&header(prepared.kind, true, body.len()), &body[..]].concat().into();
        if prepared.compressed.len() == MOST_COMPRESSED {
            prepared.compressed.remove(0);
        }
        prepared.compressed.push((recipe, bytes.clone()));
        Some(PreparedFrame { bytes, compressed: len })
    }
}

fn header(kind: MessageKind, compressed: bool, len: usize) -> EncodedHeader {
    let opcode = match kind {
        MessageKind::Text => OpCode::Text,
        MessageKind::Binary => OpCode::Binary,
    };
    EncodedHeader::encode(opcode, (true, compressed), len, None)
}
