//! The conversation of two processes, of which one gives its connections to the other. Each side is a thread that
//! blocks; both end with the conversation.
//!
//! ```text
//! new                         old
//! HELLO version        ->     and whether it wants to be told ahead
//!                      <-     HELLO version, or REFUSED if it has another one
//!                      <-     AHEAD (heads, which never change, while connections work)
//! HELD                 ->     its program has made its part of these connections; it owns none of them
//!                      <-     COPY (queued output), READY
//! READY                ->     its program runs
//!                             the reactors freeze, JavaScript does its part
//!                      <-     PORT (its descriptor), with the state of the program
//!                      <-     BATCH (a descriptor for each connection)
//! it listens
//! HELD                 ->     it has understood all of them; a few batches can be on their way
//!                      <-     ... END, with the time since they were read, after the last HELD
//! READY ...            ->     while its program waits, such as for a broker
//! its program has the state
//! MINE                 ->     here, and at no other time, the port and all connections change their owner
//! end, it has opened them     connections leave
//!                      <-     end, the program has handed on the messages of its broker
//! ```
//!
//! A message is its kind, the length of its body in four bytes, and the body. Descriptors come with the kind. If the
//! conversation ends before MINE, for any reason, nothing has moved. MINE is one write: the other process has it, or
//! the writer learns that it never will.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use super::parcel::{self, Early, Parcel};
use super::{BATCH_BYTES, Copied, MOST, MOST_TOLD, Packed, Packs, Stays, Told};
use crate::engine::portable::{Decoder, Encoder};
use crate::reactor::{Command, ConnectionId, Handle, Transport};

/// The state of connections has this form. Another form, another number.
pub const VERSION: u64 = 2;

const MAGIC: &[u8] = b"reactor-ws handover";
const HELLO: u8 = 1;
const REFUSED: u8 = 2;
const PORT: u8 = 3;
const BATCH: u8 = 4;
const HELD: u8 = 5;
const END: u8 = 6;
const MINE: u8 = 7;
const COPY: u8 = 8;
const READY: u8 = 9;
const AHEAD: u8 = 10;

/// Batches on their way: the system limits the descriptors that are.
const MOST_UNHELD: usize = 4;
/// The longest message.
const MOST_BYTES: usize = parcel::LONGEST + 2 * BATCH_BYTES;
/// Of a message without connections, from any program.
const SHORT: usize = 256;
/// Bytes that are read or written at once: the time is looked at in between.
const PIECE: usize = 64 << 10;

/// For the first message of a process that has connected.
const GREETING: Duration = Duration::from_secs(5);
/// For what has come already.
const GLANCE: Duration = Duration::from_millis(1);
/// How often it is looked at whether the other process, which waits, is still there.
const LOOK: Duration = Duration::from_millis(20);
/// For all copies; and from PORT to MINE: nothing is read meanwhile.
const TRANSFER: Duration = Duration::from_secs(30);
/// From PORT to MINE: most time in which the other process does nothing.
const STANDSTILL: Duration = Duration::from_secs(2);
/// For READY, and for the answer to each AHEAD: connections work meanwhile.
const STARTING: Duration = Duration::from_secs(10);
/// How often a process says READY while its program waits.
const BEAT: Duration = Duration::from_millis(500);
/// From MINE until the other process has opened the connections.
const OPENING: Duration = Duration::from_secs(1);
/// For all that the process before does, the work of its program and other conversations included.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// What a thread reports.
pub enum Report {
    /// The other side speaks our version.
    Met,
    /// It has copies of queued output, and its program runs.
    Copied,
    /// The program answers if it runs.
    Alive(Sender<()>),
    /// All belongs to the other process.
    Given,
    /// Connections that will come, each as a record that opens one. The program answers when it is ready for them.
    Ahead(Vec<u8>, Sender<()>),
    /// The listening socket, and the state of the program: the caller can listen.
    Port(OwnedFd, Vec<u8>),
    /// This process has received everything, and the caller takes it. For so long connections have not been read.
    Whole(Duration),
    Ended(Outcome),
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// Connections that have another owner now.
    pub moved: usize,
    pub stay: Stays,
    /// Bytes of state.
    pub bytes: usize,
    /// `None`: all that can move has.
    pub failure: Option<io::Error>,
}

/// To a process that gives, in this order.
pub enum Order {
    /// After [`Report::Met`]: the connections of this listener will be given.
    Copy { handles: Vec<Handle>, listener: u32 },
    /// After [`Report::Copied`].
    Give(Giving),
}

/// From a process that gives, once its reactors can pack.
pub struct Giving {
    pub handles: Vec<Handle>,
    pub listener: u32,
    pub port: OwnedFd,
    /// Of the program, which must have it before connections come.
    pub state: Vec<u8>,
    /// Since when connections are not read.
    pub frozen: Instant,
}

/// From a process that takes, once it listens.
pub struct Taking {
    pub handles: Vec<Handle>,
    pub listener: u32,
}

/// Gives the connections of a listener away. `orders` brings what to do; without [`Order::Give`] nothing has changed.
pub fn give(stream: UnixStream, orders: &Receiver<Order>, report: &dyn Fn(Report)) {
    let mut outcome = Outcome::default();
    outcome.failure = converse_giving(stream, orders, report, &mut outcome).err();
    report(Report::Ended(outcome));
}

fn converse_giving(
    stream: UnixStream,
    orders: &Receiver<Order>,
    report: &dyn Fn(Report),
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut peer = Peer::new(stream, GREETING)?;
    let (kind, body, _) = peer.receive(SHORT)?;
    let wants_ahead = match read_hello(kind, &body) {
        Ok(wants_ahead) => wants_ahead,
        Err(error) => {
            peer.send(REFUSED, &hello(false), &[])?;
            return Err(error);
        }
    };
    peer.send(HELLO, &hello(false), &[])?;
    report(Report::Met);
    let giving = loop {
        match peer.stay_until(orders)? {
            Order::Copy { handles, listener } => {
                let most = if wants_ahead { MOST_TOLD } else { 0 };
                tell_all(&mut peer, &handles, (listener, most), outcome)?;
                peer.within(TRANSFER);
                copy_all(&mut peer, &handles, listener, outcome)?;
                peer.within(STARTING);
                peer.send(READY, &[], &[])?;
                peer.receive_kind(READY)?;
                report(Report::Copied);
            }
            Order::Give(giving) => break giving,
        }
    };
    let mut moved = Vec::new();
    let given = give_all(&mut peer, &giving, &mut moved, outcome);
    if given.is_ok() {
        report(Report::Given);
        peer.end = None;
        outcome.moved = moved.iter().map(Vec::len).sum();
        for (handle, ids) in giving.handles.iter().zip(&moved) {
            let _ended = handle.call(Command::Given(ids.clone()));
        }
        // Clients wait for the other process, which has work for all processors until it has opened the connections.
        peer.within(OPENING);
        let _opened = peer.receive(0);
        for (handle, ids) in giving.handles.iter().zip(moved) {
            let _ended = handle.call(Command::Moved(ids));
        }
    }
    for handle in &giving.handles {
        // A reactor that cannot be woken has ended, with its connections.
        let _ended = handle.call(Command::Thaw { listener: giving.listener, accepts: given.is_err() });
    }
    given
}

fn tell_all(
    peer: &mut Peer,
    handles: &[Handle],
    (listener, mut most): (u32, usize),
    outcome: &mut Outcome,
) -> io::Result<()> {
    for handle in handles {
        let mut left = None;
        while left.as_ref().is_none_or(|left: &Vec<u32>| !left.is_empty()) {
            peer.within(STARTING);
            let (to, told) = channel();
            handle.call(Command::Tell { listener, left: left.take(), most, to })?;
            let Told { heads, count, left: next } = told.recv_timeout(peer.left()?).map_err(late)?;
            if count > 0 {
                most -= count;
                outcome.bytes += heads.len();
                peer.send(AHEAD, &heads, &[])?;
                peer.receive_kind(HELD)?;
            }
            left = Some(next);
        }
    }
    Ok(())
}

fn copy_all(peer: &mut Peer, handles: &[Handle], listener: u32, outcome: &mut Outcome) -> io::Result<()> {
    for handle in handles {
        let mut left = None;
        while left.as_ref().is_none_or(|left: &Vec<u32>| !left.is_empty()) {
            let (to, copied) = channel();
            handle.call(Command::Copy { listener, left: left.take(), to })?;
            let Copied { copies, left: next } = copied.recv_timeout(peer.left()?).map_err(late)?;
            for (slot, copy) in copies {
                outcome.bytes += copy.len();
                peer.send(COPY, &[&u64::from(slot).to_le_bytes()[..], &copy].concat(), &[])?;
            }
            left = Some(next);
        }
    }
    Ok(())
}

/// `moved`: the connections of each reactor that go.
fn give_all(
    peer: &mut Peer,
    giving: &Giving,
    moved: &mut Vec<Vec<ConnectionId>>,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut unheld = 0;
    peer.within(TRANSFER);
    peer.standstill = STANDSTILL;
    peer.send(PORT, &giving.state, &[giving.port.as_fd()])?;
    for handle in &giving.handles {
        let mut ids = Vec::new();
        let mut asked = ask(handle, giving.listener)?;
        let mut is_sent = false;
        loop {
            let Packs { packed, stay, is_last } = asked.recv_timeout(peer.left()?).map_err(late)?;
            outcome.stay.add(&stay);
            if packed.is_empty() && !is_last {
                // It has asked for descriptors while others were open, which are on their way by now.
                if !std::mem::take(&mut is_sent) {
                    return Err(io::Error::other("no descriptors are left"));
                }
                asked = ask(handle, giving.listener)?;
                continue;
            }
            if !is_last {
                // The reactor packs the next ones meanwhile.
                asked = ask(handle, giving.listener)?;
            }
            outcome.bytes += packed.iter().map(|packed| packed.state.len()).sum::<usize>();
            ids.extend(packed.iter().map(|packed| packed.id));
            if !packed.is_empty() {
                if unheld == MOST_UNHELD {
                    peer.receive_kind(HELD)?;
                    unheld -= 1;
                }
                give_batch(peer, &packed)?;
                unheld += 1;
                is_sent = true;
            }
            if is_last {
                break;
            }
        }
        moved.push(ids);
    }
    for _ in 0..unheld {
        peer.receive_kind(HELD)?;
    }
    let mut body = Vec::new();
    Encoder(&mut body).number(u64::try_from(giving.frozen.elapsed().as_nanos()).unwrap_or(u64::MAX));
    peer.send(END, &body, &[])?;
    receive_mine(peer)
}

fn receive_mine(peer: &mut Peer) -> io::Result<()> {
    match peer.receive_kind(MINE) {
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            // It has said it already, such as while this process was stopped, or never can. Some systems drop what has
            // come when the side to read is shut, so that this is read first. macOS takes what comes later, and drops it
            // too: a MINE that comes between these lines is lost there.
            peer.within(GLANCE);
            if peer.receive_kind(MINE).is_err() {
                let _closed = peer.stream.shutdown(Shutdown::Read);
                peer.within(GREETING);
                peer.receive_kind(MINE).map_err(|_silent| error)?;
            }
            Ok(())
        }
        answer => answer.map(drop),
    }
}

fn ask(handle: &Handle, listener: u32) -> io::Result<Receiver<Packs>> {
    let (to, packs) = channel();
    handle.call(Command::Pack { listener, to })?;
    Ok(packs)
}

fn give_batch(peer: &mut Peer, batch: &[Packed]) -> io::Result<()> {
    // Most states are short: a system call for each would take longer than to copy them.
    let mut body = Vec::with_capacity(batch.iter().map(|packed| packed.state.len() + size_of::<u64>()).sum());
    batch.iter().for_each(|packed| Encoder(&mut body).bytes(&packed.state));
    let sockets: Vec<BorrowedFd<'_>> = batch.iter().map(|packed| packed.socket.as_fd()).collect();
    peer.send(BATCH, &body, &sockets)
}

/// Takes connections. `start` brings the order after [`Report::Whole`]; without it nothing has changed. The conversation
/// ends when `start` does. `wants_ahead`: [`Report::Ahead`] comes.
pub fn take(stream: UnixStream, wants_ahead: bool, start: &Receiver<Taking>, report: &dyn Fn(Report)) {
    let mut outcome = Outcome::default();
    let taken = converse_taking(stream, wants_ahead, (start, report), &mut outcome);
    let peer = taken.map_err(|failure| outcome.failure = Some(failure)).ok();
    report(Report::Ended(outcome));
    if peer.is_some() {
        let _opened = start.recv();
    }
}

fn converse_taking(
    stream: UnixStream,
    wants_ahead: bool,
    (start, report): (&Receiver<Taking>, &dyn Fn(Report)),
    outcome: &mut Outcome,
) -> io::Result<Peer> {
    let mut peer = Peer::new(stream, LONG_PATIENCE)?;
    peer.send(HELLO, &hello(wants_ahead), &[])?;
    let (kind, body, _) = peer.receive(SHORT)?;
    read_hello(kind, &body)?;
    report(Report::Met);
    peer.within(LONG_PATIENCE);
    let (early, state, mut sockets) = receive_port(&mut peer, report, outcome)?;
    let port = sockets.pop().ok_or_else(|| invalid("no port came"))?;
    report(Report::Port(port, state));
    let (batches, paused) = take_all(&mut peer, early, outcome)?;
    report(Report::Whole(paused));
    let Taking { handles, listener } = wait_for_order(&mut peer, start, report)?;
    peer.within(TRANSFER);
    peer.send(MINE, &[], &[])?;
    outcome.moved = batches.iter().map(Vec::len).sum();
    // One command for each reactor: the program begins with the first connections, and can close the listener then.
    let mut shares: Vec<Batch> = handles.iter().map(|_| Batch::new()).collect();
    for (number, batch) in batches.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(number % handles.len().max(1)) {
            share.extend(batch);
        }
    }
    for (handle, parcels) in handles.iter().zip(shares) {
        handle.call(Command::Import { listener, parcels })?;
    }
    for handle in &handles {
        let _ended = handle.call(Command::Thaw { listener, accepts: true });
    }
    peer.end = Some(Shutdown::Write);
    Ok(peer)
}

/// The program takes the connections, or says meanwhile that it runs.
fn wait_for_order(peer: &mut Peer, start: &Receiver<Taking>, report: &dyn Fn(Report)) -> io::Result<Taking> {
    loop {
        match start.recv_timeout(BEAT) {
            Ok(taking) => return Ok(taking),
            Err(RecvTimeoutError::Disconnected) => return Err(cancelled()),
            Err(RecvTimeoutError::Timeout) => say_ready(peer, report)?,
        }
    }
}

/// Once the program runs.
fn say_ready(peer: &mut Peer, report: &dyn Fn(Report)) -> io::Result<()> {
    let (program, alive) = channel();
    report(Report::Alive(program));
    alive.recv().map_err(|_ended| cancelled())?;
    peer.within(TRANSFER);
    peer.send(READY, &[], &[])
}

/// PORT, and what comes before it.
fn receive_port(
    peer: &mut Peer,
    report: &dyn Fn(Report),
    outcome: &mut Outcome,
) -> io::Result<(Early, Vec<u8>, Vec<OwnedFd>)> {
    let mut early = Early::default();
    loop {
        let (kind, mut body, sockets) = peer.receive(MOST_BYTES)?;
        if kind == PORT {
            return Ok((early, body, sockets));
        }
        if kind == AHEAD {
            outcome.bytes += body.len();
            let records = early.note(&body).ok_or_else(|| invalid("malformed heads, or too many"))?;
            let (program, made) = channel();
            report(Report::Ahead(records, program));
            made.recv().map_err(|_ended| cancelled())?;
            peer.send(HELD, &[], &[])?;
            continue;
        }
        if kind == READY {
            say_ready(peer, report)?;
            peer.within(LONG_PATIENCE);
            continue;
        }
        let slot = Decoder(&body).number().filter(|_| kind == COPY);
        let slot = slot.ok_or_else(|| invalid("an unexpected message"))?;
        outcome.bytes += body.len();
        drop(body.drain(..size_of::<u64>()));
        early.copies.insert(slot, body);
    }
}

type Batch = Vec<(Transport, Parcel)>;

/// All connections, and for how long the other process has not read them.
fn take_all(peer: &mut Peer, mut early: Early, outcome: &mut Outcome) -> io::Result<(Vec<Batch>, Duration)> {
    let mut batches = Vec::new();
    loop {
        let (kind, body, sockets) = peer.receive(MOST_BYTES)?;
        match kind {
            BATCH => {}
            END => {
                let paused = Decoder(&body).number().ok_or_else(|| invalid("a malformed end"))?;
                return Ok((batches, Duration::from_nanos(paused)));
            }
            _ => return Err(invalid("an unexpected message")),
        }
        batches.push(read_batch(&body, sockets, &mut early)?);
        outcome.bytes += body.len();
        peer.send(HELD, &[], &[])?;
    }
}

fn read_batch(body: &[u8], sockets: Vec<OwnedFd>, early: &mut Early) -> io::Result<Batch> {
    let from = &mut Decoder(body);
    let mut parcels = Vec::with_capacity(sockets.len());
    for socket in sockets {
        let parcel = from.bytes().and_then(Parcel::decode).and_then(|parcel| parcel.complete(early));
        let parcel = parcel.ok_or_else(|| invalid("a malformed connection"))?;
        #[expect(clippy::disallowed_types, reason = "on its way to a reactor")]
        let stream = std::net::TcpStream::from(socket);
        parcels.push((Transport::from(stream), parcel));
    }
    // Fewer descriptors have come if this process has too many.
    if from.is_empty() && !parcels.is_empty() { Ok(parcels) } else { Err(invalid("descriptors are missing")) }
}

fn hello(wants_ahead: bool) -> Vec<u8> {
    let mut body = Vec::new();
    let put = &mut Encoder(&mut body);
    put.bytes(MAGIC);
    put.number(VERSION);
    put.flag(wants_ahead);
    body
}

/// Whether the other process wants to be told ahead.
///
/// # Errors
/// It is another program, has another version, or refuses us.
fn read_hello(kind: u8, body: &[u8]) -> io::Result<bool> {
    let from = &mut Decoder(body);
    if from.bytes() != Some(MAGIC) {
        return Err(invalid("the other program is no server of reactor-ws"));
    }
    match from.number() {
        Some(VERSION) if kind == HELLO => from.flag().ok_or_else(|| invalid("a malformed greeting")),
        Some(VERSION) => Err(invalid("the other process refuses")),
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

fn late(_error: impl std::error::Error) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the other process takes too long")
}

/// A blocking socket reports that its time is over as if it did not block.
fn named(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { late(error) } else { error }
}

struct Peer {
    stream: UnixStream,
    /// All reads and writes must have ended by then.
    due: Instant,
    /// For each of them.
    standstill: Duration,
    /// The end of this side; `None`: the program decides about that.
    end: Option<Shutdown>,
}

impl Drop for Peer {
    /// The other side sees the end even if the program has another descriptor.
    fn drop(&mut self) {
        if let Some(end) = self.end {
            let _ended = self.stream.shutdown(end);
        }
    }
}

impl Peer {
    fn new(stream: UnixStream, patience: Duration) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let (due, end) = (Instant::now() + patience, Some(Shutdown::Both));
        Ok(Self { stream, due, standstill: Duration::MAX, end })
    }

    /// For what follows.
    fn within(&mut self, patience: Duration) {
        self.due = Instant::now() + patience;
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.due.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(named(ErrorKind::WouldBlock.into())) } else { Ok(left) }
    }

    /// The order of the program.
    ///
    /// # Errors
    /// The other process, which waits meanwhile, has left, or says something.
    fn stay_until<T>(&self, start: &Receiver<T>) -> io::Result<T> {
        loop {
            match start.recv_timeout(LOOK) {
                Ok(order) => return Ok(order),
                Err(RecvTimeoutError::Disconnected) => return Err(cancelled()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let glance = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            match retry_on_intr(|| rustix::net::recv(&self.stream, &mut [0], glance)) {
                Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Err(invalid("an unexpected message")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next call waits no longer than there is time. macOS refuses all options of a socket once the other side has closed,
    /// and no call waits then.
    fn time(&self, set: fn(&UnixStream, Option<Duration>) -> io::Result<()>) -> io::Result<()> {
        let _closed = set(&self.stream, Some(self.left()?.min(self.standstill)));
        Ok(())
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
        let slices = [IoSlice::new(&head)];
        self.time(UnixStream::set_write_timeout)?;
        let sent = retry_on_intr(|| rustix::net::sendmsg(&self.stream, &slices, &mut control, flags()));
        self.write(head.get(sent.map_err(|error| named(error.into()))?..).unwrap_or_default())?;
        body.chunks(PIECE).try_for_each(|piece| self.write(piece))
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.time(UnixStream::set_write_timeout)?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(named(error)),
            }
        }
        Ok(())
    }

    /// Other READY before it mean only that time goes on.
    ///
    /// # Errors
    /// `InvalidData` for a message of another kind.
    fn receive_kind(&mut self, expected: u8) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        loop {
            match self.receive(SHORT)? {
                (kind, body, sockets) if kind == expected => return Ok((body, sockets)),
                (READY, ..) => {}
                _ => return Err(invalid("an unexpected message")),
            }
        }
    }

    /// The next message, of any kind.
    fn receive(&mut self, most: usize) -> io::Result<(u8, Vec<u8>, Vec<OwnedFd>)> {
        let mut head = [0; 5];
        let mut sockets = Vec::new();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut room = [IoSliceMut::new(&mut head)];
        self.time(UnixStream::set_read_timeout)?;
        let got = retry_on_intr(|| rustix::net::recvmsg(&self.stream, &mut room, &mut control, receiving()))
            .map_err(|error| named(error.into()))?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                sockets.extend(received);
            }
        }
        sockets.iter().try_for_each(close_on_exec)?;
        if got.bytes == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.read(head.get_mut(got.bytes..).unwrap_or_default())?;
        let [kind, len @ ..] = head;
        let len = u32::from_le_bytes(len) as usize;
        if len > most {
            return Err(invalid("a message is too long"));
        }
        let mut body = Vec::new();
        // Memory follows what has come.
        while body.len() < len {
            let at = body.len();
            body.resize(len.min(at + PIECE), 0);
            self.read(body.get_mut(at..).unwrap_or_default())?;
        }
        Ok((kind, body, sockets))
    }

    fn read(&mut self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            self.time(UnixStream::set_read_timeout)?;
            match self.stream.read(into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => into = into.get_mut(read..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(named(error)),
            }
        }
        Ok(())
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
