//! Reactor to JavaScript: the load of one crossing.

use std::ops::Range;
use std::time::Instant;

use super::layout::{IN_FLAG_OWNED, MAX_RECORDS, RECORD_WORDS, is_report, pack, unpack};
use super::limits::{MIN_READ, SHORTEST_MASKED_FRAME, SPARE_RECORDS, TURN_BYTES};
use super::read_buffer::ReadBuffer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(pub [u32; RECORD_WORDS]);

impl Record {
    /// `offset`: where the payload is in the batch, 0 without one. `length`: its bytes, or a count
    /// for some kinds.
    pub const fn new(slot: u32, kind: u8, flags: u8, aux: u16, offset: u32, length: u32) -> Self {
        Self([slot, pack(kind, flags, aux), offset, length])
    }

    /// The payload stays where it was read.
    pub fn in_place(slot: u32, kind: u8, aux: u16, range: &Range<usize>) -> Self {
        // The place of an empty payload can be given to the next read.
        let offset = if range.is_empty() { 0 } else { range.start as u32 };
        Self::new(slot, kind, 0, aux, offset, range.len() as u32)
    }

    pub const fn kind(&self) -> (u8, u8, u16) {
        unpack(self.0[1])
    }

    /// As part of a batch that held `bytes` bytes and `large` payloads before.
    const fn shifted(mut self, bytes: u32, large: u32) -> Self {
        let by = if self.kind().1 & IN_FLAG_OWNED != 0 { large } else { bytes };
        self.0[2] += by;
        self
    }
}

/// The charge of a batch to one connection, returned when JavaScript has drained the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    pub slot: u32,
    /// The slot might have another connection when the credit comes back.
    pub generation: u32,
    /// Bytes of payload.
    pub bytes: u32,
    pub records: u32,
}

/// The reactor reads sockets straight into `spare`, the engine unmasks in place, and records say
/// where the payloads are. Bytes without a record only waste room. The default has no room.
#[derive(Default)]
pub struct Batch {
    /// [`BATCH_BYTES`](super::limits::BATCH_BYTES) long; `..used` is taken.
    pub bytes: ReadBuffer,
    pub used: usize,
    /// At most [`MAX_RECORDS`].
    pub records: Vec<Record>,
    /// Payloads with an allocation of their own.
    pub large: Vec<Vec<u8>>,
    pub credits: Vec<Credit>,
    large_bytes: usize,
    /// Bytes of records about connections that open or ask to, payloads included.
    pending_open_bytes: usize,
    /// The batch's part of the inbox's weight, until it is given back.
    pub(super) charged: usize,
    /// When the system reported the events of the batch; the first report, if batches were
    /// appended.
    pub reported: Option<Instant>,
    /// The number of its last record among all published.
    pub(super) last: u64,
}

impl Batch {
    pub fn new() -> Self {
        Self { bytes: ReadBuffer::own(), ..Self::default() }
    }

    /// After reading into the free bytes, raise `used`.
    pub fn spare(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.used..).unwrap_or_default()
    }

    /// Bytes that can be read at once so that the records stay within [`MAX_RECORDS`] even if every
    /// frame is as short as possible: 6 bytes from clients, 2 from servers (RFC 6455, 5.2).
    pub fn read_room(&self, shortest_frame: usize) -> usize {
        let records = MAX_RECORDS.saturating_sub(self.records.len() + SPARE_RECORDS);
        (records * shortest_frame).min(self.bytes.len().saturating_sub(self.used))
    }

    pub fn is_full(&self) -> bool {
        self.read_room(SHORTEST_MASKED_FRAME) < MIN_READ || self.large_bytes >= TURN_BYTES
    }

    /// Whether `more` bytes still fit after the unfinished frame in `range`. If so, its bytes are
    /// moved to the end of the payloads.
    pub fn keep(&mut self, range: Range<usize>, more: usize) -> bool {
        let (end, moved) = (range.end, range.len());
        let behind = if end == self.used { 0 } else { moved };
        if self.is_full() || self.read_room(SHORTEST_MASKED_FRAME) < more.saturating_add(behind + MIN_READ) {
            return false;
        }
        if behind > 0 {
            self.bytes.copy_within(range, self.used);
            self.used += behind;
        }
        true
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.credits.is_empty()
    }

    pub fn push(&mut self, record: Record) {
        debug_assert!(self.records.len() < MAX_RECORDS, "the reactor asks read_room and is_full");
        self.records.push(record);
    }

    /// Copies the payload, into `bytes` if there is room.
    pub fn push_copy(&mut self, slot: u32, kind: u8, flags: u8, aux: u16, payload: &[u8]) {
        let offset = self.used;
        match self.spare().get_mut(..payload.len()) {
            None => self.push_owned(slot, kind, flags, aux, payload.to_vec()),
            Some(room) => {
                room.copy_from_slice(payload);
                self.used += payload.len();
                self.push(Record::new(slot, kind, flags, aux, offset as u32, payload.len() as u32));
            }
        }
    }

    /// Copies a payload shorter than `large`, if there is room; any other keeps its allocation.
    pub fn push_either(&mut self, slot: u32, kind: u8, aux: u16, payload: Vec<u8>, large: usize) {
        if payload.len() < large && payload.len() <= self.spare().len() {
            self.push_copy(slot, kind, 0, aux, &payload);
        } else {
            self.push_owned(slot, kind, 0, aux, payload);
        }
    }

    /// The payload keeps its allocation. It must be shorter than 4 GiB.
    pub fn push_owned(&mut self, slot: u32, kind: u8, flags: u8, aux: u16, payload: Vec<u8>) {
        let (index, length) = (self.large.len() as u32, payload.len() as u32);
        self.large_bytes += payload.len();
        self.large.push(payload);
        self.push(Record::new(slot, kind, flags | IN_FLAG_OWNED, aux, index, length));
    }

    pub fn push_opening(&mut self, slot: u32, kind: u8, flags: u8, aux: u16, payload: &[u8]) {
        self.push_copy(slot, kind, flags, aux, payload);
        self.pending_open_bytes += size_of::<Record>() + payload.len();
    }

    pub fn pending_open_bytes(&self) -> usize {
        self.pending_open_bytes
    }

    /// Adds to the last charge if it is the same connection's.
    pub fn charge(&mut self, slot: u32, generation: u32, bytes: u32, records: u32) {
        match self.credits.last_mut() {
            Some(last) if (last.slot, last.generation) == (slot, generation) => {
                last.bytes = last.bytes.saturating_add(bytes);
                last.records = last.records.saturating_add(records);
            }
            _ => self.credits.push(Credit { slot, generation, bytes, records }),
        }
    }

    pub fn weight(&self) -> usize {
        self.used + self.added_weight()
    }

    /// Bytes that the batch keeps busy while it waits: its whole room, however little is taken.
    pub(super) fn footprint(&self) -> usize {
        self.bytes.len() + self.added_weight()
    }

    pub(super) fn added_weight(&self) -> usize {
        size_of_val(self.records.as_slice()) + size_of_val(self.credits.as_slice()) + self.large_bytes
    }

    /// Whether the room has bytes that no peer sent.
    pub fn has_reports(&self) -> bool {
        self.records.iter().any(|record| {
            let (kind, flags, _) = record.kind();
            is_report(kind) && flags & IN_FLAG_OWNED == 0
        })
    }

    /// Copies those that fit and returns their number.
    pub fn copy_records(&self, words: &mut [u32]) -> usize {
        let targets = words.as_chunks_mut::<RECORD_WORDS>().0;
        for (target, record) in targets.iter_mut().zip(&self.records) {
            *target = record.0;
        }
        targets.len().min(self.records.len())
    }

    pub fn clear(&mut self) {
        self.used = 0;
        self.records.clear();
        self.credits.clear();
        self.pending_open_bytes = 0;
        self.charged = 0;
        self.large.clear();
        self.large_bytes = 0;
    }

    /// Whether `other` can be appended, copying at most `limit` bytes.
    pub(super) fn accepts(&self, other: &Self, limit: usize) -> bool {
        other.used <= limit
            && other.used <= self.bytes.len().saturating_sub(self.used)
            && self.records.len() + other.records.len() <= MAX_RECORDS
            && self.large_bytes + other.large_bytes <= TURN_BYTES
    }

    pub(super) fn append(&mut self, other: &mut Self) {
        let (bytes, large) = (self.used as u32, self.large.len() as u32);
        if let (Some(room), Some(taken)) = (self.spare().get_mut(..other.used), other.bytes.get(..other.used))
        {
            room.copy_from_slice(taken);
        }
        self.used += other.used;
        self.records.extend(other.records.drain(..).map(|record| record.shifted(bytes, large)));
        self.large.append(&mut other.large);
        self.large_bytes += other.large_bytes;
        self.pending_open_bytes += other.pending_open_bytes;
        self.credits.append(&mut other.credits);
        other.clear();
    }
}
