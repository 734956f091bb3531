//! The conversation of two processes, of which one gives its connections to the other. Each side is a thread that
//! blocks; both end with the conversation.
//!
//! ```text
//! new                         old
//! HELLO version        ->
//!                      <-     HELLO version, or REFUSED if it has another one
//!                             the reactors freeze, JavaScript does its part, the reactors pack
//!                      <-     PORT (its descriptor), with the state of the program
//! READY, once it listens ->
//!                      <-     BATCH (a descriptor for each connection)
//! HELD                 ->     it has understood all of them
//!                      <-     YOURS: here, and at no other time, connections change their owner
//!                      <-     ... END
//! ```
//!
//! A message is its kind, the length of its body in four bytes, and the body. Descriptors come with the kind. If the
//! conversation ends before YOURS, for any reason, the old process goes on with what it still has.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use super::parcel::{LONGEST, Parcel};
use super::{Packed, Packs};
use crate::engine::portable::{Decoder, Encoder};
use crate::reactor::{Command, ConnectionId, Handle, Transport};

/// The state of connections has this form. Another form, another number.
pub const VERSION: u64 = 1;

const MAGIC: &[u8] = b"reactor-ws handover";
const HELLO: u8 = 1;
const REFUSED: u8 = 2;
const PORT: u8 = 3;
const READY: u8 = 4;
const BATCH: u8 = 5;
const HELD: u8 = 6;
const YOURS: u8 = 7;
const END: u8 = 8;

/// Most connections of a batch: a message carries at most 253 descriptors.
const MOST: usize = 64;
/// A batch with more bytes has one connection.
const BATCH_BYTES: usize = 4 << 20;
/// For an answer that needs no work.
const PATIENCE: Duration = Duration::from_secs(30);
/// For a process whose program does its part.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// What a thread reports.
pub enum Report {
    /// The other side speaks our version.
    Met,
    /// The listening socket, and the state of the program.
    Port(OwnedFd, Vec<u8>),
    Ended(Outcome),
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// Connections that have another owner now.
    pub moved: usize,
    /// Connections that cannot move.
    pub stay: usize,
    /// Bytes of state.
    pub bytes: usize,
    /// `None`: all that can move has.
    pub failure: Option<io::Error>,
}

/// From a process that gives, once its reactors pack.
pub struct Giving {
    pub handles: Vec<Handle>,
    pub listener: u32,
    pub port: OwnedFd,
    /// Of the program, which must have it before connections come.
    pub state: Vec<u8>,
    /// One for each reactor.
    pub packs: Receiver<Packs>,
}

/// From a process that takes, once it listens.
pub struct Taking {
    pub handles: Vec<Handle>,
    pub listener: u32,
}

/// Gives the connections of a listener away. `start` brings the order after [`Report::Met`]; without it nothing has
/// changed.
pub fn give(stream: UnixStream, start: &Receiver<Giving>, report: &dyn Fn(Report)) {
    let mut outcome = Outcome::default();
    outcome.failure = converse_giving(stream, start, report, &mut outcome).err();
    report(Report::Ended(outcome));
}

fn converse_giving(
    stream: UnixStream,
    start: &Receiver<Giving>,
    report: &dyn Fn(Report),
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut peer = Peer::new(stream)?;
    let (body, _) = peer.receive_kind(HELLO, PATIENCE)?;
    if let Err(error) = read_hello(&body) {
        peer.send(REFUSED, &hello(), &[])?;
        return Err(error);
    }
    peer.send(HELLO, &hello(), &[])?;
    report(Report::Met);
    let Ok(Giving { handles, listener, port, state, packs }) = start.recv() else { return Err(cancelled()) };
    let given = give_all(&mut peer, &handles, (port, &state), &packs, outcome);
    let accepts = given.is_err();
    for handle in &handles {
        // A reactor that cannot be woken has ended, with its connections.
        let _ended = handle.submit(Command::Thaw { listener, accepts });
    }
    given
}

fn give_all(
    peer: &mut Peer,
    handles: &[Handle],
    (port, state): (OwnedFd, &[u8]),
    packs: &Receiver<Packs>,
    outcome: &mut Outcome,
) -> io::Result<()> {
    peer.send(PORT, state, &[port.as_fd()])?;
    drop(port);
    // Until then all connections are frozen.
    peer.receive_kind(READY, PATIENCE)?;
    for _ in handles {
        let Packs { reactor, packed, stay } = packs.recv_timeout(PATIENCE).map_err(late)?;
        outcome.stay += stay;
        let mut packed = packed.into_iter().peekable();
        while packed.peek().is_some() {
            let mut bytes = 0;
            let mut batch = Vec::new();
            while let Some(next) = packed.next_if(|next| {
                batch.is_empty() || (batch.len() < MOST && bytes + next.state.len() <= BATCH_BYTES)
            }) {
                bytes += next.state.len();
                batch.push(next);
            }
            give_batch(peer, &batch)?;
            outcome.moved += batch.len();
            outcome.bytes += bytes;
            let ids: Vec<ConnectionId> = batch.iter().map(|packed| packed.id).collect();
            if let Some(handle) = handles.get(reactor) {
                let _ended = handle.submit(Command::Moved(ids));
            }
        }
    }
    peer.send(END, &[], &[])
}

fn give_batch(peer: &mut Peer, batch: &[Packed]) -> io::Result<()> {
    let mut body = Vec::with_capacity(batch.iter().map(|packed| packed.state.len() + 8).sum());
    let put = &mut Encoder(&mut body);
    for packed in batch {
        put.bytes(&packed.state);
    }
    let sockets: Vec<BorrowedFd<'_>> = batch.iter().map(|packed| packed.socket.as_fd()).collect();
    peer.send(BATCH, &body, &sockets)?;
    peer.receive_kind(HELD, PATIENCE)?;
    peer.send(YOURS, &[], &[])
}

/// Takes connections. `start` brings the order after [`Report::Port`]. Those that were taken stay, whatever happens
/// then.
pub fn take(stream: UnixStream, start: &Receiver<Taking>, report: &dyn Fn(Report)) {
    let mut outcome = Outcome::default();
    outcome.failure = converse_taking(stream, start, report, &mut outcome).err();
    report(Report::Ended(outcome));
}

fn converse_taking(
    stream: UnixStream,
    start: &Receiver<Taking>,
    report: &dyn Fn(Report),
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut peer = Peer::new(stream)?;
    peer.send(HELLO, &hello(), &[])?;
    let (kind, body, _) = peer.receive(PATIENCE)?;
    read_hello(&body)?;
    if kind != HELLO {
        return Err(invalid("the other process refuses"));
    }
    report(Report::Met);
    let (state, mut sockets) = peer.receive_kind(PORT, LONG_PATIENCE)?;
    let port = sockets.pop().ok_or_else(|| invalid("no port came"))?;
    report(Report::Port(port, state));
    let Ok(Taking { handles, listener }) = start.recv() else { return Err(cancelled()) };
    let taken = take_all(&mut peer, &handles, listener, outcome);
    for handle in &handles {
        let _ended = handle.submit(Command::Thaw { listener, accepts: true });
    }
    taken
}

fn take_all(peer: &mut Peer, handles: &[Handle], listener: u32, outcome: &mut Outcome) -> io::Result<()> {
    peer.send(READY, &[], &[])?;
    for handle in handles.iter().cycle() {
        let (kind, body, sockets) = peer.receive(LONG_PATIENCE)?;
        match kind {
            BATCH => {}
            END => return Ok(()),
            _ => return Err(invalid("an unexpected message")),
        }
        let parcels = read_batch(&body, sockets)?;
        peer.send(HELD, &[], &[])?;
        peer.receive_kind(YOURS, LONG_PATIENCE)?;
        outcome.moved += parcels.len();
        outcome.bytes += body.len();
        handle.submit(Command::Import { listener, parcels })?;
    }
    Err(cancelled())
}

fn read_batch(body: &[u8], sockets: Vec<OwnedFd>) -> io::Result<Vec<(Transport, Parcel)>> {
    let from = &mut Decoder(body);
    let mut parcels = Vec::with_capacity(sockets.len());
    for socket in sockets {
        let parcel =
            from.bytes().and_then(Parcel::decode).ok_or_else(|| invalid("a malformed connection"))?;
        #[expect(clippy::disallowed_types, reason = "on its way to a reactor")]
        let stream = std::net::TcpStream::from(socket);
        parcels.push((Transport::from(stream), parcel));
    }
    // Fewer descriptors have come if this process has too many.
    if from.is_empty() && !parcels.is_empty() { Ok(parcels) } else { Err(invalid("descriptors are missing")) }
}

fn hello() -> Vec<u8> {
    let mut body = Vec::new();
    let put = &mut Encoder(&mut body);
    put.bytes(MAGIC);
    put.number(VERSION);
    body
}

/// # Errors
/// It is another program, or has another version.
fn read_hello(body: &[u8]) -> io::Result<()> {
    let from = &mut Decoder(body);
    if from.bytes() != Some(MAGIC) {
        return Err(invalid("the other program is no server of reactor-ws"));
    }
    match from.number() {
        Some(VERSION) => Ok(()),
        other => {
            let other = other.unwrap_or_default();
            let text =
                format!("the other process has version {other} of the handover, this one has {VERSION}");
            Err(io::Error::new(ErrorKind::Unsupported, text))
        }
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

fn cancelled() -> io::Error {
    io::Error::new(ErrorKind::Interrupted, "the server has closed")
}

fn late(error: RecvTimeoutError) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, error)
}

struct Peer(UnixStream);

impl Drop for Peer {
    /// The other side sees the end even if the program has another descriptor.
    fn drop(&mut self) {
        let _ended = self.0.shutdown(std::net::Shutdown::Both);
    }
}

impl Peer {
    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    fn send(&mut self, kind: u8, body: &[u8], sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
        let len = u32::try_from(body.len()).map_err(|_too_long| invalid("a message is too long"))?;
        let [a, b, c, d] = len.to_le_bytes();
        let head = [kind, a, b, c, d];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !sockets.is_empty() && !control.push(SendAncillaryMessage::ScmRights(sockets)) {
            return Err(invalid("too many descriptors"));
        }
        let parts = [IoSlice::new(&head)];
        let sent = retry_on_intr(|| rustix::net::sendmsg(&self.0, &parts, &mut control, flags()))?;
        self.0.write_all(head.get(sent..).unwrap_or_default())?;
        self.0.write_all(body)
    }

    /// # Errors
    /// `InvalidData` for a message of another kind.
    fn receive_kind(&mut self, expected: u8, patience: Duration) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        let (kind, body, sockets) = self.receive(patience)?;
        if kind == expected { Ok((body, sockets)) } else { Err(invalid("an unexpected message")) }
    }

    /// The next message, of any kind.
    fn receive(&mut self, patience: Duration) -> io::Result<(u8, Vec<u8>, Vec<OwnedFd>)> {
        self.0.set_read_timeout(Some(patience))?;
        let mut head = [0; 5];
        let mut sockets = Vec::new();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut room = [IoSliceMut::new(&mut head)];
        let got = retry_on_intr(|| rustix::net::recvmsg(&self.0, &mut room, &mut control, receiving()))?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                sockets.extend(received);
            }
        }
        sockets.iter().try_for_each(close_on_exec)?;
        if got.bytes == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // The rest of a conversation has its own time.
        self.0.set_read_timeout(Some(PATIENCE))?;
        self.0.read_exact(head.get_mut(got.bytes..).unwrap_or_default())?;
        let [kind, len @ ..] = head;
        let len = u32::from_le_bytes(len);
        if len as usize > LONGEST + BATCH_BYTES {
            return Err(invalid("a message is too long"));
        }
        let mut body = Vec::new();
        (&mut self.0).take(len.into()).read_to_end(&mut body)?;
        if body.len() != len as usize {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok((kind, body, sockets))
    }
}

#[cfg(not(target_vendor = "apple"))]
fn flags() -> SendFlags {
    SendFlags::NOSIGNAL
}

#[cfg(target_vendor = "apple")]
fn flags() -> SendFlags {
    SendFlags::empty()
}

#[cfg(not(target_vendor = "apple"))]
fn receiving() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC
}

#[cfg(target_vendor = "apple")]
fn receiving() -> RecvFlags {
    RecvFlags::empty()
}

#[cfg_attr(not(target_vendor = "apple"), expect(clippy::unnecessary_wraps, reason = "it came with the flag"))]
fn close_on_exec(socket: &OwnedFd) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    #[cfg(not(target_vendor = "apple"))]
    let _it_came_so = socket;
    Ok(())
}
