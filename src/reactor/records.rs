//! The records of a chunk with their payloads, and what is made once of a payload that several of them have.

use std::vec::IntoIter;

use crate::bridge::chunk::{OutRecord, OutRecords};
use crate::bridge::layout::{
    OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_FLAG_SAME, OUT_FLAG_SHARED, OUT_TEXT,
};
use crate::engine::{Frame, MessageKind, Prepared};

use super::connection::HEADROOM;
use super::session::IN_PLACE;

/// The records of a chunk that are still to be applied.
pub(super) struct Records<'a> {
    pub(super) records: OutRecords<'a>,
    bytes: &'a [u8],
    large: IntoIter<Vec<u8>>,
    last: Option<&'a [u8]>,
    /// The last large payload that several records have.
    shared: Option<Prepared>,
    /// Messages with a payload that several records have.
    same: Vec<Same>,
}

/// A message that more than one record sends.
struct Same {
    /// Where its payload begins.
    start: usize,
    kind: MessageKind,
    compress: bool,
    /// Not before the third send: two are served as well from where it is.
    prepared: Option<Prepared>,
}

/// What a record brings along.
pub(super) struct Outbound<'a> {
    /// The payload in the chunk, or wherever its sender has it.
    pub(super) bytes: &'a [u8],
    /// The payload if it is a large one, behind `HEADROOM`.
    pub(super) owned: Option<Vec<u8>>,
    /// The payload where it stays for all who send it, if there is such a place.
    pub(super) kept: Option<Frame>,
    /// The next record is for the same connection.
    pub(super) more: bool,
}

impl<'a> Records<'a> {
    /// `large` are the payloads of the records in `bytes` that say so, `last` is that of one behind them.
    pub(super) fn new(bytes: &'a [u8], large: Vec<Vec<u8>>, last: Option<&'a [u8]>) -> Self {
        let records = OutRecords::new(bytes);
        Self { records, bytes, large: large.into_iter(), last, shared: None, same: Vec::new() }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<(OutRecord, Outbound<'a>)> {
        let record = self.records.next()?;
        // Taken even when the connection is gone, or the next record would get this one's payload.
        let mut owned = if record.is_large() && !record.is_same() { self.large.next() } else { None };
        if record.flags & OUT_FLAG_SHARED != 0
            && let Some((kind, compress)) = message(&record)
        {
            self.shared = owned.take().map(|bytes| Prepared::in_place(kind, bytes, HEADROOM, compress));
        }
        let bytes = match record.is_large() && owned.is_none() && !is_shared(&record) {
            true => self.last.take(),
            false => self.bytes.get(record.range.clone()),
        };
        let bytes = bytes.unwrap_or_default();
        let more = self.records.peek_slot() == Some(record.slot);
        Some((record, Outbound { bytes, owned, kept: None, more }))
    }

    /// The message that a record sends, if others send it too and it is worth to be framed once.
    #[inline]
    pub(super) fn prepared(&mut self, record: &OutRecord, payload: &Outbound<'_>) -> Option<&mut Prepared> {
        if !is_shared(record) {
            return None;
        }
        let (kind, compress) = message(record)?;
        if record.is_large() {
            return self.shared.as_mut();
        }
        if payload.bytes.len() < IN_PLACE {
            return None;
        }
        let start = record.range.start;
        let is_it = |same: &Same| (same.start, same.kind, same.compress) == (start, kind, compress);
        let Some(index) = self.same.iter().rposition(is_it) else {
            self.same.push(Same { start, kind, compress, prepared: None });
            return None;
        };
        let same = self.same.get_mut(index)?;
        Some(same.prepared.get_or_insert_with(|| Prepared::new(kind, payload.bytes, compress)))
    }
}

impl Outbound<'_> {
    pub(super) fn as_slice(&self) -> &[u8] {
        match &self.owned {
            Some(owned) => owned.get(HEADROOM..).unwrap_or_default(),
            None => self.bytes,
        }
    }

    /// The payload, for a later turn.
    pub(super) fn into_frame(self) -> Frame {
        match (self.kept, self.owned) {
            (Some(kept), _) => kept,
            (None, Some(owned)) => Frame::new(owned, HEADROOM),
            (None, None) => Frame::new(self.bytes.to_vec(), 0),
        }
    }
}

/// Whether other records have the payload too.
fn is_shared(record: &OutRecord) -> bool {
    record.flags & (OUT_FLAG_SAME | OUT_FLAG_SHARED) != 0
}

/// Of a record that sends a whole message: of which kind, and whether it is to be compressed.
fn message(record: &OutRecord) -> Option<(MessageKind, bool)> {
    let kind = match record.kind {
        OUT_TEXT => MessageKind::Text,
        OUT_BINARY => MessageKind::Binary,
        _ => return None,
    };
    (record.flags & OUT_FLAG_FIN != 0).then_some((kind, record.flags & OUT_FLAG_COMPRESS != 0))
}
