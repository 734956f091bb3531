//! The consumer that carries events to another thread, as records of a batch. The bytes of messages
//! stay where they were read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::bridge::batch::{Batch, Credit, Record};
use crate::bridge::layout::{
    ASK_ACCEPTED, ASK_DRAINED, ASK_REFUSED, Cause, IN_BINARY, IN_CLOSE, IN_CLOSED, IN_CLOSING, IN_DATA,
    IN_DRAIN, IN_END, IN_ERROR, IN_FAILURE, IN_FLAG_RESUMED, IN_FLAG_SOCKET, IN_FROZEN, IN_HANDOFF, IN_HELLO,
    IN_LISTENER_CLOSED, IN_MOVED, IN_OPEN, IN_PING, IN_PONG, IN_REFUSED, IN_REQUEST, IN_SECURE, IN_SENT,
    IN_TEXT, IN_THAWED, IN_TLS_ERROR, MAX_RECORDS, Moved, Opened,
};
use crate::bridge::limits::SPARE_RECORDS;
use crate::bridge::read_buffer::{Lent, ReadBuffer};
use crate::bridge::tally::{Meters, Tally};
use crate::engine::{CloseCode, Event, MessageKind, Payload, ProtocolError};

use super::yield_policy::YieldPolicy;
use crate::reactor::config::READ_SIZE;
use crate::reactor::consume::consumer::{Pressure, Progress};
use crate::reactor::tls::Failure;
use crate::reactor::{
    Conn, Connection, ConnectionId, Descriptor, Events, Flow, HandshakeInfo, Hello, Link, Memory,
    ReactorConfig, Verdict,
};

/// An assembled message of this many bytes crosses as it is; a smaller one is copied to its batch.
const LARGE: usize = 64 << 10;

/// The records of a chunk that the other side has.
pub struct Passed {
    pub count: usize,
    /// The number of the last one, among all records.
    pub last: u64,
    pub large: Vec<Vec<u8>>,
}

pub struct Forward {
    link: Arc<Link>,
    batch: Box<Batch>,
    /// The buffer for reads while the batch is in the other side's memory, see `begin_chunk`.
    kept_buffer: Option<ReadBuffer>,
    ring: Box<dyn FnMut() + Send>,
    total_mark: usize,
    records_mark: u64,
    /// Some record refers to bytes of the current read.
    retained: bool,
    /// When the system reported the events of the turn.
    reported: Option<Instant>,
    pub(super) yield_policy: YieldPolicy,
}

impl Forward {
    /// `ring` is called when batches wait for the other thread: at most once until it has answered.
    /// `config` says when there is pressure.
    pub fn new(link: Arc<Link>, config: &ReactorConfig, ring: Box<dyn FnMut() + Send>) -> Self {
        Self {
            link,
            batch: Box::new(Batch::new()),
            kept_buffer: None,
            ring,
            total_mark: config.total_mark,
            records_mark: config.records_mark,
            retained: false,
            reported: None,
            yield_policy: YieldPolicy::never(),
        }
    }

    /// For a thread of its own, which gives way to the consumer's if both share one CPU.
    #[must_use]
    pub fn in_thread(self) -> Self {
        Self { yield_policy: YieldPolicy::on_one_cpu(), ..self }
    }

    /// Whether the records of a chunk of `len` bytes can be passed: no others are before them.
    pub(in crate::reactor) fn can_pass(&self, len: usize, shortest: usize) -> bool {
        self.batch.is_empty()
            && !self.link.inbox.is_waiting()
            && len <= READ_SIZE
            && len / shortest + 2 * SPARE_RECORDS <= MAX_RECORDS
    }

    /// The next read is a chunk, which stays where it is until `end_chunk`.
    pub(in crate::reactor) fn begin_chunk(&mut self, chunk: Box<dyn Lent>) {
        self.kept_buffer = Some(std::mem::replace(&mut self.batch.bytes, ReadBuffer::Lent(chunk)));
        self.batch.used = 0;
    }

    /// Copies the chunk's records to `words`, with offsets in the chunk. `None`: they wait like
    /// others.
    pub(in crate::reactor) fn end_chunk(&mut self, words: &mut [u32]) -> Option<Passed> {
        let buffer = self.kept_buffer.take()?;
        let count = self.batch.copy_records(words);
        let large = std::mem::take(&mut self.batch.large);
        self.batch.clear();
        self.batch.bytes = buffer;
        Some(Passed { count, last: self.link.inbox.pass(count), large })
    }

    /// The chunk's payloads take no memory of ours: gives the charges for them back.
    pub(in crate::reactor) fn discharge(&mut self, release: impl FnMut(Credit)) {
        self.batch.credits.drain(..).for_each(release);
    }

    fn publish(&mut self) {
        if let Some(mut buffer) = self.kept_buffer.take() {
            let used = self.batch.used;
            if let (Some(to), Some(from)) = (buffer.get_mut(..used), self.batch.bytes.get(..used)) {
                to.copy_from_slice(from);
            }
            self.batch.bytes = buffer;
        }
        let yields = self.yield_policy.is_due(self.batch.used, self.link.inbox.weight());
        let mut full = std::mem::replace(&mut self.batch, Box::new(Batch::default()));
        full.reported = self.reported;
        let (empty, ring) = self.link.inbox.publish(full);
        self.batch = empty;
        // Before the bell, after which the consumer can run at once and take the batch.
        self.yield_policy.handed_over(self.link.inbox.weight());
        if ring {
            (self.ring)();
        }
        if yields {
            std::thread::yield_now();
        }
    }

    /// Appends a record outside of any read: the batch can be handed over before it.
    fn report(&mut self, slot: u32, kind: u8, count: u32) {
        self.make_room();
        self.batch.push(Record::new(slot, kind, 0, 0, 0, count));
    }

    fn make_room(&mut self) {
        if self.batch.records.len() + SPARE_RECORDS >= MAX_RECORDS {
            self.publish();
        }
    }

    fn carry(&mut self, conn: &mut Conn<'_>, kind: u8, aux: u16, payload: Payload) {
        let ConnectionId { slot, generation } = conn.id();
        let len = match payload {
            Payload::Input(range) => {
                self.retained |= !range.is_empty();
                self.batch.push(Record::in_place(slot, kind, aux, &range));
                range.len()
            }
            Payload::Owned(bytes) => {
                let len = bytes.len();
                self.batch.push_either(slot, kind, aux, bytes, LARGE);
                len
            }
        };
        let weight = len + size_of::<Record>();
        match kind {
            IN_PING | IN_PONG => conn.charge_control(weight),
            _ => conn.charge(weight),
        }
        self.batch.charge(slot, generation, u32::try_from(weight).unwrap_or(u32::MAX), 1);
    }

    fn push_info(
        &mut self,
        conn: &mut Conn<'_>,
        (kind, flags): (u8, u8),
        tail: &[u8],
        info: &HandshakeInfo<'_>,
    ) {
        let ConnectionId { slot, generation } = conn.id();
        let mut request = Vec::new();
        if let Some(head) = info.request {
            head.write_normal_form(&mut request);
        }
        let tls = conn.describe_tls();
        let protocol = info.protocol.unwrap_or_default();
        self.link.gauges.open(slot, generation);
        self.link.gauges.set_read(slot, conn.state.read.received);
        let opened = Opened { request: &request, protocol, tail, tls: &tls, ..opened(generation, info) };
        self.push_opening(slot, (kind, flags), &opened);
    }

    fn push_opening(&mut self, slot: u32, (kind, flags): (u8, u8), opened: &Opened<'_>) {
        let mut payload = Vec::new();
        opened.encode(&mut payload);
        // Adopted sockets open without a read, which would have reserved the room.
        self.make_room();
        self.batch.push_opening(slot, kind, flags, 0, &payload);
    }
}

impl Memory for Forward {
    fn spare(&mut self, most: usize, shortest: usize) -> &mut [u8] {
        if self.batch.is_full() {
            self.publish();
        }
        let most = most.min(self.batch.read_room(shortest));
        self.batch.spare().get_mut(..most).unwrap_or_default()
    }

    fn claim(&mut self, len: usize) -> Range<usize> {
        let start = self.batch.used;
        self.batch.used += len;
        self.retained = false;
        start..start + len
    }

    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.batch.bytes.get_mut(range).unwrap_or_default()
    }

    /// Notes messages that are whole where they were read, with one charge for all of them.
    fn next_event(&mut self, conn: &mut Conn<'_>, end: usize, pos: &mut usize) -> Result<Option<Event>, u64> {
        let ConnectionId { slot, generation } = conn.id();
        let Connection { engine, config, .. } = &mut *conn.state;
        let Batch { bytes, records, .. } = &mut *self.batch;
        let input = bytes.get_mut(..end).unwrap_or_default();
        let before = records.len();
        let mut weight = 0;
        let mut texts = 0;
        let other = loop {
            match engine.advance::<true>(&config.engine, input, pos) {
                Ok(Some(Event::Message { kind, payload: Payload::Input(range) })) => {
                    self.retained |= !range.is_empty();
                    weight += range.len() + size_of::<Record>();
                    texts += u64::from(kind == MessageKind::Text);
                    records.push(Record::in_place(slot, message_kind(kind), 0, &range));
                }
                other => break other,
            }
        };
        let count = records.len() - before;
        if count > 0 {
            conn.metrics.tally.messages_received += count as u64;
            conn.metrics.tally.texts_received += texts;
            conn.charge(weight);
            let weight = u32::try_from(weight).unwrap_or(u32::MAX);
            self.batch.charge(slot, generation, weight, count as u32);
        }
        other
    }

    fn keep(&mut self, range: Range<usize>, more: usize) -> bool {
        self.batch.keep(range, more)
    }

    fn release(&mut self, range: Range<usize>) {
        // Nothing refers to these bytes and nothing follows them, so the next read might have their
        // place.
        if !self.retained && self.batch.used == range.end {
            self.batch.used = range.start;
        }
    }
}

impl Events for Forward {
    fn asks(&mut self, listener: u32, verdict: Verdict) -> bool {
        let ask = self.link.ask(listener);
        match verdict {
            Err(refusal) if refusal.before_should_handle() => ask & ASK_REFUSED != 0,
            // `shouldHandle` can be a method of the program, which overrules the path.
            Err(_) => ask != 0,
            Ok(()) => ask & ASK_ACCEPTED != 0,
        }
    }

    fn refuses(&self, listener: u32) -> bool {
        self.link.ask(listener) & ASK_DRAINED != 0
    }

    fn on_hello(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>, hello: &Hello) {
        let ConnectionId { slot, generation } = conn.id();
        let name = hello.server_name.as_deref().unwrap_or_default();
        let opened = Opened { protocol: name.as_bytes(), tail: &hello.alpn, ..opened(generation, info) };
        self.push_opening(slot, (IN_HELLO, 0), &opened);
    }

    fn on_secure(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>) {
        let ConnectionId { slot, generation } = conn.id();
        let tls = conn.describe_tls();
        self.push_opening(slot, (IN_SECURE, 0), &Opened { tls: &tls, ..opened(generation, info) });
    }

    fn on_tls_error(&mut self, info: &HandshakeInfo<'_>, failure: &Failure) {
        let Failure { code, reason, .. } = failure;
        let opened = Opened { protocol: code.as_bytes(), tail: reason.as_bytes(), ..opened(0, info) };
        self.push_opening(info.listener, (IN_TLS_ERROR, 0), &opened);
    }

    fn on_request(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>) {
        self.push_info(conn, (IN_REQUEST, 0), info.rest, info);
    }

    fn on_open(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>) {
        let extensions = info.extensions.unwrap_or_default();
        self.push_info(conn, (IN_OPEN, 0), extensions.as_bytes(), info);
    }

    fn on_resumed(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>, moved: &Moved<'_>, asks: bool) {
        let ConnectionId { slot, generation } = conn.id();
        let mut request = Vec::new();
        if let Some(head) = info.request {
            head.write_normal_form(&mut request);
        }
        let mut section = Vec::new();
        moved.encode(&mut section);
        self.link.gauges.open(slot, generation);
        self.link.gauges.set_read(slot, conn.state.read.received);
        let opened = Opened {
            request: &request,
            protocol: info.protocol.unwrap_or_default(),
            tail: info.extensions.unwrap_or_default().as_bytes(),
            tls: &section,
            ..opened(generation, info)
        };
        let kind = if asks { IN_REQUEST } else { IN_OPEN };
        self.push_opening(slot, (kind, IN_FLAG_RESUMED), &opened);
    }

    fn on_frozen(&mut self, listener: u32) {
        self.report(listener, IN_FROZEN, 0);
    }

    fn on_moved(&mut self, id: ConnectionId) {
        self.report(id.slot, IN_MOVED, 0);
    }

    fn on_thawed(&mut self, listener: u32, accepts: bool) {
        self.report(listener, IN_THAWED, accepts.into());
    }

    fn on_handoff(&mut self, conn: &mut Conn<'_>, info: &HandshakeInfo<'_>, socket: bool) {
        let flags = if socket { IN_FLAG_SOCKET } else { 0 };
        self.push_info(conn, (IN_HANDOFF, flags), info.rest, info);
    }

    fn on_socket(&mut self, id: ConnectionId, socket: Descriptor) {
        self.link.bring(id.slot, socket);
    }

    fn on_data(&mut self, conn: &mut Conn<'_>, range: Range<usize>) {
        self.carry(conn, IN_DATA, 0, Payload::Input(range));
    }

    fn on_handback(&mut self, id: ConnectionId) -> bool {
        self.report(id.slot, IN_DATA, 0);
        true
    }

    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event) {
        let (kind, aux, payload) = match event {
            Event::Message { kind, payload } => (message_kind(kind), 0, payload),
            Event::Ping(payload) => (IN_PING, 0, payload),
            Event::Pong(payload) => (IN_PONG, 0, payload),
            Event::Close { code, reason } => {
                (IN_CLOSE, code.map_or(CloseCode::NO_STATUS_RECEIVED, CloseCode::get), reason)
            }
            Event::Error(ProtocolError { kind, detail, .. }) => {
                return self.batch.push(Record::new(conn.id().slot, IN_ERROR, kind as u8, detail, 0, 0));
            }
        };
        self.carry(conn, kind, aux, payload);
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        self.make_room();
        let (slot, cause) = (conn.id().slot, conn.cause_of_end() as u8);
        self.batch.push(Record::new(slot, IN_END, cause, 0, 0, u32::from(!conn.is_open())));
    }

    fn on_closed(&mut self, id: ConnectionId, cause: Cause) {
        self.make_room();
        self.batch.push(Record::new(id.slot, IN_CLOSED, cause as u8, 0, 0, 0));
    }

    fn on_sent(&mut self, id: ConnectionId, count: u32) {
        self.report(id.slot, IN_SENT, count);
    }

    fn on_closing(&mut self, id: ConnectionId) {
        self.report(id.slot, IN_CLOSING, 0);
    }

    fn on_drain(&mut self, id: ConnectionId) {
        self.report(id.slot, IN_DRAIN, 0);
    }

    fn on_topic(&mut self, slot: u32, kind: u8, payload: Vec<u8>) {
        self.make_room();
        self.batch.push_either(slot, kind, 0, payload, LARGE);
    }

    fn on_refused(&mut self, listener: u32, count: u32) {
        self.report(listener, IN_REFUSED, count);
    }

    fn on_listener_closed(&mut self, listener: u32) {
        self.link.forget(listener);
        self.report(listener, IN_LISTENER_CLOSED, 0);
    }
}

impl Flow for Forward {
    fn on_turn_begin(&mut self, now: Instant) {
        self.reported = Some(now);
    }

    fn on_turn_end(&mut self) {
        if self.kept_buffer.is_none() && !self.batch.is_empty() {
            self.publish();
        }
    }

    fn on_tally(&mut self, tally: &Tally, began: Option<Instant>) {
        if let Some(began) = began {
            self.link.meters.turns.record(began.elapsed());
        }
        self.link.totals.publish(tally);
    }

    fn meters(&self) -> Arc<Meters> {
        self.link.meters.clone()
    }

    fn on_settled(&mut self, id: ConnectionId, bytes: u64) {
        self.link.gauges.set_written(id.slot, bytes);
    }

    fn on_published(&mut self, id: ConnectionId, bytes: u64) {
        self.link.gauges.add_published(id.slot, bytes);
    }

    fn on_received(&mut self, id: ConnectionId, bytes: u64) {
        self.link.gauges.set_read(id.slot, bytes);
    }

    fn progress(&self) -> Option<Progress> {
        let inbox = &self.link.inbox;
        let recorded = inbox.published() + self.batch.records.len() as u64;
        Some(Progress { recorded, delivered: inbox.delivered() })
    }

    fn reclaim(&mut self, release: &mut dyn FnMut(Credit)) {
        self.link.inbox.reclaim(release);
    }

    fn pressure(&self) -> Pressure {
        let inbox = &self.link.inbox;
        let recorded = inbox.published() + self.batch.records.len() as u64;
        if inbox.weight() + self.batch.weight() > self.total_mark {
            Pressure::Bytes
        } else if recorded > inbox.delivered() + self.records_mark {
            Pressure::Records
        } else {
            Pressure::None
        }
    }

    fn pending_open_bytes(&self) -> usize {
        self.link.inbox.pending_open_bytes() + self.batch.pending_open_bytes()
    }

    fn set_wants_wake(&mut self, wants_wake: bool) {
        self.link.inbox.set_wants_wake(wants_wake);
    }
}

fn opened(generation: u32, info: &HandshakeInfo<'_>) -> Opened<'static> {
    Opened {
        generation,
        listener: info.listener,
        local: info.local,
        remote: info.remote,
        request: &[],
        protocol: &[],
        tail: &[],
        tls: &[],
    }
}

fn message_kind(kind: MessageKind) -> u8 {
    match kind {
        MessageKind::Text => IN_TEXT,
        MessageKind::Binary => IN_BINARY,
    }
}

/// Tells the other thread that the reactor is dead; nothing else publishes any more.
pub fn report_failure(link: &Link, slot: u32, why: &str, ring: &dyn Fn()) {
    let mut batch = Box::new(Batch::new());
    batch.push_copy(slot, IN_FAILURE, 0, 0, why.as_bytes());
    if link.inbox.publish(batch).1 {
        ring();
    }
}
