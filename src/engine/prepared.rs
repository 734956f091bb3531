//! A message for many connections: framed once, and compressed once for each combination of
//! parameters.

use std::ops::Deref;
use std::sync::Arc;

use super::deflate::Recipe;
use super::frame::OpCode;
use super::{EncodedHeader, Engine, Large, MessageKind};

/// Enough for the window sizes and settings of listeners; the oldest gives way.
const MOST_COMPRESSED: usize = 16;

/// Bytes that many connections send, each from its own position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Arc<Vec<u8>>,
    start: usize,
}

impl Frame {
    pub fn new(bytes: Vec<u8>, start: usize) -> Self {
        Self { bytes: Arc::new(bytes), start }
    }

    pub fn skip(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes);
    }

    /// Bytes that are freed with it; none while others share them.
    pub fn size_if_last(&self) -> usize {
        if Arc::strong_count(&self.bytes) == 1 { self.bytes.capacity() } else { 0 }
    }
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub kind: MessageKind,
    /// Where permessage-deflate is on.
    pub compress: bool,
    frame: Frame,
    header_len: usize,
    compressed: Vec<(Recipe, Frame)>,
}

impl Prepared {
    pub fn new(kind: MessageKind, payload: &[u8], compress: bool) -> Self {
        Self::in_place(kind, Large::copy(payload), compress)
    }

    pub fn in_place(kind: MessageKind, payload: Large, compress: bool) -> Self {
        let header = header(kind, false, payload.len());
        let (bytes, start) = payload.into_frame(&header);
        let frame = Frame::new(bytes, start);
        Self { kind, compress, frame, header_len: header.len(), compressed: Vec::new() }
    }

    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.header_len..).unwrap_or_default()
    }

    pub fn payload_frame(&self) -> Frame {
        let mut frame = self.frame.clone();
        frame.skip(self.header_len);
        frame
    }

    pub fn memory(&self) -> usize {
        let compressed: usize = self.compressed.iter().map(|(_, frame)| frame.bytes.len()).sum();
        self.frame.bytes.len() + compressed
    }

    pub fn has_compressed(&self) -> bool {
        !self.compressed.is_empty()
    }

    /// Compressed forms are made again when needed.
    pub fn forget_compressed(&mut self) {
        self.compressed = Vec::new();
    }
}

impl Engine {
    /// Header and payload, and the bytes that had to be compressed for them. `None`: send it like
    /// any other message, because another one is under way, because it depends on earlier ones (a
    /// context is kept), or because more than `longest` bytes would have to be compressed.
    pub fn prepared_frame(&mut self, prepared: &mut Prepared, longest: usize) -> Option<(Frame, usize)> {
        if self.sending_message {
            return None;
        }
        let plain = || Some((prepared.frame.clone(), 0));
        let Some(extension) = &mut self.extension else { return plain() };
        let len = prepared.payload().len();
        let wanted = extension.wants(prepared.compress, true, len);
        extension.compresses = false;
        if !wanted {
            return plain();
        }
        let recipe = extension.recipe_without_context()?;
        if let Some((_, frame)) = prepared.compressed.iter().find(|(known, _)| *known == recipe) {
            return Some((frame.clone(), 0));
        }
        if len > longest {
            return None;
        }
        let mut body = Large::default();
        extension.deflate(prepared.payload(), true, true, body.memory_mut());
        let header = header(prepared.kind, true, body.len());
        let (bytes, start) = body.into_frame(&header);
        let frame = Frame::new(bytes, start);
        if prepared.compressed.len() == MOST_COMPRESSED {
            prepared.compressed.remove(0);
        }
        prepared.compressed.push((recipe, frame.clone()));
        Some((frame, len))
    }
}

fn header(kind: MessageKind, compressed: bool, len: usize) -> EncodedHeader {
    let opcode = match kind {
        MessageKind::Text => OpCode::Text,
        MessageKind::Binary => OpCode::Binary,
    };
    EncodedHeader::encode(opcode, (true, compressed), len, None)
}
