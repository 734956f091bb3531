//! What a consumer may want of a connection beside its messages: to hear when sends are in the kernel, to watch the bytes that
//! arrive, and to have others read before them.

use std::collections::VecDeque;

use crate::reactor::connection::Connection;

/// A mark that is not reached.
pub(in crate::reactor) const LOST: u64 = u64::MAX;

/// Few connections have any at a time.
#[derive(Default)]
pub(in crate::reactor) struct Wishes {
    /// Values of `outgoing.pushed()` at which the consumer wants to hear that all up to it is in the kernel. Invariant: in order,
    /// with `LOST` for what will never be there, and for what comes behind that.
    pub(in crate::reactor) marks: Vec<u64>,
    /// The consumer gets a copy of all that is read.
    pub(in crate::reactor) watched: bool,
    /// What is read before the bytes of the socket, and how far the first of it has been.
    pub(in crate::reactor) fed: VecDeque<Vec<u8>>,
    pub(in crate::reactor) pos: usize,
    /// The peer's end is behind it.
    pub(in crate::reactor) ends: bool,
}

impl Wishes {
    /// Whether there is something to be read before the bytes of the socket.
    fn is_fed(&self) -> bool {
        self.ends || !self.fed.is_empty()
    }

    /// Copies what was fed to `room`, which is not empty, and returns how many bytes those were: 0 is the peer's end.
    /// `None`: nothing was fed, the socket is to be read.
    fn take_fed(&mut self, room: &mut [u8]) -> Option<usize> {
        while let Some(first) = self.fed.front() {
            let rest = first.get(self.pos..).unwrap_or_default();
            if rest.is_empty() {
                self.fed.pop_front();
                self.pos = 0;
                continue;
            }
            let len = rest.len().min(room.len());
            for (to, from) in room.iter_mut().zip(rest) {
                *to = *from;
            }
            self.pos += len;
            return Some(len);
        }
        std::mem::take(&mut self.ends).then_some(0)
    }
}

impl Connection {
    /// How many send marks have been reached; they are taken off the list.
    pub(in crate::reactor) fn take_sent(&mut self) -> u32 {
        let Some(wishes) = &mut self.wishes else { return 0 };
        let written = self.write.outgoing.written();
        let reached = wishes.marks.partition_point(|&mark| mark <= written);
        wishes.marks.drain(..reached);
        if wishes.marks.is_empty() && !wishes.watched && !wishes.is_fed() {
            self.wishes = None;
        }
        reached as u32
    }

    /// Whether the consumer wants to see all bytes.
    pub(in crate::reactor) fn is_watched(&self) -> bool {
        self.wishes.as_ref().is_some_and(|wishes| wishes.watched)
    }

    /// Whether there is something to be read before the bytes of the socket.
    pub(in crate::reactor) fn is_fed(&self) -> bool {
        self.wishes.as_ref().is_some_and(|wishes| wishes.is_fed())
    }

    /// Takes what the consumer wants to be read, as far as `room` goes; `Some(0)` is the peer's end, `None`: there is nothing.
    pub(in crate::reactor) fn take_fed(&mut self, room: &mut [u8]) -> Option<usize> {
        self.wishes.as_mut()?.take_fed(room)
    }
}
