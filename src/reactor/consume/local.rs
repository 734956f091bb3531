//! The trait that a program implements to be served by the reactor.

use std::ops::Range;

use crate::bridge::layout::Cause;
use crate::engine::{CloseCode, Event, MessageKind, ProtocolError};

use crate::reactor::config::READ_SIZE;
use crate::reactor::{ConnectionId, Descriptor, Events, Flow, Memory, Opening, Session};

/// A program's side of the reactor. All methods run on the reactor's thread and must not block.
///
/// Order is exact per connection: `on_open`, then frames as they came, then `on_closed`, once.
#[expect(unused_variables, reason = "defaults that ignore their arguments")]
pub trait Handler {
    /// The connection is open; the 101 is on its way.
    fn on_open(&mut self, session: &mut Session<'_>, opening: &Opening<'_>) {}
    fn on_message(&mut self, session: &mut Session<'_>, message: Message<'_>);
    /// The pong is already queued if the listener's `auto_pong` is on.
    fn on_ping(&mut self, session: &mut Session<'_>, payload: &[u8]) {}
    fn on_pong(&mut self, session: &mut Session<'_>, payload: &[u8]) {}
    /// The peer's close frame; nothing will be read after it. The default answers it.
    fn on_close(&mut self, session: &mut Session<'_>, code: Option<CloseCode>, reason: &[u8]) {
        session.close(code, reason);
    }
    /// The peer broke the protocol; nothing will be read after it. The default closes with the
    /// error's code.
    fn on_error(&mut self, session: &mut Session<'_>, error: ProtocolError) {
        session.close(Some(error.close_code()), &[]);
    }
    /// The peer ended its side without a close frame. The default ends ours once all is written.
    fn on_end(&mut self, session: &mut Session<'_>) {
        session.end();
    }
    /// The connection is the handler's, with `opening.rest`, see [`Http`](crate::reactor::Http). With
    /// `socket`, `on_socket` follows; else `on_data`. The default ends it.
    fn on_given(&mut self, session: &mut Session<'_>, opening: &Opening<'_>, socket: bool) {
        session.terminate();
    }
    /// The socket of a given connection. The default closes it.
    fn on_socket(&mut self, id: ConnectionId, socket: Descriptor) {}
    /// Bytes of a relayed connection.
    fn on_data(&mut self, session: &mut Session<'_>, bytes: &[u8]) {}
    /// The socket is closed; `id` is of no more use.
    fn on_closed(&mut self, id: ConnectionId, cause: Cause) {}
    /// What was sent before `count` calls of [`Session::mark`] is in the kernel.
    fn on_sent(&mut self, id: ConnectionId, count: u32) {}
    /// Queued bytes have fallen to half the high-water mark after having been above it.
    fn on_drain(&mut self, id: ConnectionId) {}
    /// A report about a topic: a record of one of the `IN_` kinds of
    /// [`layout`](crate::bridge::layout) for topics, with its slot.
    fn on_topic(&mut self, slot: u32, kind: u8, payload: Vec<u8>) {}
    /// Descriptors have run out: this many connections of the listener were closed as they came. At
    /// most once a second.
    fn on_refused(&mut self, listener: u32, count: u32) {}
    fn on_listener_closed(&mut self, listener: u32) {}
    fn on_turn_end(&mut self) {}
}

pub struct Message<'a> {
    /// Text is checked to be UTF-8.
    pub kind: MessageKind,
    pub payload: &'a [u8],
}

/// A handler with the one buffer that all its sockets are read into. Every read begins at its
/// start, so it stays in cache.
pub struct Local<H> {
    handler: H,
    buffer: Box<[u8]>,
}

impl<H: Handler> Local<H> {
    pub fn new(handler: H) -> Self {
        Self { handler, buffer: vec![0; READ_SIZE].into_boxed_slice() }
    }

    pub fn handler(&mut self) -> &mut H {
        &mut self.handler
    }
}

impl<H: Handler> Memory for Local<H> {
    fn spare(&mut self, most: usize, _shortest: usize) -> &mut [u8] {
        let end = most.min(self.buffer.len());
        self.buffer(0..end)
    }

    fn claim(&mut self, len: usize) -> Range<usize> {
        0..len
    }

    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.buffer.get_mut(range).unwrap_or_default()
    }
}

impl<H: Handler> Events for Local<H> {
    fn on_open(&mut self, session: &mut Session<'_>, opening: &Opening<'_>) {
        self.handler.on_open(session, opening);
    }

    #[inline]
    fn on_event(&mut self, session: &mut Session<'_>, event: Event) {
        let Self { handler, buffer } = self;
        match event {
            Event::Message { kind, payload } => {
                handler.on_message(session, Message { kind, payload: payload.bytes(buffer) });
            }
            Event::Ping(payload) => handler.on_ping(session, payload.bytes(buffer)),
            Event::Pong(payload) => handler.on_pong(session, payload.bytes(buffer)),
            Event::Close { code, reason } => handler.on_close(session, code, reason.bytes(buffer)),
            Event::Error(error) => handler.on_error(session, error),
        }
    }

    fn on_end(&mut self, session: &mut Session<'_>) {
        self.handler.on_end(session);
    }

    fn on_given(&mut self, session: &mut Session<'_>, opening: &Opening<'_>, socket: bool) {
        self.handler.on_given(session, opening, socket);
    }

    fn on_socket(&mut self, id: ConnectionId, socket: Descriptor) {
        self.handler.on_socket(id, socket);
    }

    fn on_data(&mut self, session: &mut Session<'_>, range: Range<usize>) {
        let Self { handler, buffer } = self;
        handler.on_data(session, buffer.get(range).unwrap_or_default());
    }

    /// It has dealt with everything, and hands back the rest before it accepts.
    fn on_reclaim(&mut self, _id: ConnectionId) -> bool {
        false
    }

    fn on_closed(&mut self, id: ConnectionId, cause: Cause) {
        self.handler.on_closed(id, cause);
    }

    fn on_sent(&mut self, id: ConnectionId, count: u32) {
        self.handler.on_sent(id, count);
    }

    fn on_drain(&mut self, id: ConnectionId) {
        self.handler.on_drain(id);
    }

    fn on_topic(&mut self, slot: u32, kind: u8, payload: Vec<u8>) {
        self.handler.on_topic(slot, kind, payload);
    }

    fn on_refused(&mut self, listener: u32, count: u32) {
        self.handler.on_refused(listener, count);
    }

    fn on_listener_closed(&mut self, listener: u32) {
        self.handler.on_listener_closed(listener);
    }
}

impl<H: Handler> Flow for Local<H> {
    fn on_turn_end(&mut self) {
        self.handler.on_turn_end();
    }
}
