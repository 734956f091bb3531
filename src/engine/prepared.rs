//! A message for many connections: framed once, and compressed once for each combination of their
//! parameters.

use std::ops::Deref;
use std::sync::Arc;

use super::deflate::Recipe;
use super::frame::OpCode;
use super::{EncodedHeader, Engine, MessageKind};

/// As many as window sizes and settings of listeners; the oldest gives way.
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

    /// Bytes of memory that are freed with it; none while others share it.
    pub fn size_if_last(&self) -> usize {
        if Arc::strong_count(&self.bytes) == 1 { self.bytes.len() } else { 0 }
    }
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

/// A whole message, as a server sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    kind: MessageKind,
    /// Where permessage-deflate is on.
    compress: bool,
    /// Without compression.
    frame: Frame,
    header_len: usize,
    compressed: Vec<(Recipe, Frame)>,
}

impl Prepared {
    /// `compress`: where permessage-deflate is on.
    pub fn new(kind: MessageKind, payload: &[u8], compress: bool) -> Self {
        let header = header(kind, false, payload.len());
        let frame = Frame::new([&header, payload].concat(), 0);
        Self { kind, compress, frame, header_len: header.len(), compressed: Vec::new() }
    }

    /// Without a copy: the payload begins at `start` of `bytes`, and the header is written before
    /// it.
    pub fn in_place(kind: MessageKind, mut bytes: Vec<u8>, start: usize, compress: bool) -> Self {
        let payload = bytes.get(start..).unwrap_or_default();
        let header = header(kind, false, payload.len());
        let begin = start.checked_sub(header.len());
        let Some((begin, room)) = begin.and_then(|begin| Some((begin, bytes.get_mut(begin..start)?))) else {
            return Self::new(kind, bytes.get(start..).unwrap_or_default(), compress);
        };
        room.copy_from_slice(&header);
        let frame = Frame::new(bytes, begin);
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

    /// They are made again where they are needed.
    pub fn forget_compressed(&mut self) {
        self.compressed = Vec::new();
    }

    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    pub fn compress(&self) -> bool {
        self.compress
    }
}

#[derive(Debug)]
pub struct PreparedFrame {
    /// Header and payload.
    pub frame: Frame,
    /// Bytes that had to be compressed for it; 0 if there was a compressed form.
    pub compressed: usize,
}

impl Engine {
    /// `None`: send it like any other message, because a message is under way, because it depends
    /// on earlier ones (a context is kept), or because it would have to be compressed and is longer
    /// than `longest`.
    pub fn prepared_frame(&mut self, prepared: &mut Prepared, longest: usize) -> Option<PreparedFrame> {
        if self.sending_message {
            return None;
        }
        let plain = || Some(PreparedFrame { frame: prepared.frame.clone(), compressed: 0 });
        let Some(extension) = &mut self.extension else { return plain() };
        let len = prepared.payload().len();
        let wanted = extension.wants(prepared.compress, true, len);
        extension.end_message();
        if !wanted {
            return plain();
        }
        let recipe = extension.recipe_without_context()?;
        if let Some((_, frame)) = prepared.compressed.iter().find(|(known, _)| *known == recipe) {
            return Some(PreparedFrame { frame: frame.clone(), compressed: 0 });
        }
        if len > longest {
            return None;
        }
        let mut body = Vec::new();
        extension.deflate(prepared.payload(), true, true, &mut body);
        let frame = Frame::new([&header(prepared.kind, true, body.len()), &body[..]].concat(), 0);
        if prepared.compressed.len() == MOST_COMPRESSED {
            prepared.compressed.remove(0);
        }
        prepared.compressed.push((recipe, frame.clone()));
        Some(PreparedFrame { frame, compressed: len })
    }
}

fn header(kind: MessageKind, compressed: bool, len: usize) -> EncodedHeader {
    let opcode = match kind {
        MessageKind::Text => OpCode::Text,
        MessageKind::Binary => OpCode::Binary,
    };
    EncodedHeader::encode(opcode, (true, compressed), len, None)
}
