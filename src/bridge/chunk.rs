//! JavaScript to reactor: the records of one flush, and their way.

use std::ops::Range;
use std::sync::PoisonError;
use std::{mem, vec};

use crate::engine::Prepared;

use super::doorbell::Sleep;
use super::layout::{
    OUT_ALIGN, OUT_FLAG_LARGE, OUT_FLAG_SAME, OUT_HEADER_BYTES, RECORD_WORDS, TOPIC_SLOT, pack, unpack,
};
use super::limits::{SPARE_CHUNK_BYTES, SPARE_CHUNKS};
use super::queue::Queue;
use super::read_buffer::Lent;
use super::sync::{AtomicBool, Mutex, Ordering};
use crate::engine::Large;

/// Bit in the aux of a record for [`TOPIC_SLOT`] with its message in [`Chunk::messages`].
const BESIDE: u16 = 4;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Each with its payload, unless that is a large one.
    pub bytes: Vec<u8>,
    /// Payloads of the records with [`OUT_FLAG_LARGE`], in order.
    pub large: Vec<Large>,
    /// Messages to [topics](Self::push_framed), in order; chunks of other reactors share their
    /// memory.
    pub messages: Vec<Prepared>,
}

impl Chunk {
    /// A payload too long for a record's length word becomes a large one.
    pub fn push_record(
        &mut self,
        (slot, generation): (u32, u32),
        kind: u8,
        flags: u8,
        aux: u16,
        payload: &[u8],
    ) {
        let flags = flags & !(OUT_FLAG_LARGE | OUT_FLAG_SAME);
        let Ok(length) = u32::try_from(payload.len()) else {
            return self.push_large((slot, generation), kind, flags, aux, Large::copy(payload));
        };
        self.push_header([slot, generation, pack(kind, flags, aux), length]);
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(self.bytes.len().next_multiple_of(OUT_ALIGN), 0);
    }

    pub fn push_large(
        &mut self,
        (slot, generation): (u32, u32),
        kind: u8,
        flags: u8,
        aux: u16,
        payload: Large,
    ) {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let flags = flags & !OUT_FLAG_SAME | OUT_FLAG_LARGE;
        self.push_header([slot, generation, pack(kind, flags, aux), length]);
        self.large.push(payload);
    }

    /// The payload is the message with this number.
    pub fn push_same(&mut self, (slot, generation): (u32, u32), kind: u8, flags: u8, aux: u16, number: u32) {
        self.push_header([slot, generation, pack(kind, flags | OUT_FLAG_SAME, aux), number]);
    }

    /// A record for [`TOPIC_SLOT`] with its message, which other chunks can share.
    pub fn push_framed(&mut self, record: &OutRecord, message: Prepared) {
        let OutRecord { slot, generation, kind, flags, aux, .. } = *record;
        let flags = flags & !(OUT_FLAG_LARGE | OUT_FLAG_SAME);
        self.push_header([slot, generation, pack(kind, flags, aux | BESIDE), 0]);
        self.messages.push(message);
    }

    fn push_header(&mut self, words: [u32; 4]) {
        self.bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }
}

/// A chunk in the producer's memory, which comes back by [`Outbox::give_back`].
pub struct Arena {
    /// The records are its first `used` bytes.
    pub memory: Box<dyn Lent>,
    pub used: usize,
    pub large: Vec<Large>,
}

impl Arena {
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes().get(..self.used).unwrap_or_default()
    }

    pub fn records(&self) -> OutRecords<'_> {
        OutRecords::new(self.bytes())
    }
}

/// One record; its `kind` can be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutRecord {
    pub slot: u32,
    /// If it is not the slot's, the record came too late and is ignored.
    pub generation: u32,
    pub kind: u8,
    pub flags: u8,
    pub aux: u16,
    /// Where the payload is in the chunk's bytes, always within them; empty if it is elsewhere.
    pub range: Range<usize>,
    /// With [`OUT_FLAG_SAME`]: the number of the message that is the payload.
    pub number: Option<u32>,
}

impl OutRecord {
    pub const fn is_large(&self) -> bool {
        self.flags & (OUT_FLAG_LARGE | OUT_FLAG_SAME) == OUT_FLAG_LARGE
    }

    pub const fn is_beside(&self) -> bool {
        self.slot == TOPIC_SLOT && self.aux & BESIDE != 0
    }
}

/// Tolerates any bytes: a record that is cut off ends the iteration.
#[derive(Clone, Debug)]
pub struct OutRecords<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> OutRecords<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::from(bytes, 0)
    }

    pub const fn from(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    pub const fn position(&self) -> usize {
        self.position
    }

    #[inline]
    pub fn peek_slot(&self) -> Option<u32> {
        Some(self.decode()?.0.slot)
    }

    #[inline]
    pub fn next_if(&mut self, is_wanted: impl FnOnce(&OutRecord) -> bool) -> Option<OutRecord> {
        let (record, next) = self.decode()?;
        if !is_wanted(&record) {
            return None;
        }
        self.position = next;
        Some(record)
    }

    #[inline(always)]
    fn decode(&self) -> Option<(OutRecord, usize)> {
        let (header, rest) = self.bytes.get(self.position..)?.split_first_chunk::<OUT_HEADER_BYTES>()?;
        let [slot, generation, tag, length] = words(header)?;
        let (kind, flags, aux) = unpack(tag);
        let number = (flags & OUT_FLAG_SAME != 0).then_some(length);
        let start = self.position + OUT_HEADER_BYTES;
        let end = match flags & (OUT_FLAG_LARGE | OUT_FLAG_SAME) {
            0 => start + usize::try_from(length).ok().filter(|&length| length <= rest.len())?,
            _ => start,
        };
        let record = OutRecord { slot, generation, kind, flags, aux, range: start..end, number };
        // The padding can be missing at the very end. `end` is within a slice, so the sum cannot
        // overflow.
        Some((record, end.next_multiple_of(OUT_ALIGN)))
    }
}

impl Iterator for OutRecords<'_> {
    type Item = OutRecord;

    #[inline]
    fn next(&mut self) -> Option<OutRecord> {
        self.next_if(|_| true)
    }
}

#[inline(always)]
fn words(header: &[u8; OUT_HEADER_BYTES]) -> Option<[u32; RECORD_WORDS]> {
    let words: &[[u8; 4]; RECORD_WORDS] = header.as_chunks().0.first_chunk()?;
    Some(words.map(u32::from_ne_bytes))
}

/// The way to one reactor. `C` is the reactor's type of command; a [`Chunk`] is one of them.
pub struct Outbox<C: Send> {
    commands: Queue<C>,
    pub sleep: Sleep,
    has_ended: AtomicBool,
    spare: Mutex<Vec<Vec<u8>>>,
    arenas: Mutex<Vec<Box<dyn Lent>>>,
}

impl<C: Send> Outbox<C> {
    pub fn new() -> Self {
        Self {
            commands: Queue::new(),
            sleep: Sleep::default(),
            has_ended: AtomicBool::new(false),
            spare: Mutex::new(Vec::new()),
            arenas: Mutex::new(Vec::new()),
        }
    }

    #[must_use = "true is an obligation to wake the reactor"]
    pub fn send(&self, command: C) -> bool {
        self.commands.push(command);
        self.should_wake()
    }

    /// Producer: whether the reactor sleeps. After its end, the producer drops the commands.
    #[must_use = "true is an obligation to wake the reactor"]
    pub fn should_wake(&self) -> bool {
        if !self.sleep.should_wake() {
            return false;
        }
        let has_ended = self.has_ended.load(Ordering::Relaxed);
        if has_ended {
            self.drop_all();
        }
        !has_ended
    }

    /// Reactor: takes no more commands. Those that wait are dropped, and so are later ones.
    pub fn end(&self) {
        // Seen by the producer with the exchange after the one in `drop_all`.
        self.has_ended.store(true, Ordering::Relaxed);
        self.drop_all();
    }

    /// As a reactor that goes to sleep for good, so the next producer comes here, too.
    fn drop_all(&self) {
        self.sleep.prepare();
        drop(self.commands.take_all());
    }

    pub fn take_all(&self) -> vec::IntoIter<C> {
        self.commands.take_all()
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn buffer(&self) -> Vec<u8> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Producer: the memory used last, for the next [`Arena`]. `None` when the reactor has all.
    pub fn arena(&self) -> Option<Box<dyn Lent>> {
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Producer: exchanges unfilled memory for memory that was returned since, if any, which is
    /// warmer in the cache.
    pub fn exchange(&self, memory: Box<dyn Lent>) -> Box<dyn Lent> {
        match self.arenas.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            Some(last) => mem::replace(last, memory),
            None => memory,
        }
    }

    /// Takes an [`Arena`]'s memory, from the reactor when it is done, or from the lender.
    pub fn give_back(&self, memory: Box<dyn Lent>) {
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
    }

    pub fn recycle(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        if buffer.capacity() == 0 || buffer.capacity() > SPARE_CHUNK_BYTES {
            return;
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_CHUNKS {
            spare.push(mem::take(&mut buffer));
        }
    }
}
