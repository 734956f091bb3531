//! A reactor on a thread of its own, with a consumer that reports each call.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

#[cfg(unix)]
use super::Client;
use super::PATIENCE;
use crate::bridge::chunk::Chunk;
use crate::bridge::layout::{Cause, OUT_FLAG_FIN};
use crate::engine::{CloseCode, ErrorKind, Event, MessageKind, Payload};
#[cfg(unix)]
use crate::reactor::Descriptor;
use crate::reactor::config::READ_SIZE;
use crate::reactor::{
    BoundListener, Command, Conn, ConnectionId, Events, Flow, Handle, HandshakeInfo, ListenAddress,
    ListenerConfig, Memory, Reactor, ReactorConfig,
};

/// The reports to a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// With the target of the request, or the listener number of an adopted socket.
    Open(String),
    /// The bytes that were read, and whether the socket itself follows.
    Given(Vec<u8>, bool),
    /// The socket, and what it reads next.
    #[cfg(unix)]
    Socket(Vec<u8>),
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, Vec<u8>),
    Error(ErrorKind),
    End,
    Closed,
    Sent(u32),
    Drain,
    Moved,
    ListenerClosed(u32),
    Refused(u32),
}

pub(crate) struct Message<'a> {
    pub(crate) kind: MessageKind,
    pub(crate) payload: &'a [u8],
}

pub(crate) type Act = Box<dyn FnMut(&mut Conn<'_>) + Send>;
pub(crate) type OnMessage = Box<dyn FnMut(&mut Conn<'_>, Message<'_>) + Send>;

/// The behaviour of a consumer.
pub(crate) struct Script {
    pub(crate) open: Act,
    /// Default: the message is sent back.
    pub(crate) message: OnMessage,
    /// `None`: answers the peer's.
    pub(crate) close: Option<Act>,
    /// `None`: ends our side too.
    pub(crate) end: Option<Act>,
    pub(crate) closed: Box<dyn FnMut(Cause) + Send>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            open: Box::new(|_| {}),
            message: Box::new(|conn, message| conn.send(message.kind, true, message.payload)),
            close: None,
            end: None,
            closed: Box::new(|_| {}),
        }
    }
}

impl Script {
    pub(crate) fn on_open(act: impl FnMut(&mut Conn<'_>) + Send + 'static) -> Self {
        Self { open: Box::new(act), ..Self::default() }
    }

    pub(crate) fn on_message(act: impl FnMut(&mut Conn<'_>, Message<'_>) + Send + 'static) -> Self {
        Self { message: Box::new(act), ..Self::default() }
    }
}

/// The settings of a server.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) script: Script,
    pub(crate) listener: ListenerConfig,
    pub(crate) reactor: ReactorConfig,
    /// SO_SNDBUF of the server's sockets.
    pub(crate) send_buffer: Option<usize>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) handle: Handle,
    seen: Receiver<(ConnectionId, Seen)>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn echo() -> Self {
        Self::with(Setup::default())
    }

    pub(crate) fn script(script: Script) -> Self {
        Self::with(Setup { script, ..Setup::default() })
    }

    pub(crate) fn serve(listener: ListenerConfig) -> Self {
        Self::with(Setup { listener, ..Setup::default() })
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let (mut reactor, address, seen) = reactor(setup);
        let handle = reactor.handle();
        let thread = std::thread::spawn(move || reactor.run().expect("epoll works"));
        Self { address, handle, seen, thread: Some(thread) }
    }

    /// The next report to the consumer.
    #[track_caller]
    pub(crate) fn next(&self) -> Seen {
        self.next_of().1
    }

    #[track_caller]
    pub(crate) fn next_of(&self) -> (ConnectionId, Seen) {
        self.seen.recv_timeout(PATIENCE).expect("an event")
    }

    /// Waits for the next opening.
    #[track_caller]
    pub(crate) fn opened(&self) -> ConnectionId {
        let (id, seen) = self.next_of();
        assert!(matches!(seen, Seen::Open(_)), "{seen:?}");
        id
    }

    #[track_caller]
    pub(crate) fn expect(&self, seen: &[Seen]) {
        for expected in seen {
            assert_eq!(self.next(), *expected);
        }
    }

    /// Asserts that there was no unexpected report.
    #[track_caller]
    pub(crate) fn expect_silence(&self) {
        assert_eq!(self.seen.try_recv().ok(), None);
    }

    pub(crate) fn submit(&self, command: Command) {
        self.handle.submit(command).expect("an eventfd takes it");
    }

    /// Submits records of one connection in one chunk.
    pub(crate) fn records(&self, to: ConnectionId, records: &[(u8, u8, u16, &[u8])]) {
        let mut chunk = Chunk { bytes: self.handle.outbox().buffer(), ..Chunk::default() };
        for &(kind, flags, aux, payload) in records {
            chunk.push_record((to.slot, to.generation), kind, flags, aux, payload);
        }
        self.submit(Command::Chunk(chunk));
    }

    pub(crate) fn send(&self, to: ConnectionId, kind: u8, payload: &[u8]) {
        self.records(to, &[(kind, OUT_FLAG_FIN, 0, payload)]);
    }

    /// Stops the reactor and waits for its thread; returns the reports since the last `next`.
    pub(crate) fn stop(mut self) -> Vec<Seen> {
        self.join();
        self.seen.try_iter().map(|(_, seen)| seen).collect()
    }

    fn join(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.submit(Command::Stop);
        let ended = thread.join();
        assert!(std::thread::panicking() || ended.is_ok(), "the reactor's thread panicked");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.join();
    }
}

/// A reactor that listens, for a test that turns it itself.
pub(crate) fn reactor(setup: Setup) -> (Reactor<Reporter>, SocketAddr, Receiver<(ConnectionId, Seen)>) {
    let (sender, seen) = channel();
    let reporter = Reporter { seen: sender, script: setup.script, buffer: vec![0; READ_SIZE] };
    let reactor = Reactor::new(reporter, setup.reactor).expect("descriptors");
    let listener = bind();
    if let Some(size) = setup.send_buffer {
        listener.duplicate().set_send_buffer_size(size).expect("a size");
    }
    let address = listener.address();
    listen(&reactor.handle(), 0, listener, setup.listener);
    (reactor, address, seen)
}

pub(crate) fn bind() -> BoundListener {
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    BoundListener::bind(&ListenAddress { host, port: 0, ..ListenAddress::default() }).expect("a port")
}

pub(crate) fn listen(handle: &Handle, id: u32, listener: BoundListener, config: ListenerConfig) {
    handle.submit(Command::Listen { id, listener, config: Arc::new(config) }).expect("an eventfd takes it");
    handle.submit(Command::Accept(id)).expect("an eventfd takes it");
}

pub(crate) struct Reporter {
    seen: Sender<(ConnectionId, Seen)>,
    pub(crate) script: Script,
    buffer: Vec<u8>,
}

impl Reporter {
    fn report(&self, id: ConnectionId, seen: Seen) {
        // The receiver is gone when a test has failed.
        let _failed = self.seen.send((id, seen));
    }
}

impl Memory for Reporter {
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.buffer.get_mut(range).unwrap_or_default()
    }
}

impl Flow for Reporter {}

impl Events for Reporter {
    fn on_open(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>) {
        let target = info.request.map(|request| String::from_utf8_lossy(request.target).into_owned());
        self.report(conn.id(), Seen::Open(target.unwrap_or_else(|| info.listener.to_string())));
        (self.script.open)(conn);
    }

    fn on_handoff(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>, socket: bool) {
        self.report(conn.id(), Seen::Given(info.rest.to_vec(), socket));
    }

    #[cfg(unix)]
    fn on_socket(&mut self, id: ConnectionId, socket: Descriptor) {
        let mut peer = Client::of(std::net::TcpStream::from(socket));
        peer.0.set_nonblocking(false).expect("a live socket");
        peer.write(b"mine");
        let next = peer.read(4);
        self.report(id, Seen::Socket(next));
    }

    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event) {
        let bytes = |payload: &Payload| payload.bytes(&self.buffer).to_vec();
        let seen = match &event {
            Event::Message { kind: MessageKind::Text, payload } => Seen::Text(bytes(payload)),
            Event::Message { kind: MessageKind::Binary, payload } => Seen::Binary(bytes(payload)),
            Event::Ping(payload) => Seen::Ping(bytes(payload)),
            Event::Pong(payload) => Seen::Pong(bytes(payload)),
            Event::Close { code, reason } => Seen::Close(code.map(CloseCode::get), bytes(reason)),
            Event::Error(error) => Seen::Error(error.kind),
        };
        self.report(conn.id(), seen);
        match event {
            Event::Message { kind, payload } => {
                let payload = payload.bytes(&self.buffer);
                (self.script.message)(conn, Message { kind, payload });
            }
            Event::Close { code, reason } => match &mut self.script.close {
                Some(act) => act(conn),
                None => conn.close(code, reason.bytes(&self.buffer)),
            },
            Event::Error(error) => conn.close(Some(error.kind.row().close_code), &[]),
            Event::Ping(_) | Event::Pong(_) => {}
        }
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        self.report(conn.id(), Seen::End);
        match &mut self.script.end {
            Some(act) => act(conn),
            None => conn.end(),
        }
    }

    fn on_closed(&mut self, id: ConnectionId, cause: Cause) {
        self.report(id, Seen::Closed);
        (self.script.closed)(cause);
    }

    fn on_moved(&mut self, id: ConnectionId) {
        self.report(id, Seen::Moved);
    }

    fn on_sent(&mut self, id: ConnectionId, count: u32) {
        self.report(id, Seen::Sent(count));
    }

    fn on_drain(&mut self, id: ConnectionId) {
        self.report(id, Seen::Drain);
    }

    fn on_refused(&mut self, _listener: u32, count: u32) {
        self.report(ConnectionId { slot: 0, generation: 0 }, Seen::Refused(count));
    }

    fn on_listener_closed(&mut self, listener: u32) {
        self.report(ConnectionId { slot: 0, generation: 0 }, Seen::ListenerClosed(listener));
    }
}
