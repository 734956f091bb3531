//! The bytes themselves, beside the protocol: a consumer may watch those that arrive, and have others read before them.

use std::collections::VecDeque;

use super::connection::Connection;
use super::session::Session;

/// What only a connection has whose consumer has asked for it.
#[derive(Default)]
pub(super) struct Raw {
    /// The consumer gets a copy of all that is read.
    watched: bool,
    /// What is read before the bytes of the socket, and how far the first of it has been.
    fed: VecDeque<Vec<u8>>,
    pos: usize,
    /// The peer's end is behind it.
    ends: bool,
}

impl Raw {
    /// Copies what was fed to `room`, which is not empty, and returns how many bytes those were: 0 is the peer's end.
    /// `None`: nothing was fed, the socket is to be read.
    fn take(&mut self, room: &mut [u8]) -> Option<usize> {
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
    /// Whether the consumer wants to see all bytes.
    pub(super) fn is_watched(&self) -> bool {
        self.raw.as_ref().is_some_and(|raw| raw.watched)
    }

    /// Whether there is something to be read before the bytes of the socket.
    pub(super) fn is_fed(&self) -> bool {
        self.raw.as_ref().is_some_and(|raw| raw.ends || !raw.fed.is_empty())
    }

    /// As `Raw::take`.
    pub(super) fn take_fed(&mut self, room: &mut [u8]) -> Option<usize> {
        self.raw.as_mut()?.take(room)
    }
}

impl Session<'_> {
    /// Whether the consumer gets a copy of all bytes that are read from now on, before what they say. Default: false.
    pub fn watch(&mut self, on: bool) {
        if on || self.connection.raw.is_some() {
            self.connection.raw.get_or_insert_default().watched = on;
        }
    }

    /// Has `bytes` from `start` on read before those of the socket; `ends`: the peer's end comes behind them.
    pub(super) fn feed(&mut self, bytes: Vec<u8>, start: usize, ends: bool) {
        let raw = self.connection.raw.get_or_insert_default();
        if raw.ends {
            return;
        }
        raw.ends = ends;
        if raw.fed.is_empty() {
            raw.pos = start;
            raw.fed.push_back(bytes);
        } else {
            raw.fed.push_back(bytes.get(start..).unwrap_or_default().to_vec());
        }
        self.want_read();
    }
}
