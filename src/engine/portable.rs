//! The state of an engine between two inputs as plain data, and as bytes for another process.
//!
//! An engine in its closing handshake does not move, nor does a long compressed message under way. Of compression
//! the peer's window moves if it is remembered.

use std::sync::Arc;

use super::config::Role;
use super::deflate::{self, Extension, Held, Params, Pool, Settings};
use super::event::MessageKind;
use super::frame::{MAX_CONTROL_LEN, MAX_HEADER_LEN, OpCode};
use super::message::{Message, Unfinished};
use super::receive::Kept;
use super::{Config, Engine, PartialFrame, Stage};

#[derive(Debug, PartialEq, Eq)]
pub struct Portable {
    /// The frame of which a part was read.
    frame: Option<PartialFrame>,
    message: Option<Unfinished>,
    /// The beginning of a header, or of the body of `frame` if that is a control frame.
    kept: Vec<u8>,
    sending_message: bool,
    small_fragments: u32,
    deflate: Option<deflate::Portable>,
}

impl Engine {
    /// `None`: the state cannot move.
    pub fn export(&self, role: Role) -> Option<Portable> {
        let frame = match self.stage {
            Stage::Header => None,
            Stage::Payload(frame) => Some(frame),
            Stage::Closed | Stage::Failed(_) => return None,
        };
        if self.close_sent {
            return None;
        }
        let deflate = match &self.extension {
            Some(extension) => Some(extension.export(role)?),
            None => None,
        };
        Some(Portable {
            frame,
            message: self.message.as_ref().map(|message| message.export()),
            kept: self.kept.as_ref().map(|kept| kept.0.clone()).unwrap_or_default(),
            sending_message: self.sending_message,
            small_fragments: self.small_fragments,
            deflate,
        })
    }

    /// `settings` and `pool`: as for [`enable_deflate`](Self::enable_deflate).
    ///
    /// `None`: the settings forbid it.
    pub fn import(state: Portable, config: &Config, settings: &Settings, pool: &Arc<Pool>) -> Option<Self> {
        let Portable { frame, message, kept, sending_message, small_fragments, deflate } = state;
        let message = match message {
            Some(message) => Some(Box::new(Message::import(message, config)?)),
            None => None,
        };
        Some(Self {
            stage: frame.map_or(Stage::Header, Stage::Payload),
            message,
            kept: (!kept.is_empty()).then(|| Box::new(Kept(kept))),
            close_sent: false,
            sending_message,
            small_fragments,
            extension: deflate
                .map(|state| Box::new(Extension::import(config.role, state, settings, pool.clone()))),
        })
    }
}

impl Portable {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = &mut Encoder(out);
        put.option(self.frame.as_ref(), |put, frame| {
            put.flag(frame.fin);
            put.byte(frame.opcode as u8);
            put.0.extend_from_slice(&frame.key);
            put.number(frame.remaining);
        });
        put.option(self.message.as_ref(), |put, message| {
            put.flag(message.kind == MessageKind::Text);
            put.number(message.declared);
            put.number(message.fragments.into());
            put.flag(message.compressed);
            put.bytes(&message.data);
        });
        put.bytes(&self.kept);
        put.flag(self.sending_message);
        put.number(self.small_fragments.into());
        put.option(
            self.deflate.as_ref(),
            |put, deflate::Portable { params, window, current, compresses }| {
                put.flag(params.server_no_context_takeover);
                put.flag(params.client_no_context_takeover);
                put.byte(params.server_max_window_bits);
                put.byte(params.client_max_window_bits);
                put.bytes(window);
                put.option(current.as_ref(), |put, current| {
                    put.bytes(&current.bytes);
                    put.number(current.ends.len() as u64);
                    current.ends.iter().for_each(|&end| put.number(end.into()));
                });
                put.flag(*compresses);
            },
        );
    }

    /// `None`: no engine has such a state.
    pub fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let frame = from.option(|from| {
            Some(PartialFrame {
                fin: from.flag()?,
                opcode: OpCode::from_bits(from.byte()?)?,
                key: from.array()?,
                remaining: from.number()?,
            })
        })?;
        let message = from.option(|from| {
            Some(Unfinished {
                kind: if from.flag()? { MessageKind::Text } else { MessageKind::Binary },
                declared: from.number()?,
                fragments: from.number()?.try_into().ok()?,
                compressed: from.flag()?,
                data: from.bytes()?.to_vec(),
            })
        })?;
        let kept = from.bytes()?.to_vec();
        let sending_message = from.flag()?;
        let small_fragments = from.number()?.try_into().ok()?;
        let deflate = from.option(|from| {
            let params = Params {
                server_no_context_takeover: from.flag()?,
                client_no_context_takeover: from.flag()?,
                server_max_window_bits: from.byte()?,
                client_max_window_bits: from.byte()?,
            };
            let bits = [params.server_max_window_bits, params.client_max_window_bits];
            bits.iter().all(|bits| (8..=15).contains(bits)).then_some(())?;
            let window = from.bytes()?.to_vec();
            let current = from.option(|from| {
                let bytes = from.bytes()?.to_vec();
                let mut ends = Vec::new();
                for _ in 0..from.number()? {
                    ends.push(u16::try_from(from.number()?).ok()?);
                }
                let is_ascending = ends.is_sorted_by(|one, other| one < other);
                let is_within = ends.last().is_none_or(|&last| usize::from(last) <= bytes.len());
                (is_ascending && is_within).then_some(Held { bytes, ends })
            })?;
            Some(deflate::Portable { params, window, current, compresses: from.flag()? })
        })?;
        let state = Self { frame, message, kept, sending_message, small_fragments, deflate };
        state.is_possible().then_some(state)
    }

    fn is_possible(&self) -> bool {
        let current = self.deflate.as_ref().and_then(|deflate| deflate.current.as_ref());
        let had = match &self.message {
            None => 0,
            Some(message) if message.compressed => current.map_or(0, |current| current.bytes.len() as u64),
            Some(message) => message.data.len() as u64,
        };
        let is_clear = match &self.message {
            Some(message) if message.compressed => self.deflate.is_some() && message.data.is_empty(),
            _ => current.is_none(),
        };
        let declared = self.message.as_ref().map_or(0, |message| message.declared);
        let window = self.deflate.as_ref().map_or(0, |deflate| deflate.window.len());
        let is_whole = match self.frame {
            None => self.kept.len() <= MAX_HEADER_LEN && had == declared,
            Some(frame) if frame.opcode.is_control() => {
                let len = frame.remaining.saturating_add(self.kept.len() as u64);
                frame.fin && frame.remaining > 0 && len <= MAX_CONTROL_LEN as u64 && had == declared
            }
            Some(frame) => {
                let end = had.checked_add(frame.remaining);
                self.message.is_some() && self.kept.is_empty() && frame.remaining > 0 && end == Some(declared)
            }
        };
        is_clear && is_whole && window <= 1 << 15
    }
}

/// Numbers are little-endian and have eight bytes, flags are 0 or 1, and a length precedes bytes.
pub struct Encoder<'a>(pub &'a mut Vec<u8>);

impl Encoder<'_> {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn flag(&mut self, flag: bool) {
        self.0.push(flag.into());
    }

    pub fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }
}

/// What an [`Encoder`] has made, from anyone: `None` for anything else.
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    /// The outer `None`: it is malformed.
    pub fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { take(self).map(Some) } else { Some(None) }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
