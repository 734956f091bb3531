//! What a consumer may want of a connection beside its messages: to hear when sends are in the kernel, to watch the bytes that
//! arrive, and to have others read before them.

use std::collections::VecDeque;

use crate::reactor::connection::Connection;
use crate::reactor::connection::session::Session;

/// A mark that is not reached.
const LOST: u64 = u64::MAX;

/// Few connections have any at a time.
#[derive(Default)]
pub(in crate::reactor) struct Wishes {
    /// Values of `outgoing.pushed()` at which the consumer wants to hear that all up to it is in the kernel. Invariant: in order,
    /// with `LOST` for what will never be there, and for what comes behind that.
    marks: Vec<u64>,
    /// The consumer gets a copy of all that is read.
    watched: bool,
    /// What is read before the bytes of the socket, and how far the first of it has been.
    fed: VecDeque<Vec<u8>>,
    pos: usize,
    /// The peer's end is behind it.
    ends: bool,
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

impl Session<'_> {
    /// Reports, through `on_sent`, when all that was queued so far is in the kernel.
    pub fn mark(&mut self) {
        let pushed = self.connection.write.outgoing.pushed();
        let marks = &mut self.connection.wishes.get_or_insert_default().marks;
        // One callback after the other: what follows a lost one is told with it.
        marks.push(marks.last().map_or(pushed, |&last| last.max(pushed)));
        self.touch();
    }

    /// Notes a send that was dropped: the consumer hears of it when the connection is gone.
    pub(in crate::reactor) fn mark_lost(&mut self) {
        self.connection.wishes.get_or_insert_default().marks.push(LOST);
    }

    /// Whether the consumer gets a copy of all bytes that are read from now on, before what they say. Default: false.
    pub fn watch(&mut self, on: bool) {
        if on || self.connection.wishes.is_some() {
            self.connection.wishes.get_or_insert_default().watched = on;
        }
    }

    /// Has `bytes` from `start` on read before those of the socket; `ends`: the peer's end comes behind them.
    pub(in crate::reactor) fn feed(&mut self, bytes: Vec<u8>, start: usize, ends: bool) {
        let wishes = self.connection.wishes.get_or_insert_default();
        if wishes.ends {
            return;
        }
        wishes.ends = ends;
        if wishes.fed.is_empty() {
            wishes.pos = start;
            wishes.fed.push_back(bytes);
        } else {
            wishes.fed.push_back(bytes.get(start..).unwrap_or_default().to_vec());
        }
        self.want_read();
    }
}
