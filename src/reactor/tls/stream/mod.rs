//! TLS over a socket of the system. The session of rustls does no I/O; here its records meet the
//! socket.
//!
//! ```text
//! socket -> SCRATCH -> feed -> the session -> plaintext -> the consumer's room
//! socket <- flush <- records in the session <- send, 64 KiB at most and nothing while earlier ones wait
//! ```
//!
//! `send` takes bytes only when the kernel has all their records. Until then it refuses them, and
//! the caller offers the same bytes again: so all bytes it has taken have left, as with a plain
//! socket.

mod handshake;
mod info;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice, Read, Write as _};
use std::net::Shutdown;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::ServerConnection;

use crate::reactor::tls::{Rejection, TlsServer, Trust};
use crate::reactor::transport::stream::{Ahead, Received, SHORT_IS_DRY, Stream};
use crate::reactor::transport::tcp::{Socket, is_short, is_transient};
use handshake::Handshake;
pub(super) use handshake::HandshakeStep;
pub use handshake::Hello;

/// Most ciphertext read with one system call, by all connections of a thread into one buffer.
const SCRATCH_BYTES: usize = 64 << 10;
/// Least ciphertext that is asked for: the rest waits here until there is room for its plaintext.
const LEAST_READ: usize = 4 << 10;
/// rustls begins with a buffer of this size, and does not make it smaller by itself.
const SMALL_BUFFER: usize = 4 << 10;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub struct TlsStream {
    socket: TcpStream,
    stage: Stage,
    /// Ciphertext that was read and waits for room: less than one read brings.
    unfed: Vec<u8>,
    /// Plaintext that was offered, and has records that the kernel does not have yet.
    offered: usize,
    /// What comes after the plaintext.
    end: Option<PeerEnd>,
    ours: OurSide,
    /// Ciphertext that the last read or look has taken.
    spent: usize,
    /// The last read has brought all that the socket had.
    is_dry: bool,
    /// The session's buffer can be larger than it needs to be.
    is_wide: bool,
}

enum Stage {
    /// A header of the PROXY protocol comes first.
    Header(Arc<TlsServer>),
    Handshaking(Box<Handshake>),
    Open(Box<TlsConn>),
    /// The handshake has failed, and the client has been told why.
    Failed,
}

pub(super) struct TlsConn {
    connection: ServerConnection,
    trust: Arc<Trust>,
    /// Why the client is not authorized, if it was asked for a certificate.
    rejection: Option<Rejection>,
}

/// How the peer's side has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerEnd {
    /// By close_notify.
    Notified,
    /// By a FIN alone, which anybody could have sent.
    Cut,
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OurSide {
    Open,
    /// close_notify is among the records that wait; the socket's side ends after it.
    Ending,
    Ended,
    /// Ends when this is dropped.
    Leaving,
}

impl TlsStream {
    /// `proxied`: a header of the PROXY protocol comes before TLS.
    pub(in crate::reactor) fn new(socket: TcpStream, server: Arc<TlsServer>, proxied: bool) -> Self {
        let stage = if proxied {
            Stage::Header(server)
        } else {
            Stage::Handshaking(Box::new(Handshake::new(server)))
        };
        Self {
            socket,
            stage,
            unfed: Vec::new(),
            offered: 0,
            end: None,
            ours: OurSide::Open,
            spent: 0,
            is_dry: false,
            is_wide: false,
        }
    }

    pub(in crate::reactor) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(in crate::reactor) fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// The PROXY header has ended; `rest` was read after it. False: there was none to wait for.
    pub(super) fn begin(&mut self, rest: &[u8]) -> bool {
        let Stage::Header(server) = &self.stage else { return false };
        self.stage = Stage::Handshaking(Box::new(Handshake::new(server.clone())));
        self.unfed.extend_from_slice(rest);
        true
    }

    pub(in crate::reactor) fn is_handshaking(&self) -> bool {
        matches!(self.stage, Stage::Handshaking(_))
    }

    fn receive_plaintext(&mut self, room: &mut [u8], scratch: &mut [u8]) -> Received {
        self.is_dry = false;
        let mut filled = 0;
        loop {
            filled += self.take_plaintext(room.get_mut(filled..).unwrap_or_default());
            if filled == room.len() || (filled > 0 && self.spent >= SCRATCH_BYTES) {
                return Received::Bytes(filled);
            }
            self.judge_emptiness();
            if !self.unfed.is_empty() {
                self.feed_unfed(room, &mut filled);
                continue;
            }
            if let Some(end) = self.end {
                return if filled > 0 { Received::Bytes(filled) } else { end.into() };
            }
            let wanted = (room.len() - filled).clamp(LEAST_READ, SCRATCH_BYTES);
            let target = scratch.get_mut(..wanted).unwrap_or_default();
            match self.socket.receive(target) {
                Received::Bytes(len) => {
                    let bytes = target.get(..len).unwrap_or_default();
                    let fed = self.feed(bytes, room, &mut filled);
                    self.unfed.extend_from_slice(bytes.get(fed..).unwrap_or_default());
                    if filled > 0 && len < wanted && SHORT_IS_DRY {
                        self.is_dry = self.has_nothing();
                        self.narrow();
                        return Received::Bytes(filled);
                    }
                }
                Received::Eof | Received::Cut => self.end = Some(PeerEnd::Cut),
                Received::Dead => self.end = Some(PeerEnd::Dead),
                Received::Empty | Received::Short if filled > 0 => return Received::Bytes(filled),
                Received::Empty => {
                    self.narrow();
                    let is_short = self.flush().is_err_and(|error| is_short(&error));
                    return if is_short { Received::Short } else { Received::Empty };
                }
                Received::Short => return Received::Short,
            }
        }
    }

    fn feed_unfed(&mut self, room: &mut [u8], filled: &mut usize) {
        let mut unfed = std::mem::take(&mut self.unfed);
        let fed = self.feed(&unfed, room, filled);
        unfed.drain(..fed);
        // Nothing is read after the end.
        if self.end.is_none() && !unfed.is_empty() {
            self.unfed = unfed;
        }
    }

    /// Gives ciphertext to the session until more plaintext waits than there is room for. Returns how
    /// much it took.
    fn feed(&mut self, bytes: &[u8], room: &mut [u8], filled: &mut usize) -> usize {
        let Stage::Open(session) = &mut self.stage else { return bytes.len() };
        let connection = &mut session.connection;
        self.is_wide |= bytes.len() > SMALL_BUFFER;
        let mut rest = bytes;
        while !rest.is_empty() && self.end.is_none() && !has_plaintext(connection) {
            self.end = match connection.read_tls(&mut rest) {
                Ok(1..) => match connection.process_new_packets() {
                    Ok(state) if state.peer_has_closed() => Some(PeerEnd::Notified),
                    Ok(_) => None,
                    Err(_broke_the_rules) => Some(PeerEnd::Dead),
                },
                // Nothing comes after close_notify; a record too long for the buffer.
                Ok(0) | Err(_) => Some(PeerEnd::Dead),
            };
            *filled += take_plaintext(connection, room.get_mut(*filled..).unwrap_or_default());
        }
        let fed = bytes.len() - rest.len();
        self.spent += fed;
        // A key update, or the alert that names the fault.
        if self.flush().is_err_and(|error| !is_transient(&error)) {
            self.end.get_or_insert(PeerEnd::Dead);
        }
        fed
    }

    fn take_plaintext(&mut self, room: &mut [u8]) -> usize {
        match &mut self.stage {
            Stage::Open(session) => take_plaintext(&mut session.connection, room),
            _ => 0,
        }
    }

    /// Ends a peer that sends nothing but key updates and empty records, of which rustls counts only as many
    /// as come in a row.
    fn judge_emptiness(&mut self) {
        if self.spent > SCRATCH_BYTES {
            self.unfed = Vec::new();
            self.end.get_or_insert(PeerEnd::Dead);
        }
    }

    /// Neither to read nor to write.
    fn has_nothing(&mut self) -> bool {
        let Stage::Open(session) = &mut self.stage else { return false };
        let connection = &mut session.connection;
        self.unfed.is_empty() && self.end.is_none() && !has_plaintext(connection) && !connection.wants_write()
    }

    fn has_plaintext(&mut self) -> bool {
        let Stage::Open(session) = &mut self.stage else { return false };
        has_plaintext(&mut session.connection)
    }

    /// Gives memory back that only long records need: an idle connection keeps the least that rustls
    /// has.
    fn narrow(&mut self) {
        if let Stage::Open(session) = &mut self.stage
            && std::mem::take(&mut self.is_wide)
        {
            // rustls makes its buffer smaller before it reads.
            let _would_block = session.connection.read_tls(&mut Nothing);
        }
    }

    fn look_into(&mut self, scratch: &mut [u8]) -> Ahead {
        self.spent = 0;
        self.is_dry = false;
        loop {
            if self.has_plaintext() {
                return Ahead::Bytes;
            }
            self.judge_emptiness();
            if !self.unfed.is_empty() {
                self.feed_unfed(&mut [], &mut 0);
                continue;
            }
            match self.end {
                Some(PeerEnd::Notified) => return Ahead::End,
                Some(PeerEnd::Cut | PeerEnd::Dead) => return Ahead::Dead,
                None => {}
            }
            let room = scratch.get_mut(..LEAST_READ).unwrap_or_default();
            match self.socket.receive(room) {
                Received::Bytes(len) => {
                    let bytes = room.get(..len).unwrap_or_default();
                    let fed = self.feed(bytes, &mut [], &mut 0);
                    self.unfed.extend_from_slice(bytes.get(fed..).unwrap_or_default());
                }
                Received::Eof | Received::Cut => self.end = Some(PeerEnd::Cut),
                Received::Dead => self.end = Some(PeerEnd::Dead),
                Received::Empty | Received::Short => return Ahead::Nothing,
            }
        }
    }

    fn shut(&self) {
        // As for a plain socket.
        drop(self.socket.shutdown(Shutdown::Write));
    }

    /// `None` unless the handshake is done.
    pub(super) fn conn(&mut self) -> Option<&mut TlsConn> {
        if let Stage::Open(conn) = &mut self.stage { Some(conn) } else { None }
    }
}

impl Stream for TlsStream {
    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    #[inline]
    fn is_dry(&self, _is_short: bool) -> bool {
        self.is_dry
    }

    fn is_cut(&self) -> bool {
        self.end == Some(PeerEnd::Cut)
    }

    #[inline]
    fn spent(&self) -> usize {
        self.spent
    }

    fn receive(&mut self, room: &mut [u8]) -> Received {
        self.spent = 0;
        match self.stage {
            Stage::Open(_) => with_scratch(|scratch| self.receive_plaintext(room, scratch)),
            Stage::Handshaking(_) => Received::Empty,
            Stage::Header(_) | Stage::Failed => self.socket.receive(room),
        }
    }

    /// Reads the socket if it must: a record can have no plaintext.
    fn look_ahead(&mut self) -> Ahead {
        if !self.is_open() {
            return self.socket.look_ahead();
        }
        with_scratch(|scratch| self.look_into(scratch))
    }

    fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.offered == 0 {
            // Records of the session's own come first.
            self.flush()?;
            let Stage::Open(session) = &mut self.stage else { return Err(ErrorKind::NotConnected.into()) };
            self.offered = session.connection.writer().write_vectored(parts)?;
            if self.offered == 0 && parts.iter().any(|part| !part.is_empty()) {
                // The keys are used up.
                return Err(ErrorKind::BrokenPipe.into());
            }
        }
        self.flush()?;
        Ok(std::mem::take(&mut self.offered))
    }

    fn has_begun(&self) -> bool {
        self.offered > 0
    }

    fn flush(&mut self) -> io::Result<()> {
        let connection = match &mut self.stage {
            Stage::Open(session) => &mut session.connection,
            Stage::Handshaking(handshake) => return handshake.flush(&self.socket),
            Stage::Header(_) | Stage::Failed => return Ok(()),
        };
        write_records(connection, &self.socket)?;
        if self.ours == OurSide::Ending {
            self.ours = OurSide::Ended;
            self.shut();
        }
        Ok(())
    }

    fn end(&mut self) {
        match &mut self.stage {
            Stage::Open(session) => {
                session.connection.send_close_notify();
                self.ours = OurSide::Ending;
                // The rest leaves with the next edge; an error is reported by the
                // next read.
                let _later = self.flush();
            }
            Stage::Handshaking(handshake) => {
                handshake.deny(&self.socket);
                self.stage = Stage::Failed;
                self.shut();
            }
            Stage::Header(_) | Stage::Failed => self.shut(),
        }
    }

    fn leave_when_dropped(&mut self, _has_ended: bool) {
        if self.is_open() && self.ours == OurSide::Open {
            self.ours = OurSide::Leaving;
        }
    }

    fn reset_when_dropped(&mut self) {
        self.socket.reset_when_dropped();
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        if self.ours == OurSide::Leaving {
            self.end();
        }
    }
}

impl From<PeerEnd> for Received {
    fn from(end: PeerEnd) -> Self {
        match end {
            PeerEnd::Notified => Self::Eof,
            PeerEnd::Cut => Self::Cut,
            PeerEnd::Dead => Self::Dead,
        }
    }
}

fn with_scratch<T>(act: impl FnOnce(&mut [u8]) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        // Zeroed once in a thread that has TLS.
        scratch.resize(SCRATCH_BYTES, 0);
        act(scratch)
    })
}

fn take_plaintext(connection: &mut ServerConnection, room: &mut [u8]) -> usize {
    // No plaintext, or the end, which `end` knows.
    connection.reader().read(room).unwrap_or_default()
}

fn has_plaintext(connection: &mut ServerConnection) -> bool {
    connection.reader().into_first_chunk().is_ok_and(|chunk| !chunk.is_empty())
}

fn write_records(connection: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    while connection.wants_write() {
        match connection.write_tls(&mut Socket(socket)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => drop(other?),
        }
    }
    Ok(())
}

struct Nothing;

impl Read for Nothing {
    fn read(&mut self, _room: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}
