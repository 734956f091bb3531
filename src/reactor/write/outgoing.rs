//! The bytes that a connection has yet to write: small frames gathered in one buffer, large
//! payloads as they came.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};

use crate::engine::{EncodedHeader, Frame, mask};

use crate::reactor::Transport;
use crate::reactor::transport::is_short;

/// Small frames are gathered up to this size, then in another buffer, so that memory is freed as it
/// is written.
const GATHER: usize = 64 << 10;
/// Buffers in one vectored write; more only help when many large payloads wait, and then the socket
/// is full anyway.
const VECTORS: usize = 32;
/// Gathering buffers kept for the next turn: each connection that is written to needs one.
const POOLED: usize = 256;

/// Gathering buffers that no connection needs now: idle connections own none.
#[derive(Default)]
pub(super) struct Pool {
    buffers: Vec<Vec<u8>>,
    /// Bytes of buffers freed after they were written.
    freed: usize,
}

impl Pool {
    fn take(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Since the last call.
    pub(super) fn take_freed(&mut self) -> usize {
        std::mem::take(&mut self.freed)
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < POOLED && buffer.capacity() <= GATHER {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

#[derive(Default)]
pub(super) struct Outgoing {
    /// Leaves before `gathered`. Boxed, and freed when empty: an idle connection has only the
    /// pointer.
    #[expect(clippy::box_collection, reason = "24 bytes less for each connection")]
    queue: Option<Box<VecDeque<Frame>>>,
    gathered: Vec<u8>,
    /// Bytes of `gathered` that the kernel has; only ever > 0 while `queue` is empty.
    gathered_start: usize,
    len: usize,
    /// All bytes ever queued. Invariant: >= len.
    pushed: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    All,
    /// The budget is used up.
    Some,
    /// The kernel's buffer is full; a writable event will come.
    Blocked,
    /// The kernel has no memory; no event will come.
    Short,
}

impl Outgoing {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// How many of all bytes the kernel has.
    pub(super) fn written(&self) -> u64 {
        self.pushed.saturating_sub(self.len as u64)
    }

    pub(super) fn push(&mut self, bytes: &[u8], pool: &mut Pool) {
        self.begin(pool);
        self.gathered.extend_from_slice(bytes);
        self.count(bytes.len());
    }

    /// Queues a frame with a copy of its payload, masked with `key`.
    pub(super) fn push_frame(
        &mut self,
        header: &EncodedHeader,
        payload: &[u8],
        key: Option<[u8; 4]>,
        pool: &mut Pool,
    ) {
        self.push_frames(std::iter::once((*header, payload)), pool);
        if let Some(key) = key {
            let start = self.gathered.len().saturating_sub(payload.len());
            mask::unmask(key, 0, self.gathered.get_mut(start..).unwrap_or_default());
        }
    }

    /// Queues frames, copying their payloads. Returns their bytes.
    #[inline(always)]
    pub(super) fn push_frames<'a>(
        &mut self,
        frames: impl Iterator<Item = (EncodedHeader, &'a [u8])>,
        pool: &mut Pool,
    ) -> usize {
        let mut bytes = 0;
        for (header, payload) in frames {
            self.begin(pool);
            append(&mut self.gathered, &header, payload);
            bytes += header.len() + payload.len();
        }
        self.count(bytes);
        bytes
    }

    #[inline]
    fn begin(&mut self, pool: &mut Pool) {
        if self.gathered.capacity() == 0 {
            self.gathered = pool.take();
        } else if self.gathered.len() > GATHER {
            self.seal();
        }
    }

    /// Queues bytes without copying.
    pub(super) fn push_whole(&mut self, frame: Frame) {
        if !self.gathered.is_empty() {
            self.seal();
        }
        self.count(frame.len());
        self.queue.get_or_insert_default().push_back(frame);
    }

    /// The bytes that wait, without the first ones.
    pub(super) fn copy(&self, mut without: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len.saturating_sub(without));
        let frames = self.queue.iter().flat_map(|queue| queue.iter()).map(|frame| &**frame);
        for part in frames.chain(self.gathered.get(self.gathered_start..)) {
            bytes.extend_from_slice(part.get(without..).unwrap_or_default());
            without = without.saturating_sub(part.len());
        }
        bytes
    }

    /// Writes until everything is written, the kernel takes no more, or the budget is used up.
    ///
    /// # Errors
    /// The socket's; the connection is then of no more use.
    pub(super) fn write_to(
        &mut self,
        transport: &mut Transport,
        pool: &mut Pool,
        mut budget: usize,
    ) -> io::Result<Written> {
        while self.len > 0 {
            if budget == 0 {
                return Ok(Written::Some);
            }
            let sent = match self.write_once(transport, budget) {
                Ok(sent) => sent,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Written::Blocked),
                Err(error) if is_short(&error) => return Ok(Written::Short),
                Err(error) => return Err(error),
            };
            // A short write on a non-blocking stream means a full buffer, but only a refused one
            // arms the edge.
            pool.freed += self.consume(sent);
            budget = budget.saturating_sub(sent);
        }
        if self.gathered.capacity() > 0 {
            pool.give(std::mem::take(&mut self.gathered));
        }
        self.queue = None;
        match transport.stream_mut().flush() {
            Err(error) if is_short(&error) => Ok(Written::Short),
            // The transport's own bytes leave with the next edge.
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(Written::All),
        }
    }

    /// Frees at least `least` of the waiting bytes, from the front. Returns how many: 0 only if
    /// none wait.
    pub(super) fn discard(&mut self, least: usize) -> usize {
        let before = self.len;
        while self.len > 0 && before - self.len < least.max(1) {
            let first = self.queue.as_ref().and_then(|queue| queue.front());
            self.consume(first.map_or(self.len, |first| first.len()));
        }
        before - self.len
    }

    fn count(&mut self, bytes: usize) {
        self.len += bytes;
        self.pushed += bytes as u64;
    }

    fn seal(&mut self) {
        let bytes = std::mem::take(&mut self.gathered);
        let start = std::mem::take(&mut self.gathered_start);
        self.queue.get_or_insert_default().push_back(Frame::new(bytes, start));
    }

    fn write_once(&self, transport: &mut Transport, most: usize) -> io::Result<usize> {
        let gathered = self.gathered.get(self.gathered_start..).unwrap_or_default();
        let Some((queue, first)) = self.queue.as_deref().and_then(|queue| Some((queue, queue.front()?)))
        else {
            return transport.stream_mut().send(first_of(gathered, most));
        };
        if queue.len() == 1 && gathered.is_empty() {
            return transport.stream_mut().send(first_of(first, most));
        }
        let mut vectors = [IoSlice::new(&[]); VECTORS];
        let (mut used, mut room) = (0, most);
        let waiting = queue.iter().map(|frame| &**frame).chain(std::iter::once(gathered));
        for (vector, bytes) in vectors.iter_mut().zip(waiting) {
            let bytes = first_of(bytes, room);
            *vector = IoSlice::new(bytes);
            used += 1;
            room -= bytes.len();
            if room == 0 {
                break;
            }
        }
        transport.stream_mut().send_vectored(&vectors[..used])
    }

    /// Takes `sent` bytes off the front. Returns the bytes of the buffers that this frees.
    fn consume(&mut self, mut sent: usize) -> usize {
        self.len = self.len.saturating_sub(sent);
        let mut freed = 0;
        while let Some(queue) = &mut self.queue
            && let Some(first) = queue.front_mut()
        {
            let rest = first.len();
            if sent < rest {
                first.skip(sent);
                return freed;
            }
            sent -= rest;
            freed += first.size_if_last();
            queue.pop_front();
        }
        self.gathered_start += sent;
        if self.gathered_start >= self.gathered.len() {
            self.gathered.clear();
            self.gathered_start = 0;
        }
        freed
    }
}

fn first_of(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..bytes.len().min(most)).unwrap_or_default()
}

#[inline(always)]
fn append(gathered: &mut Vec<u8>, header: &EncodedHeader, payload: &[u8]) {
    gathered.reserve(header.len() + payload.len());
    match header.as_bytes() {
        // Most payloads have such a short header, and copying a few bytes needs no call.
        &[first, second] => gathered.extend_from_slice(&[first, second]),
        header => gathered.extend_from_slice(header),
    }
    gathered.extend_from_slice(payload);
}
