//! Applies the records of other threads.

use std::time::Duration;

use crate::bridge::chunk::OutRecord;
use crate::bridge::layout::{
    OUT_ACCEPT, OUT_ASK_END, OUT_ATTACH, OUT_BINARY, OUT_CLOSE, OUT_DEFER, OUT_END, OUT_FLAG_COMPRESS,
    OUT_FLAG_FIN, OUT_FLAG_ON, OUT_FLAG_RESET, OUT_FLAG_WANT_SENT, OUT_HEAD, OUT_KEEP_ALIVE, OUT_NO_DELAY,
    OUT_PAUSE, OUT_PING, OUT_PONG, OUT_RESPOND, OUT_RESUME, OUT_SUBSCRIBE, OUT_TERMINATE, OUT_TEXT,
    OUT_UNSUBSCRIBE, OUT_WRITE, TOPIC_SLOT,
};
use crate::engine::frame::wire_len;
use crate::engine::{CloseCode, FrameKind, MessageKind, Prepared};

use crate::reactor::command::messages::Messages;
use crate::reactor::command::records::Outbound;
use crate::reactor::command::records::{Next, Records, Rest, is_plain, message};
use crate::reactor::config::{IN_PLACE, SHORT_QUEUE};
use crate::reactor::upgrade;
use crate::reactor::write::HoldReason;
use crate::reactor::write::is_data;
use crate::reactor::write::{Head, Pending};
use crate::reactor::{Conn, ConnectionId, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    /// Applies records in order, within the turn's budget; `last` is the payload of a large record
    /// after those in `rest`. Returns the rest.
    pub(in crate::reactor) fn on_records(
        &mut self,
        bytes: &[u8],
        rest: Rest,
        last: Option<&[u8]>,
    ) -> Option<Rest> {
        let mut records = Records::new(bytes, rest, last);
        let mut position = records.records.position();
        if !self.go_on_publishing(records.records.peek_slot().is_some()) {
            return Some(records.into_rest());
        }
        // A panic in a record leaves the following ones where they are.
        while let Some(first) = records.next() {
            self.guarded(first.record.slot, |reactor| reactor.on_run(first, &mut records));
            let applied =
                records.records.position() - std::mem::replace(&mut position, records.records.position());
            self.writer.spend(applied);
            let more = records.records.peek_slot().is_some();
            if self.topics.is_publishing() && !self.go_on_publishing(more) {
                return Some(records.into_rest());
            }
            if more && !self.writer.may_apply() {
                return Some(records.into_rest());
            }
        }
        self.messages = Messages::default();
        None
    }

    fn on_run<'a>(&mut self, first: Next<'a>, records: &mut Records<'a>) {
        let mut next = Some(first);
        while let Some(first) = next {
            let Some(Next { record, mut payload, more }) = self.on_plain(first, records) else { return };
            let number = self.messages.number(&record, &mut payload);
            self.on_record(&record, payload, number, more);
            if self.teardown.is_due() {
                return;
            }
            next = if more { records.next() } else { None };
        }
    }

    /// Queues messages up to the first that is not plain. Returns the first record of the run that
    /// needs more than a frame.
    #[inline]
    fn on_plain<'a>(&mut self, first: Next<'a>, records: &mut Records<'a>) -> Option<Next<'a>> {
        let Next { ref record, ref payload, more } = first;
        if !is_plain(record) {
            return Some(first);
        }
        let id = ConnectionId { slot: record.slot, generation: record.generation };
        let Some((mut conn, ..)) = self.conn_of(id) else { return Some(first) };
        let connection = &*conn.state;
        if connection.write.deferred.is_some()
            || connection.engine.has_deflate()
            || connection.is_client()
            || !connection.takes_frames()
        {
            return Some(first);
        }
        // A long message that stands alone can be written from where it is.
        let is_short = payload.len() < IN_PLACE || more;
        if !is_short {
            return Some(first);
        }
        let is_text = record.kind == OUT_TEXT;
        conn.queue_messages(std::iter::once((is_text, &**payload)));
        let (mut count, mut texts) = (1, u64::from(is_text));
        let others = std::iter::from_fn(|| records.next_plain(id)).inspect(|&(is_text, _)| {
            count += 1;
            texts += u64::from(is_text);
        });
        conn.queue_messages(others);
        conn.metrics.tally.messages_sent += count;
        conn.metrics.tally.texts_sent += texts;
        conn.touch();
        if records.records.peek_slot() == Some(id.slot) { records.next() } else { None }
    }

    /// `number`: the message that is its payload, if the reactor keeps it.
    #[inline]
    fn on_record(&mut self, record: &OutRecord, mut payload: Outbound<'_>, number: Option<u32>, more: bool) {
        let id = ConnectionId { slot: record.slot, generation: record.generation };
        if let Some(number) = number
            && record.slot != TOPIC_SLOT
        {
            if message(record).is_some() {
                return self.on_kept(id, record, number, more);
            }
            let Some(kept) = self.messages.get_mut(number) else { return };
            payload = Outbound::Shared(kept.payload_frame());
        }
        let Some((mut conn, consumer, _)) = self.conn_of(id) else {
            return self.on_unknown(record, payload, number);
        };
        count_send(&mut conn, record.kind);
        match record.kind {
            OUT_ACCEPT => upgrade::accept(consumer, &mut conn, &payload),
            OUT_SUBSCRIBE => conn.on_subscribe(consumer, &payload),
            OUT_UNSUBSCRIBE => conn.on_unsubscribe(consumer, &payload),
            kind => {
                let head = Head { kind, flags: record.flags, aux: record.aux };
                submit(&mut conn, head, payload, more);
            }
        }
    }

    #[inline]
    fn on_kept(&mut self, id: ConnectionId, record: &OutRecord, number: u32, more: bool) {
        let longest = self.writer.compressed_at_once();
        let Some((mut conn, _, messages)) = self.conn_of(id) else { return };
        let Some(kept) = messages.get_mut(number) else { return };
        count_send(&mut conn, record.kind);
        // A long one is written at the end of the turn, within its budget.
        let now = !more && kept.payload().len() < SHORT_QUEUE;
        send_prepared(&mut conn, kept, record.flags, now, longest);
    }

    /// Goes on with deferred sends, one slice for each connection, within the turn's budget.
    pub(in crate::reactor) fn on_deferred(&mut self) {
        while let Some(id) = self.writer.next_deferred() {
            self.step(id, |conn, _| resume_sends(conn));
        }
    }
}

fn resume_sends(conn: &mut Conn<'_>) {
    let Some(mut deferred) = conn.state.write.deferred.take() else { return };
    while let Some(pending) = deferred.sends.pop_front() {
        deferred.bytes -= pending.payload.len();
        if !is_data(pending.head.kind) {
            apply(conn, pending.head, Outbound::Lent(&pending.payload), true);
        } else if conn.advance(&mut deferred, &pending) {
            mark(conn, pending.head.kind, pending.head.flags);
        } else {
            deferred.bytes += pending.payload.len();
            deferred.sends.push_front(pending);
            break;
        }
    }
    if !deferred.sends.is_empty() && !conn.state.life.is_gone() {
        conn.state.write.deferred = Some(deferred);
        conn.writer.defer_again(conn.id);
    }
}

#[inline]
fn count_send(conn: &mut Conn<'_>, kind: u8) {
    conn.metrics.tally.messages_sent += u64::from(matches!(kind, OUT_TEXT | OUT_BINARY));
    conn.metrics.tally.texts_sent += u64::from(kind == OUT_TEXT);
}

/// Applies a record, unless it must wait for a message that is being compressed.
pub(in crate::reactor) fn submit(conn: &mut Conn<'_>, head: Head, payload: Outbound<'_>, more: bool) {
    let at_once = matches!(head.kind, OUT_TERMINATE | OUT_PAUSE | OUT_RESUME | OUT_DEFER);
    if conn.state.write.deferred.is_none() && !conn.state.engine.has_deflate() {
        return apply(conn, head, payload, more);
    }
    let len = payload.len();
    let data = is_data(head.kind) && conn.state.engine.has_deflate();
    let waits = if data { conn.must_wait(head.flags, len) } else { conn.state.write.deferred.is_some() };
    if waits && !at_once {
        return conn.defer(Pending { head, payload: payload.into_frame() });
    }
    if data && conn.state.engine.will_compress(head.flags & OUT_FLAG_COMPRESS != 0, len) {
        let (masking, payload) = payload.masking(head.flags, head.aux);
        let key = conn.key(masking);
        conn.account(wire_len(payload.len(), key.is_some()));
        conn.compressed(head.kind, head.flags, &payload, key);
        return mark(conn, head.kind, head.flags);
    }
    apply(conn, head, payload, more);
}

/// Sends a message that others get too: the same bytes, unless this connection needs its own.
/// `now`: nothing follows it here; `longest`: most bytes to compress for it at once.
pub(in crate::reactor) fn send_prepared(
    conn: &mut Conn<'_>,
    prepared: &mut Prepared,
    flags: u8,
    now: bool,
    longest: usize,
) {
    let connection = &mut *conn.state;
    let frame = if connection.write.deferred.is_none() && connection.takes_frames() && !connection.is_client()
    {
        connection.engine.prepared_frame(prepared, longest)
    } else {
        None
    };
    if let Some(frame) = frame {
        conn.account(wire_len(prepared.payload().len(), false));
        conn.shared(frame, now);
        return mark(conn, OUT_TEXT, flags);
    }
    let kind = if prepared.kind == MessageKind::Text { OUT_TEXT } else { OUT_BINARY };
    let compress = if prepared.compress { OUT_FLAG_COMPRESS } else { 0 };
    let head = Head { kind, flags: flags & OUT_FLAG_WANT_SENT | OUT_FLAG_FIN | compress, aux: 0 };
    submit(conn, head, Outbound::Shared(prepared.payload_frame()), true);
}

/// Marks an applied record with a sender that wants a report. A send that came too late for the
/// connection to take has not left; it ends when the connection does.
fn mark(conn: &mut Conn<'_>, kind: u8, flags: u8) {
    if flags & OUT_FLAG_WANT_SENT == 0 {
        return;
    }
    let has_left = match kind {
        OUT_TEXT | OUT_BINARY | OUT_PING | OUT_PONG => conn.state.takes_frames(),
        OUT_WRITE => !conn.state.write.state.is_ended(),
        _ => true,
    };
    if has_left { conn.mark() } else { conn.state.write.mark(true) }
}

/// `more`: the next record is for the same connection.
fn apply(conn: &mut Conn<'_>, head: Head, payload: Outbound<'_>, more: bool) {
    if let Some(kind) = frame_kind(head.kind) {
        let fin = head.flags & OUT_FLAG_FIN != 0 || !is_data(head.kind);
        let (masking, payload) = payload.masking(head.flags, head.aux);
        conn.send_payload(kind, fin, masking, payload, more);
        return mark(conn, head.kind, head.flags);
    }
    match head.kind {
        // A connection of the process before cannot have another answer.
        OUT_WRITE | OUT_END | OUT_RESPOND | OUT_TERMINATE if conn.restarts() => {}
        // Senders do not count a close frame: no send follows it.
        OUT_CLOSE => {
            let (masking, reason) = payload.masking(head.flags, 0);
            conn.close_with(CloseCode::new(head.aux), &reason, masking);
        }
        OUT_TERMINATE if head.flags & OUT_FLAG_RESET != 0 => conn.reset(),
        OUT_TERMINATE => {
            conn.decide(false);
            conn.go_on(HoldReason::Delivery);
            conn.go_on(HoldReason::Ends);
            conn.terminate();
        }
        OUT_PAUSE if head.aux == 0 => conn.pause(),
        OUT_PAUSE => {
            conn.pause();
            conn.state.write.withhold_until(HoldReason::Decision, &conn.state.transport);
        }
        OUT_RESUME => {
            conn.decide(true);
            conn.resume();
        }
        OUT_RESPOND => respond(conn, &payload),
        OUT_WRITE => {
            refuse(conn);
            conn.account(payload.len());
            conn.write_payload(payload);
        }
        OUT_END => {
            refuse(conn);
            conn.end();
        }
        OUT_ASK_END => conn.ask_end(),
        OUT_DEFER if head.flags & OUT_FLAG_ON != 0 => {
            conn.state.write.withhold_until(HoldReason::Ends, &conn.state.transport);
        }
        OUT_DEFER => drop(conn.go_on(HoldReason::Ends)),
        OUT_NO_DELAY => conn.state.transport.set_no_delay(head.aux != 0),
        OUT_HEAD => upgrade::keep(conn, &payload),
        OUT_ATTACH => conn.handovers.attach(conn.id.slot, &payload, head.flags & OUT_FLAG_ON != 0),
        OUT_KEEP_ALIVE => {
            let silence = Duration::from_secs(head.aux.into());
            conn.state.transport.set_keep_alive(head.flags & OUT_FLAG_ON != 0, silence);
        }
        _ => {}
    }
    mark(conn, head.kind, head.flags);
}

fn frame_kind(kind: u8) -> Option<FrameKind> {
    Some(match kind {
        OUT_TEXT => FrameKind::Text,
        OUT_BINARY => FrameKind::Binary,
        OUT_PING => FrameKind::Ping,
        OUT_PONG => FrameKind::Pong,
        _ => return None,
    })
}

/// If the reactor opened the connection before the consumer could refuse it, the bytes of the refusal
/// leave instead of the 101, and the end of the peer is noticed behind its frames.
fn refuse(conn: &mut Conn<'_>) {
    if conn.decide(false) {
        conn.drain();
    }
}

/// The same with a whole answer, unless the 101 has left.
fn respond(conn: &mut Conn<'_>, response: &[u8]) {
    if conn.state.life.is_awaiting_decision() || conn.decide(false) {
        conn.respond(response);
    } else if conn.is_open() {
        conn.terminate();
    }
}
