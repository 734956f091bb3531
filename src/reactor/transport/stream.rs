//! The contract of every way to a peer.

use std::io::{self, IoSlice};

/// Whether a read that brings less than there was room for uses up the edge. On Windows mio arms the edge only when a
/// read is refused. A read also ends before an urgent byte, and elsewhere than on Linux no event tells of it.
pub(in crate::reactor) const SHORT_IS_DRY: bool = cfg!(target_os = "linux");

pub(in crate::reactor) trait Stream {
    /// Reads arrived bytes; `room` is not empty.
    fn receive(&mut self, room: &mut [u8]) -> Received;

    /// Whether the last read used up the edge, so that the next bytes make a new one. `is_short`: it
    /// brought less than there was room for.
    fn is_dry(&self, is_short: bool) -> bool {
        is_short && SHORT_IS_DRY
    }

    /// Whether the peer's end came without `close_notify`.
    fn is_cut(&self) -> bool {
        false
    }

    /// Bytes that the last read took from the socket, if it returned a different number; else 0.
    fn spent(&self) -> usize {
        0
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_vectored(&[IoSlice::new(bytes)])
    }

    /// Writes as many bytes as are taken.
    ///
    /// # Errors
    /// The transport's; `WouldBlock` when it takes nothing: the next bytes to be written must begin as
    /// these do. A peer that has left is an error, never a signal that ends the embedding process.
    fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Writes the transport's own bytes, such as its part of a handshake.
    ///
    /// # Errors
    /// As of `send_vectored`.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether bytes that were refused might have left in part.
    fn has_begun(&self) -> bool {
        false
    }

    /// Whether bytes can be sent: the handshake of the transport is done.
    fn is_open(&self) -> bool {
        true
    }

    /// The program reports `count` sends itself, when its stream has written them. False: they have
    /// left.
    fn note_sent(&mut self, _count: u32) -> bool {
        false
    }

    /// The result of a read, without taking the bytes.
    fn look_ahead(&mut self) -> Ahead;

    /// Ends our side.
    fn end(&mut self);

    /// When this is dropped, both sides have ended and all bytes are written: nothing on its way
    /// is cut off. `has_ended`: our side ended before. The kernel does that for a plain socket.
    fn leave_when_dropped(&mut self, _has_ended: bool) {}

    /// When this is dropped, the peer gets a reset, and no waiting bytes.
    fn reset_when_dropped(&mut self);
}

pub(in crate::reactor) enum Received {
    Bytes(usize),
    /// The peer has ended its side.
    Eof,
    /// The peer's side has ended without the word that its protocol has for that.
    Cut,
    /// Nothing more for now; an edge will come.
    Empty,
    /// The system has no memory; no edge will come.
    Short,
    Dead,
}

/// The result of a read, see [`Stream::look_ahead`].
#[derive(PartialEq, Eq)]
pub(in crate::reactor) enum Ahead {
    Bytes,
    /// Nothing yet, as far as the system says.
    Nothing,
    /// The end of the peer's side, and no bytes before it.
    End,
    Dead,
}
