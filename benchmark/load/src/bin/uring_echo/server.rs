//! One thread, one ring, and one `io_uring_enter` in a turn: it submits everything that the turn
//! has to send, and waits.
//!
//! ```text
//! enter -> on_accept, on_received -> answer -> try_send        what nearly always happens
//!       -> on_refused -> send -> on_sent                       when a peer reads too slowly
//!       -> after_tries: buffers back to the kernel, what came second, receives that had ended
//! ```
//!
//! A send that `try_send` submits is over when the call returns: done, or refused with a completion
//! that reports how much was not sent. So there is no completion for a send that succeeded, and a
//! buffer is free one turn after it was filled.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, Submitter, cqueue, opcode, squeue, types};
use socket2::SockRef;
use wire::answer::HEADROOM;

use crate::buffers::{BUFFERS, Buffers, GROUP};
use crate::connection::{Connection, Reading, Span};

/// The kind of a completion, stored above the connection's number.
const RECEIVE: u64 = 1 << 32;
const TRY: u64 = 2 << 32;
const SEND: u64 = 3 << 32;
const ACCEPT: u64 = 4 << 32;
/// Completes only where it fails because there was nothing to do.
const IGNORED: u64 = 5 << 32;

/// Few submissions, so that they stay in the cache; a turn of 20 receives has hardly more.
const SUBMISSIONS: u32 = 128;
/// More completions than connections can cause in a turn.
const COMPLETIONS: u32 = 8192;
/// The maximum number of connections, if the limit of open files allows as many.
const FILES: u32 = 65536;
/// When this many buffers are filled in a turn, the kernel gets them back before the wait, at the
/// price of one more call.
const MANY: usize = BUFFERS as usize / 4;

/// The ring, the connections, and the work that is left when the sends of a turn are over.
pub(crate) struct Server {
    submitter: Submitter<'static>,
    submissions: squeue::SubmissionQueue<'static>,
    completions: cqueue::CompletionQueue<'static>,
    buffers: Buffers,
    connections: Vec<Option<Connection>>,
    turn: u64,
    left: Left,
}

/// Work that has to wait until the tries of its turn are over.
#[derive(Default)]
struct Left {
    /// Buffers that are sent from.
    buffers: Vec<u16>,
    /// Connections with a second answer.
    queued: Vec<u32>,
    /// Connections that go on although their receive request has ended: there was no buffer. A new
    /// receive may complete before a refusal, so it must not be submitted together with a try.
    unarmed: Vec<u32>,
}

impl Server {
    /// A ring without connections.
    ///
    /// # Errors
    /// The system's error, if it has no io_uring, not all of it, or does not allow it.
    pub(crate) fn new() -> io::Result<Self> {
        let uring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        // As long as the process lives, like the memory that its entries point to.
        let (mut submitter, submissions, completions) = Box::leak(Box::new(uring)).split();
        submitter.register_ring_fd()?;
        let mut files = FILES;
        while let Err(error) = submitter.register_files_sparse(files) {
            // Above the limit of open files.
            if error.raw_os_error() != Some(libc::EMFILE) || files == 1 {
                return Err(error);
            }
            files /= 2;
        }
        let buffers = Buffers::new(&submitter)?;
        Ok(Self {
            submitter,
            submissions,
            completions,
            buffers,
            connections: Vec::new(),
            turn: 0,
            left: Left::default(),
        })
    }

    /// Serves `port` until something fails.
    pub(crate) fn run(&mut self, port: u16) -> Result<(), Box<dyn Error>> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        // Accepted sockets inherit this option.
        SockRef::from(&listener).set_tcp_nodelay(true)?;
        let (port, pid) = (listener.local_addr()?.port(), std::process::id());
        writeln!(io::stdout(), "{{\"port\":{port},\"pid\":{pid}}}")?;
        let accept = opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd())).allocate_file_index(true);
        self.push(&accept.build().user_data(ACCEPT))?;
        loop {
            let left = &self.left;
            if left.buffers.len() >= MANY || !left.queued.is_empty() || !left.unarmed.is_empty() {
                self.enter(0)?;
                if self.completions.is_empty() {
                    let left = std::mem::take(&mut self.left);
                    self.after_tries(left)?;
                }
            }
            self.enter(1)?;
            self.turn += 1;
            let left = std::mem::take(&mut self.left);
            // The completions that are there now: a refusal that comes later is of a later try.
            let completed = self.completions.len();
            for _ in 0..completed {
                let completion = self.completions.next();
                self.on_completion(&completion.ok_or("a completion is gone")?)?;
            }
            self.after_tries(left)?;
        }
    }

    /// Submits everything and waits for so many completions.
    fn enter(&mut self, want: usize) -> io::Result<()> {
        loop {
            self.submissions.sync();
            // Otherwise the kernel counts completions that were handled as those that are waited
            // for.
            self.completions.sync();
            match self.submitter.submit_and_wait(want) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            self.submissions.sync();
            self.completions.sync();
            if self.submissions.cq_overflow() {
                return Err(io::Error::other("more completions than the ring holds"));
            }
            if self.submissions.is_empty() {
                return Ok(());
            }
        }
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: what entries point to stays where it is until they are over: buffers are given
        // back after that, `sending` is not touched before.
        while unsafe { self.submissions.push(entry) }.is_err() {
            self.enter(0)?;
        }
        Ok(())
    }

    fn on_completion(&mut self, completion: &cqueue::Entry) -> io::Result<()> {
        let slot = completion.user_data() as u32;
        match completion.user_data() & !u64::from(u32::MAX) {
            RECEIVE => self.on_received(slot, completion),
            TRY => self.on_refused(slot, completion.result()),
            SEND => self.on_sent(slot, completion.result()),
            ACCEPT => self.on_accept(completion),
            _ => Ok(()),
        }
    }

    fn on_accept(&mut self, completion: &cqueue::Entry) -> io::Result<()> {
        let slot = u32::try_from(completion.result()).map_err(|_| error_of(completion.result()))?;
        if !cqueue::more(completion.flags()) {
            return Err(io::Error::other("accepting ended"));
        }
        let index = slot as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(Connection::default());
        self.receive(slot)
    }

    fn receive(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        connection.reading = Reading::Armed;
        let entry = opcode::RecvMulti::new(types::Fixed(slot), GROUP).build();
        self.push(&entry.user_data(RECEIVE | u64::from(slot)))
    }

    fn on_received(&mut self, slot: u32, completion: &cqueue::Entry) -> io::Result<()> {
        let result = completion.result();
        if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
            self.left.buffers.push(buffer);
            self.answer(slot, buffer, result.max(0) as usize)?;
        }
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        connection.ended |= result <= 0 && result != -libc::ENOBUFS;
        if !cqueue::more(completion.flags()) {
            connection.reading = Reading::Over;
            if !connection.ended {
                self.left.unarmed.push(slot);
            }
        }
        self.close_if_over(slot)
    }

    /// Echoes the bytes in a buffer.
    fn answer(&mut self, slot: u32, buffer: u16, length: usize) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let input = self.buffers.input(buffer, length);
        if !connection.answering.is_open() {
            match connection.answering.upgrade(&input[HEADROOM..]) {
                Ok(response) => connection.queued.extend_from_slice(response.unwrap_or_default().as_bytes()),
                Err(_) => connection.ended = true,
            }
            self.left.queued.push(slot);
            return Ok(());
        }
        let range = connection.answering.echo(input);
        let answer = &input[range];
        if answer.is_empty() {
            return Ok(());
        }
        if connection.must_queue(self.turn) {
            connection.queued.extend_from_slice(answer);
            self.left.queued.push(slot);
            return Ok(());
        }
        connection.tried_in = self.turn;
        connection.tried = Span { start: answer.as_ptr(), length: answer.len() as u32 };
        self.try_send(slot)
    }

    /// Sends the answers as far as the kernel takes them at once. MSG_WAITALL makes a short send a
    /// failure, so that it is reported.
    fn try_send(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let Span { start, length } = connection.tried;
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
        let entry = opcode::Send::new(types::Fixed(slot), start, length).flags(flags).build();
        self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(TRY | u64::from(slot)))
    }

    fn on_refused(&mut self, slot: u32, result: i32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        connection.ended |= result < 0 && result != -libc::EAGAIN;
        // SAFETY: the buffer was given to the kernel by `try_send` in the turn
        // before, and is not given back for other bytes before all of its
        // completions, of which this is one, are handled.
        let tried =
            unsafe { std::slice::from_raw_parts(connection.tried.start, connection.tried.length as usize) };
        // A second answer of the same turn comes behind it.
        connection.queued.splice(0..0, tried[result.max(0) as usize..].iter().copied());
        self.send(slot)
    }

    /// Sends the queued bytes, however long the kernel takes.
    fn send(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        if connection.ended || connection.queued.is_empty() || !connection.sending.is_empty() {
            return self.close_if_over(slot);
        }
        connection.sending = std::mem::take(&mut connection.queued);
        connection.sent = 0;
        self.send_on(slot)
    }

    fn send_on(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let rest = &connection.sending[connection.sent..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(types::Fixed(slot), rest.as_ptr(), length);
        let entry = entry.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build();
        self.push(&entry.user_data(SEND | u64::from(slot)))
    }

    fn on_sent(&mut self, slot: u32, result: i32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        connection.ended |= result <= 0;
        connection.sent += result.max(0) as usize;
        if !connection.ended && connection.sent < connection.sending.len() {
            return self.send_on(slot);
        }
        connection.sending = Vec::new();
        self.send(slot)
    }

    /// All tries that were submitted together with the remaining work have succeeded, or their
    /// refusals were handled.
    fn after_tries(&mut self, left: Left) -> io::Result<()> {
        self.buffers.give_back(left.buffers);
        for slot in left.queued {
            self.send(slot)?;
        }
        for slot in left.unarmed {
            let connection = self.connections[slot as usize].as_ref();
            // The number may belong to another connection by now.
            if connection.is_some_and(|connection| connection.reading == Reading::Over) {
                self.receive(slot)?;
            }
        }
        Ok(())
    }

    /// Releases a connection that is over, once the kernel holds none of its requests.
    fn close_if_over(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        if !connection.is_over() || !connection.sending.is_empty() || connection.reading == Reading::Stopping
        {
            return Ok(());
        }
        let entry = if connection.reading == Reading::Armed {
            connection.reading = Reading::Stopping;
            opcode::AsyncCancel::new(RECEIVE | u64::from(slot)).build()
        } else {
            self.connections[slot as usize] = None;
            opcode::Close::new(types::Fixed(slot)).build()
        };
        self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(IGNORED))
    }
}

fn error_of(result: i32) -> io::Error {
    io::Error::from_raw_os_error(-result)
}
