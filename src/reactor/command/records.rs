//! The records of a chunk with their payloads.

use std::ops::Deref;
use std::vec::IntoIter;

use crate::bridge::chunk::{OutRecord, OutRecords};
use crate::bridge::layout::{
    MASK_AGAINST, OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_FLAG_KEY, OUT_PUBLISH, OUT_TEXT,
    PUBLISH_TEXT, TOPIC_SLOT,
};
use crate::engine::Frame;
use crate::engine::Large;
use crate::engine::{MessageKind, Prepared};

use crate::reactor::ConnectionId;
use crate::reactor::config::IN_PLACE;
use crate::reactor::write::masking::Masking;

pub(super) struct Records<'a> {
    pub(super) records: OutRecords<'a>,
    bytes: &'a [u8],
    /// Its position is in `records`.
    rest: Rest,
    last: Option<&'a [u8]>,
}

/// The rest of a chunk, without its bytes.
pub(in crate::reactor) struct Rest {
    position: usize,
    /// Large payloads from there on.
    large: IntoIter<Large>,
    /// Messages from there on that are not in the bytes.
    messages: IntoIter<Prepared>,
}

impl Rest {
    pub(in crate::reactor) fn all(large: Vec<Large>, messages: Vec<Prepared>) -> Self {
        Self { position: 0, large: large.into_iter(), messages: messages.into_iter() }
    }
}

pub(super) struct Next<'a> {
    pub(super) record: OutRecord,
    pub(super) payload: Outbound<'a>,
    /// The next record is for the same connection.
    pub(super) more: bool,
}

impl<'a> Records<'a> {
    /// `last`: the payload of a large record after those in `rest`.
    pub(super) fn new(bytes: &'a [u8], rest: Rest, last: Option<&'a [u8]>) -> Self {
        Self { records: OutRecords::from(bytes, rest.position), bytes, rest, last }
    }

    pub(super) fn into_rest(self) -> Rest {
        Rest { position: self.records.position(), ..self.rest }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Next<'a>> {
        let record = self.records.next()?;
        let payload = match record.is_large() {
            false if record.is_beside() => {
                let message = self.rest.messages.next();
                message.map(|message| Outbound::Framed(Box::new(message))).unwrap_or_default()
            }
            false => Outbound::Lent(self.bytes.get(record.range.clone()).unwrap_or_default()),
            // Taken even if the connection has ended, or the next record would get this payload.
            true => self.large(),
        };
        // A record for a topic is for many connections, so it is a step of its own.
        let more = self.records.peek_slot() == Some(record.slot) && record.slot != TOPIC_SLOT;
        Some(Next { record, payload, more })
    }

    /// The next record, if it is a short plain message for this connection: whether it is text, and
    /// its payload.
    #[inline]
    pub(super) fn next_plain(&mut self, id: ConnectionId) -> Option<(bool, &'a [u8])> {
        let record = self.records.next_if(|record| {
            record.slot == id.slot
                && record.generation == id.generation
                && is_plain(record)
                && record.range.len() < IN_PLACE
        })?;
        Some((record.kind == OUT_TEXT, self.bytes.get(record.range).unwrap_or_default()))
    }

    fn large(&mut self) -> Outbound<'a> {
        match self.rest.large.next() {
            Some(large) => Outbound::Own(large),
            None => Outbound::Lent(self.last.take().unwrap_or_default()),
        }
    }
}

/// Whether a record sends a whole message from the chunk and asks for nothing else.
#[inline]
pub(super) fn is_plain(record: &OutRecord) -> bool {
    matches!(record.kind, OUT_TEXT | OUT_BINARY)
        && record.aux == 0
        && record.flags & !OUT_FLAG_COMPRESS == OUT_FLAG_FIN
}

/// The kind of a record that sends a whole message, and whether to compress it.
pub(in crate::reactor) fn message(record: &OutRecord) -> Option<(MessageKind, bool)> {
    let kind = match record.kind {
        OUT_TEXT | OUT_BINARY if record.aux != 0 || record.flags & OUT_FLAG_KEY != 0 => return None,
        OUT_TEXT => MessageKind::Text,
        OUT_BINARY => MessageKind::Binary,
        OUT_PUBLISH if record.aux & PUBLISH_TEXT != 0 => MessageKind::Text,
        OUT_PUBLISH => MessageKind::Binary,
        _ => return None,
    };
    (record.flags & OUT_FLAG_FIN != 0).then_some((kind, record.flags & OUT_FLAG_COMPRESS != 0))
}

/// The payload of a record, wherever it is. It dereferences to its bytes, which are all in one
/// place.
pub(in crate::reactor) enum Outbound<'a> {
    /// In the chunk, or in its sender's memory until the record has been applied.
    Lent(&'a [u8]),
    /// The reactor's own, to be framed and queued where it is.
    Own(Large),
    /// Shared by all connections that send it.
    Shared(Frame),
    /// Bytes of a whole message, which other reactors can share.
    Framed(Box<Prepared>),
}

impl Default for Outbound<'_> {
    fn default() -> Self {
        Self::Lent(&[])
    }
}

impl Outbound<'_> {
    pub(in crate::reactor) fn into_frame(self) -> Frame {
        match self {
            Self::Lent(bytes) => Frame::new(bytes.to_vec(), 0),
            Self::Own(large) => {
                let (memory, start) = large.into_memory();
                Frame::new(memory, start)
            }
            Self::Shared(frame) => frame,
            Self::Framed(message) => message.payload_frame(),
        }
    }

    /// The message with this payload, not copied if it is the reactor's.
    pub(in crate::reactor) fn prepare(self, kind: MessageKind, compress: bool) -> Prepared {
        match self {
            Self::Own(large) => Prepared::in_place(kind, large, compress),
            Self::Framed(message) => *message,
            Self::Lent(_) | Self::Shared(_) => Prepared::new(kind, &self, compress),
        }
    }

    /// How the frame of a record with these flags and aux is masked, and its payload.
    pub(in crate::reactor) fn masking(self, flags: u8, aux: u16) -> (Masking, Self) {
        if flags & OUT_FLAG_KEY != 0 {
            let (key, payload) = self.split_key();
            return (key.map_or(Masking::Rule, Masking::Key), payload);
        }
        (if aux & MASK_AGAINST != 0 { Masking::Against } else { Masking::Rule }, self)
    }

    fn split_key(self) -> (Option<[u8; 4]>, Self) {
        let key = self.first_chunk().copied();
        let rest = match self {
            Self::Lent(bytes) => Self::Lent(bytes.get(4..).unwrap_or_default()),
            Self::Own(_) | Self::Shared(_) | Self::Framed(_) => {
                let mut frame = self.into_frame();
                frame.skip(4);
                Self::Shared(frame)
            }
        };
        (key, rest)
    }
}

impl Deref for Outbound<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Own(large) => large,
            Self::Shared(frame) => frame,
            Self::Framed(message) => message.payload(),
        }
    }
}
