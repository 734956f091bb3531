//! Messages that come in compressed, on one connection.

use crate::engine::error::ErrorKind;
use crate::engine::utf8::Validator;

use super::INFLATER_BYTES;
use super::budget::Budget;
use super::inflater::{Inflater, Sink};
use super::pool::Pool;
use super::settings::Settings;

/// The context for incoming bytes, or the bytes that arrived without one.
pub(in crate::engine) struct Incoming {
    /// The context is kept between messages, with its place in the budget for the connection's
    /// life.
    takeover: bool,
    /// Invariant: without takeover, only inside a message, and charged to the budget.
    inflater: Option<Inflater>,
    /// The current message, while there is no context.
    held: Option<Box<Held>>,
    /// Bytes of the current message have arrived.
    begun: bool,
    /// The end of the input so far, for when the context is released.
    history: Option<Vec<u8>>,
    /// The current message as it came, for another process, unless it is too long.
    raw: Option<Box<Held>>,
    movable: bool,
    window: usize,
}

pub(in crate::engine) struct Incomplete<'a> {
    /// Inflated so far.
    pub(in crate::engine) message: &'a mut Vec<u8>,
    /// Most bytes of the message.
    pub(in crate::engine) limit: usize,
    /// For text.
    pub(in crate::engine) utf8: Option<&'a mut Validator>,
}

impl Incoming {
    pub(super) fn new(takeover: bool, window: usize, settings: &Settings, budget: &Budget) -> Self {
        if takeover {
            budget.reserve();
        }
        let Settings { releasable, movable, .. } = *settings;
        let history = (takeover && (releasable || movable)).then(Vec::new);
        Self { takeover, inflater: None, held: None, begun: false, history, raw: None, movable, window }
    }

    /// The end of the input so far, and the current message as it came. `None`: they were not remembered.
    pub(super) fn export(&self) -> Option<(&[u8], Option<&Held>)> {
        let current = self.raw.as_deref();
        let remembers = self.history.is_some() || self.inflater.is_none() || !self.takeover;
        let moves = remembers && (current.is_some() || !self.begun);
        moves.then(|| (self.history.as_deref().unwrap_or_default(), current))
    }

    pub(super) fn import(&mut self, history: Vec<u8>, current: Option<Held>) {
        if self.takeover && !history.is_empty() {
            self.history = Some(history);
        }
        self.begun = current.as_ref().is_some_and(|current| current.len() > 0);
        self.held = current.map(Box::new);
        self.raw = self.held.clone();
    }

    /// The size of the peer's window.
    pub(super) fn window(&self) -> usize {
        self.window
    }

    /// Whether messages of the peer can refer to earlier ones.
    pub(super) fn keeps_context(&self) -> bool {
        self.takeover
    }

    pub(super) fn inflate(
        &mut self,
        pool: &Pool,
        bytes: &[u8],
        (frame_end, fin): (bool, bool),
        to: Incomplete<'_>,
    ) -> Result<(), ErrorKind> {
        let is_first = !self.begun;
        self.begun |= !bytes.is_empty();
        // RFC 7692, section 7.2.3.6, has no message without a byte, but all implementations accept
        // it as an empty one.
        if !self.begun {
            return Ok(());
        }
        let message_end = frame_end && fin;
        self.note_raw(bytes, is_first, (frame_end, message_end));
        // The context is needed within this call only.
        let passes = message_end && !self.takeover && self.inflater.is_none();
        if !passes && !self.may_have_context(bytes.len(), pool.budget()) {
            self.held.get_or_insert_default().push(bytes, frame_end);
            return Ok(());
        }
        let mut shared = pool.lock();
        let mut passing = None;
        let place = if passes { &mut passing } else { &mut self.inflater };
        let inflater = place.get_or_insert_with(|| shared.inflater(self.history.as_deref()));
        let (before, held) = (to.message.len(), self.held.take());
        let work = bytes.len() + held.as_ref().map_or(0, |held| held.len());
        let Incomplete { message, limit, utf8 } = to;
        let mut sink = Sink { out: message, limit, utf8, scratch: &mut shared.scratch };
        let inflated = inflater.inflate_held(held.as_deref(), &mut sink);
        let inflated = inflated.and_then(|()| inflater.feed(bytes, &mut sink));
        let inflated =
            inflated.and_then(|()| if message_end { inflater.finish(&mut sink) } else { Ok(None) });
        shared.work += work + message.len() - before;
        if frame_end {
            inflater.end_frame();
        }
        if let Some(inflater) = passing {
            shared.give_inflater(inflater);
        }
        let end = inflated?;
        drop(shared);
        if message_end {
            self.end_message(pool, message, end);
        }
        Ok(())
    }

    /// `ends`: the frame, and the message.
    fn note_raw(&mut self, bytes: &[u8], is_first: bool, ends: (bool, bool)) {
        if is_first && self.movable {
            self.raw = Some(Box::default());
        }
        let fits = self.raw.as_ref().is_some_and(|raw| raw.len() + bytes.len() <= MOST_RAW);
        if ends.1 || !fits {
            self.raw = None;
        } else if let Some(raw) = &mut self.raw {
            raw.push(bytes, ends.0);
        }
    }

    /// `end`: where in it a DEFLATE stream has ended.
    fn end_message(&mut self, pool: &Pool, message: &[u8], end: Option<usize>) {
        self.begun = false;
        self.remember(message, end);
        if !self.takeover {
            self.give_context(pool);
        }
    }

    /// Whether the current message has a context, or gets one now that `more` bytes have arrived.
    fn may_have_context(&self, more: usize, budget: &Budget) -> bool {
        if self.takeover || self.inflater.is_some() || budget.lend() {
            return true;
        }
        let len = self.held.as_ref().map_or(0, |held| held.len()).saturating_add(more);
        let is_long = len > MOST_HELD;
        if is_long {
            budget.reserve();
        }
        is_long
    }

    fn give_context(&mut self, pool: &Pool) {
        let Some(inflater) = self.inflater.take() else { return };
        pool.lock().give_inflater(inflater);
        if !self.takeover {
            pool.budget().unreserve();
        }
    }

    fn remember(&mut self, message: &[u8], end: Option<usize>) {
        let Some(history) = &mut self.history else { return };
        if end.is_some() {
            *history = Vec::new();
        }
        let start = message.len().saturating_sub(self.window).max(end.unwrap_or_default());
        let newest = message.get(start..).unwrap_or_default();
        let excess = (history.len() + newest.len()).saturating_sub(self.window);
        history.drain(..excess.min(history.len()));
        history.reserve_exact(newest.len());
        history.extend_from_slice(newest);
    }

    /// Gives the context back if no current message needs it and its history is remembered.
    pub(super) fn release(&mut self, pool: &Pool) {
        if !self.begun && self.history.is_some() {
            self.give_context(pool);
        }
    }

    pub(super) fn end(&mut self, pool: &Pool) {
        self.begun = false;
        self.history = None;
        self.held = None;
        self.raw = None;
        self.give_context(pool);
    }

    pub(super) fn forget(&mut self, budget: &Budget) {
        if self.takeover || self.inflater.is_some() {
            budget.unreserve();
        }
    }

    pub(super) fn holds_context(&self) -> bool {
        self.inflater.is_some()
    }

    /// Bytes of the current message's own context, present or future; a kept one counts in the
    /// [`Budget`] only.
    pub(in crate::engine) fn lent(&self) -> usize {
        let lent = !self.takeover && (self.inflater.is_some() || self.held.is_some());
        let raw = self.raw.as_ref().map_or(0, |raw| raw.buffered());
        raw + if lent { INFLATER_BYTES } else { 0 }
    }

    pub(super) fn buffered(&self) -> usize {
        let inflater = if self.inflater.is_some() { INFLATER_BYTES } else { 0 };
        let held = self.held.as_ref().map_or(0, |held| held.buffered());
        let raw = self.raw.as_ref().map_or(0, |raw| raw.buffered());
        inflater + held + raw + self.history.as_ref().map_or(0, Vec::capacity)
    }
}

impl Inflater {
    fn inflate_held(&mut self, held: Option<&Held>, sink: &mut Sink<'_>) -> Result<(), ErrorKind> {
        let Some(held) = held else { return Ok(()) };
        for (bytes, frame_end) in held.frames() {
            self.feed(bytes, sink)?;
            if frame_end {
                self.end_frame();
            }
        }
        Ok(())
    }
}

/// A longer message does not move.
const MOST_RAW: usize = u16::MAX as usize;

/// A longer message is worth a context.
const MOST_HELD: usize = 4 << 10;

/// The beginning of a message, still compressed, while there is no context to inflate it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Held {
    pub(in crate::engine) bytes: Vec<u8>,
    /// The ends of frames in `bytes`, ascending. After a frame that ends its stream with BFINAL the
    /// next begins anew.
    pub(in crate::engine) ends: Vec<u16>,
}

impl Held {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn push(&mut self, bytes: &[u8], frame_end: bool) {
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len() as u16;
        if frame_end && self.ends.last() != Some(&end) {
            self.ends.push(end);
        }
    }

    /// All but the last are complete.
    fn frames(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&end| usize::from(end)));
        let ends = self.ends.iter().map(|&end| usize::from(end)).chain([self.bytes.len()]);
        let pieces = starts.zip(ends).map(|(start, end)| self.bytes.get(start..end).unwrap_or_default());
        pieces.zip(self.ends.iter().map(|_| true).chain([false]))
    }

    fn buffered(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + size_of::<u16>() * self.ends.capacity()
    }
}
