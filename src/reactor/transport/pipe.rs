//! A stream of the program, such as one for TLS. Its chunks come in by a call; its operations
//! goes out as [`StreamOp`]s, with bytes in memory that the program lends.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stream::{Ahead, Received, Stream};
use crate::bridge::read_buffer::Lent;
use crate::reactor::ConnectionId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOp {
    /// Write `len` bytes from `start` of the lent memory; with them the `sent` oldest sends that
    /// asked for a report are written.
    Write {
        start: u32,
        len: u32,
        sent: u32,
    },
    End,
    /// Destroy it; `reset`: so that the peer sees an error.
    Destroy {
        reset: bool,
    },
    Resume,
}

/// For all streams of a reactor.
#[derive(Clone, Default)]
pub struct StreamOps(Arc<Mutex<Pending>>);

#[derive(Default)]
struct Pending {
    /// In order, also for one stream.
    list: Vec<(u32, StreamOp)>,
    memory: Option<Box<dyn Lent>>,
    used: usize,
    /// Streams that have more to write than there was memory for.
    wanting: Vec<ConnectionId>,
}

impl StreamOps {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_waiting(&self) -> bool {
        let ops = self.pending();
        !ops.list.is_empty() || !ops.wanting.is_empty()
    }

    /// Hands over the operations, at most `most`, with the slots of the streams. Returns the
    /// number, and whether streams wait for memory.
    pub fn take(&self, most: usize, mut take: impl FnMut(u32, StreamOp)) -> (usize, bool) {
        let mut ops = self.pending();
        let count = ops.list.len().min(most);
        ops.list.drain(..count).for_each(|(slot, op)| take(slot, op));
        (count, !ops.wanting.is_empty())
    }

    /// Replaces the lent memory. Returns the streams that waited for it.
    pub fn lend(&self, memory: Box<dyn Lent>) -> Vec<ConnectionId> {
        let mut ops = self.pending();
        ops.used = 0;
        ops.memory = Some(memory);
        std::mem::take(&mut ops.wanting)
    }

    /// The memory is free, except for later bytes, in a turn that the loop has called.
    pub fn rewind(&self) {
        let mut ops = self.pending();
        if ops.list.is_empty() && ops.wanting.is_empty() {
            ops.used = 0;
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// Copies as many bytes as there is room for, and returns their number.
    fn write(&mut self, id: ConnectionId, parts: &[IoSlice<'_>]) -> usize {
        let Self { list, memory, used, wanting } = self;
        let Some(memory) = memory else {
            wanting.push(id);
            return 0;
        };
        let start = *used;
        let (total, all) = (parts.iter().map(|part| part.len()).sum::<usize>(), memory.bytes().len());
        if total > all - start.min(all) && total <= all {
            // In one piece, in other memory: a write costs more than a copy.
            wanting.push(id);
            return 0;
        }
        for part in parts {
            let room = memory.bytes_mut().get_mut(*used..).unwrap_or_default();
            let len = part.len().min(room.len());
            for (to, from) in room.chunks_mut(len.max(1)).take(1).zip(part.chunks(len.max(1))) {
                to.copy_from_slice(from);
            }
            *used += len;
            if len < part.len() {
                wanting.push(id);
                break;
            }
        }
        let len = *used - start;
        match list.last_mut() {
            _ if len == 0 => {}
            Some((slot, StreamOp::Write { len: before, sent: 0, .. })) if *slot == id.slot => {
                *before += len as u32
            }
            _ => list.push((id.slot, StreamOp::Write { start: start as u32, len: len as u32, sent: 0 })),
        }
        len
    }

    fn note_sent(&mut self, slot: u32, count: u32) {
        match self.list.last_mut() {
            Some((last, StreamOp::Write { sent, .. })) if *last == slot => *sent += count,
            _ => self.list.push((slot, StreamOp::Write { start: 0, len: 0, sent: count })),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Open,
    Ended,
    Gone,
}

pub struct Pipe {
    id: ConnectionId,
    ops: StreamOps,
    peer: Peer,
    takes: bool,
    /// The program does not read it until [`StreamOp::Resume`].
    throttled: bool,
    ending: Ending,
}

/// How the stream ends with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Destroyed,
    Reset,
    /// By itself, now that both sides end.
    Left,
    /// Our side has been ended already.
    Ended,
}

impl Pipe {
    pub fn new(id: ConnectionId, ops: StreamOps) -> Self {
        Self { id, ops, peer: Peer::Open, takes: true, throttled: false, ending: Ending::Destroyed }
    }

    /// Some of its bytes must not be read yet, and the program reads no more until they have been.
    pub(in crate::reactor) fn throttle(&mut self) {
        self.throttled = true;
    }

    /// The peer ended its side, or (`gone`) the stream is closed.
    pub(in crate::reactor) fn on_end(&mut self, gone: bool) {
        self.peer = if gone { Peer::Gone } else { Peer::Ended };
    }

    /// The connection stays until the stream is closed: first come the bytes that it has read. False: it is closed.
    pub(in crate::reactor) fn destroy(&mut self) -> bool {
        let is_left = self.peer != Peer::Gone;
        if is_left {
            self.push(StreamOp::Destroy { reset: false });
        }
        is_left
    }

    pub(in crate::reactor) fn set_taking(&mut self, takes: bool) {
        self.takes = takes;
    }

    fn push(&self, op: StreamOp) {
        self.ops.pending().list.push((self.id.slot, op));
    }
}

impl Stream for Pipe {
    /// Called when all received bytes were read.
    fn receive(&mut self, _room: &mut [u8]) -> Received {
        match self.peer {
            Peer::Gone => Received::Dead,
            Peer::Ended => Received::Eof,
            Peer::Open => {
                if std::mem::take(&mut self.throttled) {
                    self.push(StreamOp::Resume);
                }
                Received::Empty
            }
        }
    }

    fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.peer == Peer::Gone {
            return Err(ErrorKind::NotConnected.into());
        }
        let sent = if self.takes { self.ops.pending().write(self.id, parts) } else { 0 };
        if sent == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(sent) }
    }

    fn note_sent(&mut self, count: u32) -> bool {
        self.ops.pending().note_sent(self.id.slot, count);
        true
    }

    fn look_ahead(&mut self) -> Ahead {
        match self.peer {
            Peer::Open => Ahead::Nothing,
            Peer::Ended => Ahead::End,
            Peer::Gone => Ahead::Dead,
        }
    }

    fn end(&mut self) {
        self.push(StreamOp::End);
    }

    fn reset_when_dropped(&mut self) {
        self.ending = Ending::Reset;
    }

    fn leave_when_dropped(&mut self, has_ended: bool) {
        self.ending = if has_ended { Ending::Ended } else { Ending::Left };
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        match self.ending {
            _ if self.peer == Peer::Gone => {}
            Ending::Destroyed => self.push(StreamOp::Destroy { reset: false }),
            Ending::Reset => self.push(StreamOp::Destroy { reset: true }),
            Ending::Left => self.push(StreamOp::End),
            Ending::Ended => {}
        }
    }
}
